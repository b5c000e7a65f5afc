#include "io/uring.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "io/slab.h"
#include "io/uring_listener.h"
#include "io/uring_ring.h"
#include "io/uring_stream.h"

namespace hushgate::io {
namespace {

class UringBackend final : public Backend, private UringHome, private UringListenerHost {
 public:
  UringBackend(Descriptor wake, const UringOptions& options)
      : wake_(std::move(wake)), ring_(options) {}
  ~UringBackend() override;

  Time now() override { return Clock::now(); }
  void collect(Time until, ReadyList& ready) override;
  void wake() override;
  void reap() override;
  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address,
                                           const ListenOptions& options,
                                           AcceptHandler& handler) override;
  Result<StreamPtr> connect(const SocketAddress& address, const ConnectOptions& options,
                            Runnable* owner) override;
  const char* name() const override { return "io_uring"; }

 private:
  static constexpr std::uint32_t kNoBuffer = 0xFFFF'FFFF;

  static Token own_token(UringKind kind, std::uint32_t slot = 0) {
    return {.kind = static_cast<std::uint8_t>(kind), .slot = slot};
  }
  int ensure_ring();
  void arm_wake();
  void on_completion(const io_uring_cqe& cqe, ReadyList& ready);
  void on_accept(const Token& token, const io_uring_cqe& cqe, ReadyList& ready);
  void settle();
  UringStream& adopt(Descriptor fd, SocketAddress peer, Runnable* owner, ConnectStart start);

  // UringHome
  UringRing& ring() override { return ring_; }
  void touch(std::uint32_t slot) override;
  void joined(std::uint32_t slot) override { joined_.push_back(slot); }
  Lease lend_ring_buffer(std::uint32_t id, std::size_t length) override;
  Lease lend_copy(std::vector<std::byte> bytes) override;
  void give_back(std::uint32_t buffer) noexcept override;

  // UringListenerHost
  void arm(UringListener& listener) override;
  void disarm(UringListener& listener) override {
    ring_.cancel(own_token(UringKind::accept, listener.id()),
                 static_cast<std::uint8_t>(UringKind::cancel));
  }
  void forget(UringListener& listener) override;
  void run_soon(UringListener& listener) override { run_soon_.push_back(&listener); }
  StreamPtr adopt_accepted(Descriptor fd, const SocketAddress& peer) override {
    return StreamPtr(&adopt(std::move(fd), peer, nullptr, ConnectStart::connected));
  }

