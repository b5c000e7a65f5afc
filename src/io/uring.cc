#include "io/uring.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "io/uring_backend.h"

namespace hushgate::io {

UringBackend::~UringBackend() {
  leave();
  HG_ASSERT(listeners_.empty());
  reap();
  HG_ASSERT(streams_.in_use() == 0);
}

int UringBackend::make() {
  const Result<UringFeatures> features = probe_uring(options_.features);
  if (!features) return features.error().os_error;
  options_.features = *features;
  if (const int error = ring_.make(options_.entries, *features); error != 0) return error;
  receive_limit_ = features->receive_limit ? UringStream::kInboxBytes : 0;
  return buffers_.make(ring_, options_.buffers, options_.buffer_bytes, *features);
}

UringStream* UringBackend::find(const Token& token) {
  UringStream& stream = streams_[token.slot];
  return stream.matches(token) ? &stream : nullptr;
}

void UringBackend::enable() {
  HG_ASSERT(!left_);
  const int error = ring_.enable();
  HG_ASSERT(error == 0);
  arm_wake();
}

// Each write(2) to it is a completion; the count is never read.
void UringBackend::arm_wake() {
  wake_armed_ = !left_;
  if (left_) return;
  io_uring_sqe& sqe = ring_.prepare(own_token(UringKind::wake));
  io_uring_prep_poll_multishot(&sqe, wake_.get(), POLLIN);
}

void UringBackend::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

// --- a turn

void UringBackend::collect(Time until, ReadyList& ready) {
  if (!ring_.enabled()) enable();
  if (!asked_.empty()) look_again();
  if (!records_.empty()) work_off_records(ready);
  tell_news(ready);
  if (!finishing_.empty()) {
    end_finishing(Clock::now());
    if (!finishing_.empty()) until = std::min(until, finishing_.front().due);
  }
  settle();
  enter(ready.empty() ? until : Time::min(), ready);
}

void UringBackend::enter(Time until, ReadyList& ready) {
  const auto each = [&](const io_uring_cqe& cqe) { work_off(take_out(cqe), ready); };
  ring_.enter(until);
  ring_.for_each_completion(each);
  while (!ring_.settled()) {
    ring_.enter(Time::min());
    ring_.for_each_completion(each);
  }
  for (const std::uint32_t slot : sending_) streams_[slot].outbox_sent();
  sending_.clear();
  outbox_.restart();
}

UringBackend::Record UringBackend::take_out(const io_uring_cqe& cqe) {
  Record record{Token::unpack(cqe.user_data), cqe.res, cqe.flags, {}};
  if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
    const auto length = static_cast<std::size_t>(std::max(cqe.res, 0));
    record.part = buffers_.fill(cqe.flags >> IORING_CQE_BUFFER_SHIFT, length, cqe.flags);
  }
  return record;
}

void UringBackend::work_off(const Record& record, ReadyList& ready) {
  const auto kind = static_cast<UringKind>(record.token.kind);
  if (kind == UringKind::none || kind == UringKind::cancel) return;
  if (kind == UringKind::wake) {
    if ((record.flags & IORING_CQE_F_MORE) == 0) arm_wake();
    return;
  }
  if (kind == UringKind::accept || kind == UringKind::queue) return on_listener(record, ready);
  UringStream& stream = streams_[record.token.slot];
  HG_ASSERT(stream.matches(record.token));  // slots are reclaimed when everything has completed
  if (!stream.on_completion(kind, record.result, record.flags, record.part)) return;
  Runnable* owner = stream.owner();
  if (owner != nullptr && !owner->linked()) ready.push_back(*owner);
}

void UringBackend::on_listener(const Record& record, ReadyList& ready) {
  const bool accept = record.token.kind == static_cast<std::uint8_t>(UringKind::accept);
  if ((record.flags & IORING_CQE_F_MORE) == 0) --accepts_submitted_;
  for (UringListener* listener : listeners_) {
    if (listener->id() != record.token.slot) continue;
    const bool work = accept ? listener->on_accept(record.result, record.flags)
                             : listener->on_queue(record.result);
    if (work && !listener->linked()) ready.push_back(*listener);
    return;
  }
  if (accept && record.result >= 0) Descriptor(record.result).close();  // its listener is gone
}

void UringBackend::work_off_records(ReadyList& ready) {
  for (const Record& record : records_) {
    if (is_of_stream(static_cast<UringKind>(record.token.kind))) {
      streams_[record.token.slot].recorded = false;
    }
    work_off(record, ready);
  }
  records_.clear();
}

void UringBackend::tell_news(ReadyList& ready) {
  for (UringListener* listener : run_soon_) {
    if (!listener->linked()) ready.push_back(*listener);
  }
  run_soon_.clear();
  for (const Token& token : news_) {
    UringStream* stream = find(token);
    Runnable* owner = stream != nullptr ? stream->owner() : nullptr;
    if (owner != nullptr && !owner->linked()) ready.push_back(*owner);
  }
  news_.clear();
}

void UringBackend::settle() {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    UringStream& stream = streams_[touched_[i]];
    stream.touched = false;
    stream.settle();
  }
  touched_.clear();
}

void UringBackend::touch(std::uint32_t slot) {
  if (left_ || std::exchange(streams_[slot].touched, true)) return;
  touched_.push_back(slot);
}

void UringBackend::reap() {
  HG_ASSERT(!store_.lent());
  for (const std::uint32_t slot : joined_) {
    streams_[slot].recycle();
    streams_.release(slot);
  }
  joined_.clear();
}

// --- between two turns

// Streams that have records are told; what they are told by is worked off in the next turn.
void UringBackend::fetch() {
  if (!ring_.has_news()) return;
  ring_.fetch();
  ring_.for_each_completion([&](const io_uring_cqe& cqe) {
    records_.push_back(take_out(cqe));
    const Token& token = records_.back().token;
    if (is_of_stream(static_cast<UringKind>(token.kind))) streams_[token.slot].recorded = true;
  });
}

void UringBackend::collect_for(const Token& token) {
  UringStream& stream = streams_[token.slot];
  stream.recorded = false;
  bool told = false;
  for (Record& record : records_) {
    const auto kind = static_cast<UringKind>(record.token.kind);
    if (!is_of_stream(kind) || record.token.slot != token.slot) continue;
    record.token.kind = static_cast<std::uint8_t>(UringKind::none);
    told = stream.on_completion(kind, record.result, record.flags, record.part) || told;
  }
  if (told) news_.push_back(token);
}

// Whoever was found quiet was given a request, which waits in the outbox: it is not submitted
// behind something that the kernel has received meanwhile.
void UringBackend::look_again() {
  fetch();
  for (const Token& token : asked_) {
    UringStream* stream = find(token);
    if (stream == nullptr || !stream->recorded || stream->state() != UringStream::State::open) {
      continue;
    }
    if (stream->unsent() == 0) continue;
    stream->fail_stale();
    news_.push_back(token);
  }
  asked_.clear();
}

void UringBackend::end_finishing(Time now) {
  std::size_t ended = 0;
  for (; ended < finishing_.size() && finishing_[ended].due <= now; ++ended) {
    if (UringStream* stream = find(finishing_[ended].stream)) stream->give_up();
  }
  finishing_.erase(finishing_.begin(), finishing_.begin() + static_cast<std::ptrdiff_t>(ended));
  while (!finishing_.empty() && find(finishing_.front().stream) == nullptr) {
    finishing_.erase(finishing_.begin());
  }
}

// --- the end

bool UringBackend::anything_submitted() {
  if (wake_armed_ || accepts_submitted_ > 0) return true;
  for (std::uint32_t slot = 0; slot < streams_.capacity(); ++slot) {
    if (streams_[slot].anything_submitted()) return true;
  }
  return false;
}