  Descriptor wake_;
  std::uint64_t wake_count_ = 0;  // written by the kernel
  UringRing ring_;
  Slab<UringStream> streams_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> joined_;
  std::vector<UringListener*> listeners_;
  std::vector<UringListener*> run_soon_;
  std::uint32_t next_listener_id_ = 0;
  std::size_t accepts_submitted_ = 0;
  bool lent_ = false;
  std::vector<std::byte> lent_copy_;
};

// Everything submitted is cancelled and waited for: the kernel must not write into memory that is
// gone.
UringBackend::~UringBackend() {
  HG_ASSERT(listeners_.empty());
  if (!ring_.made()) return;
  settle();
  for (std::uint32_t slot = 0; slot < streams_.capacity(); ++slot) {
    UringStream& stream = streams_[slot];
    HG_ASSERT(stream.state() != UringStream::State::open);
    if (stream.state() != UringStream::State::free) stream.cancel_all();
  }
  ReadyList nobody;
  reap();
  while (streams_.in_use() > 0 || accepts_submitted_ > 0) {
    ring_.submit_and_wait(Clock::now() + std::chrono::milliseconds(100));
    ring_.for_each_completion([&](const io_uring_cqe& cqe) { on_completion(cqe, nobody); });
    for (const std::uint32_t slot : touched_) streams_[slot].cancel_all();
    reap();
  }
}

int UringBackend::ensure_ring() {
  if (ring_.made()) return 0;
  const int error = ring_.make();
  if (error == 0) arm_wake();
  return error;
}

void UringBackend::arm_wake() {
  io_uring_sqe& sqe = ring_.prepare(own_token(UringKind::wake));
  io_uring_prep_read(&sqe, wake_.get(), &wake_count_, sizeof wake_count_, 0);
}

void UringBackend::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void UringBackend::collect(Time until, ReadyList& ready) {
  HG_ASSERT(ensure_ring() == 0);
  settle();
  for (UringListener* listener : std::exchange(run_soon_, {})) {
    if (!listener->linked()) ready.push_back(*listener);
  }
  ring_.submit_and_wait(ready.empty() ? until : Time::min());
  ring_.for_each_completion([&](const io_uring_cqe& cqe) { on_completion(cqe, ready); });
}

void UringBackend::on_completion(const io_uring_cqe& cqe, ReadyList& ready) {
  const Token token = Token::unpack(cqe.user_data);
  const auto kind = static_cast<UringKind>(token.kind);
  if (kind == UringKind::wake) return arm_wake();
  if (kind == UringKind::cancel) return;  // it came too late: the operation had ended
  if (kind == UringKind::accept) return on_accept(token, cqe, ready);
  UringStream& stream = streams_[token.slot];
  HG_ASSERT(stream.matches(token));  // slots are reclaimed when everything submitted has completed
  if (!stream.on_completion(kind, cqe.res, cqe.flags)) return;
  Runnable* owner = stream.owner();
  if (owner != nullptr && !owner->linked()) ready.push_back(*owner);
}

void UringBackend::on_accept(const Token& token, const io_uring_cqe& cqe, ReadyList& ready) {
  if ((cqe.flags & IORING_CQE_F_MORE) == 0) --accepts_submitted_;
  for (UringListener* listener : listeners_) {
    if (listener->id() != token.slot) continue;
    if (listener->on_completion(cqe.res, cqe.flags) && !listener->linked()) {
      ready.push_back(*listener);
    }
    return;
  }
  if (cqe.res >= 0) Descriptor(cqe.res).close();  // its listener is gone
}

void UringBackend::settle() {
  for (const std::uint32_t slot : std::exchange(touched_, {})) {
    streams_[slot].touched = false;
    streams_[slot].settle();
  }
}

void UringBackend::reap() {
  HG_ASSERT(!lent_);
  settle();
  for (const std::uint32_t slot : std::exchange(joined_, {})) {
    streams_[slot].recycle();
    streams_.release(slot);
  }
}

void UringBackend::touch(std::uint32_t slot) {
  if (std::exchange(streams_[slot].touched, true)) return;
  touched_.push_back(slot);
}

Lease UringBackend::lend_ring_buffer(std::uint32_t id, std::size_t length) {
  HG_ASSERT(!std::exchange(lent_, true));
  return Lease(*this, id, ring_.buffer(id, length));
}

Lease UringBackend::lend_copy(std::vector<std::byte> bytes) {
  HG_ASSERT(!std::exchange(lent_, true));
  lent_copy_ = std::move(bytes);
  return Lease(*this, kNoBuffer, lent_copy_);
}

void UringBackend::give_back(std::uint32_t buffer) noexcept {
  lent_ = false;
  if (buffer != kNoBuffer) return ring_.recycle(buffer);
  lent_copy_ = {};
}

UringStream& UringBackend::adopt(Descriptor fd, SocketAddress peer, Runnable* owner,
                                 ConnectStart start) {
  const std::uint32_t slot = streams_.acquire();
  UringStream& stream = streams_[slot];
  stream.open(*this, slot, std::move(fd), std::move(peer), owner, start);
  return stream;
}

Result<StreamPtr> UringBackend::connect(const SocketAddress& address, const ConnectOptions& options,
                                        Runnable* owner) {
  if (const int error = ensure_ring(); error != 0) {
    return fail(ErrorKind::connection_failed, error);
  }
  Result<Descriptor> fd = open_connection(address, options);
  if (!fd) return std::unexpected(fd.error());
  const Result<ConnectStart> start = start_connect(fd->get(), address);
  if (!start) return std::unexpected(start.error());
  return StreamPtr(&adopt(std::move(*fd), address, owner, *start));
}

Result<std::unique_ptr<Listener>> UringBackend::listen(const SocketAddress& address,
                                                       const ListenOptions& options,
                                                       AcceptHandler& handler) {
  if (const int error = ensure_ring(); error != 0) return fail(ErrorKind::internal_fault, error);
  Result<Descriptor> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  auto listener =
      std::make_unique<UringListener>(static_cast<UringListenerHost&>(*this), next_listener_id_++,
                                      std::move(*fd), options, handler);
  listeners_.push_back(listener.get());
  listener->resume();
  return listener;
}

void UringBackend::arm(UringListener& listener) {
  io_uring_sqe& sqe = ring_.prepare(own_token(UringKind::accept, listener.id()));
  io_uring_prep_multishot_accept(&sqe, listener.fd(), nullptr, nullptr,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
  ++accepts_submitted_;
}

void UringBackend::forget(UringListener& listener) {
  std::erase(listeners_, &listener);
  std::erase(run_soon_, &listener);
}

}  // namespace

std::string uring_unavailable() {
  UringRing ring(UringOptions{.entries = 8, .buffers = 8, .buffer_bytes = 64});
  const int error = ring.make();
  if (error == 0) return {};
  return std::string("io_uring cannot be used here: ") + std::strerror(error);
}

Result<std::unique_ptr<Backend>> make_uring_backend(const UringOptions& options) {
  HG_ASSERT(options.buffers > 0 && (options.buffers & (options.buffers - 1)) == 0);
  UringRing probe(UringOptions{.entries = 8, .buffers = 8, .buffer_bytes = 64});
  if (const int error = probe.make(); error != 0) return fail(ErrorKind::internal_fault, error);
  Descriptor wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) return fail(ErrorKind::internal_fault, errno);
  return std::make_unique<UringBackend>(std::move(wake), options);
}

}  // namespace hushgate::io