// Everything submitted is cancelled and waited for: the kernel must not write into memory that is
// gone, and a ring's own end is not waited for by anybody.
void UringBackend::leave() {
  if (std::exchange(left_, true)) return;
  if (!ring_.enabled()) return;
  left_ = false;
  ReadyList nobody;
  const Time end = Clock::now() + kLeaveTime;
  do {
    collect(std::min(end, finishing_.empty() ? Time::min() : end), nobody);
    reap();
  } while (!finishing_.empty() && Clock::now() < end);
  left_ = true;
  const auto kind = static_cast<std::uint8_t>(UringKind::cancel);
  ring_.cancel(own_token(UringKind::wake), kind);
  for (UringListener* listener : listeners_) {
    for (const UringKind awaits : {UringKind::accept, UringKind::queue}) {
      ring_.cancel(own_token(awaits, listener->id()), kind);
    }
  }
  for (std::uint32_t slot = 0; slot < streams_.capacity(); ++slot) streams_[slot].cancel_all();
  while (anything_submitted()) enter(Clock::now() + std::chrono::milliseconds(100), nobody);
  for (std::uint32_t slot = 0; slot < streams_.capacity(); ++slot) streams_[slot].give_up();
  touched_.clear();
  reap();
  ring_.leave();
}

// --- opening

UringStream& UringBackend::adopt(Descriptor fd, SocketAddress peer, Runnable* owner,
                                 ConnectStart start) {
  const std::uint32_t slot = streams_.acquire();
  UringStream& stream = streams_[slot];
  stream.touched = false;
  stream.open(*this, slot, std::move(fd), std::move(peer), owner, start);
  return stream;
}

namespace {

// The handshake on loopback has ended before connect(2) returns, though it says EINPROGRESS.
ConnectStart look_at(int fd) {
  pollfd look{.fd = fd, .events = POLLOUT, .revents = 0};
  const bool connected = ::poll(&look, 1, 0) == 1 && look.revents == POLLOUT;
  return connected ? ConnectStart::connected : ConnectStart::pending;
}

}  // namespace

Result<StreamPtr> UringBackend::connect(const SocketAddress& address, const ConnectOptions& options,
                                        Runnable* owner) {
  Result<Descriptor> fd = open_connection(address, options);
  if (!fd) return std::unexpected(fd.error());
  Result<ConnectStart> start = start_connect(fd->get(), address);
  if (!start) return std::unexpected(start.error());
  if (*start == ConnectStart::pending) start = look_at(fd->get());
  return StreamPtr(&adopt(std::move(*fd), address, owner, *start));
}

Result<std::unique_ptr<Listener>> UringBackend::listen(const SocketAddress& address,
                                                       const ListenOptions& options,
                                                       AcceptHandler& handler) {
  Result<Descriptor> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  auto listener =
      std::make_unique<UringListener>(static_cast<UringListenerHost&>(*this), next_listener_id_++,
                                      std::move(*fd), options, handler);
  listeners_.push_back(listener.get());
  listener->resume();
  return listener;
}

namespace {

UringKind kind_of(UringAwaits what) {
  return what == UringAwaits::connections ? UringKind::accept : UringKind::queue;
}

}  // namespace

void UringBackend::arm(UringListener& listener, UringAwaits what) {
  if (left_) return;
  io_uring_sqe& sqe = ring_.prepare(own_token(kind_of(what), listener.id()));
  if (what == UringAwaits::connections) {
    io_uring_prep_multishot_accept(&sqe, listener.fd(), nullptr, nullptr,
                                   SOCK_NONBLOCK | SOCK_CLOEXEC);
  } else {
    io_uring_prep_poll_add(&sqe, listener.fd(), POLLIN);
  }
  ++accepts_submitted_;
}

void UringBackend::disarm(UringListener& listener, UringAwaits what) {
  if (left_) return;
  ring_.cancel(own_token(kind_of(what), listener.id()),
               static_cast<std::uint8_t>(UringKind::cancel));
}

void UringBackend::forget(UringListener& listener) {
  std::erase(listeners_, &listener);
  std::erase(run_soon_, &listener);
}

Descriptor UringBackend::take_recorded(UringListener& listener) {
  for (Record& record : records_) {
    const bool accepted = record.token.kind == static_cast<std::uint8_t>(UringKind::accept) &&
                          record.token.slot == listener.id() && record.result >= 0;
    if (accepted) return Descriptor(std::exchange(record.result, -ECANCELED));
  }
  return {};
}

Result<std::unique_ptr<Backend>> make_uring_backend(const UringOptions& options) {
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail(ErrorKind::internal_fault, errno);
  auto backend = std::make_unique<UringBackend>(std::move(wake), options);
  if (const int error = backend->make(); error != 0) return fail(ErrorKind::internal_fault, error);
  return backend;
}

}  // namespace hushgate::io
