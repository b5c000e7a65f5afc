#include "io/uring_listener.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {
namespace {

// A multishot accept has no room for addresses.
SocketAddress peer_address(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  const auto ip = from_sockaddr(reinterpret_cast<const sockaddr&>(storage));
  return ip ? SocketAddress(*ip) : SocketAddress();
}

}  // namespace

UringListener::UringListener(UringListenerHost& host, std::uint32_t id, Descriptor fd,
                             const ListenOptions& options, AcceptHandler& handler)
    : host_(host),
      handler_(handler),
      fd_(std::move(fd)),
      address_(local_address(fd_.get())),
      id_(id),
      backlog_(options.backlog) {}

// The submitted accept holds the socket: shutdown() ends both at once, close() would leave it
// listening for a while.
UringListener::~UringListener() {
  pause();
  if (fd_.valid()) ::shutdown(fd_.get(), SHUT_RDWR);
  host_.forget(*this);
}

bool UringListener::on_accept(int result, std::uint32_t cqe_flags) {
  if ((cqe_flags & IORING_CQE_F_MORE) == 0) submitted_ = UringAwaits::nothing;
  if (result >= 0) accepted_.emplace_back(result);
  if (result < 0 && result != -ECANCELED && state_ == State::listening) {
    one_by_one_ = one_by_one_ || classify_accept(-result) == AcceptFailure::shortage;
  }
  return ended();
}

bool UringListener::on_queue(int result) {
  submitted_ = UringAwaits::nothing;
  one_by_one_ = result >= 0;
  return ended();
}

bool UringListener::ended() {
  if (state_ != State::listening) return false;
  if (!one_by_one_) await(UringAwaits::connections);
  return one_by_one_ || !accepted_.empty();
}

void UringListener::await(UringAwaits what) {
  if (submitted_ != UringAwaits::nothing) return;
  submitted_ = what;
  host_.arm(*this, what);
}

void UringListener::pause() {
  if (state_ != State::listening) return;
  state_ = State::paused;
  unlink();
  if (submitted_ != UringAwaits::nothing) host_.disarm(*this, submitted_);
}

void UringListener::resume() {
  if (state_ != State::paused) return;
  state_ = State::listening;
  one_by_one_ = false;
  await(UringAwaits::connections);
  if (!accepted_.empty()) host_.run_soon(*this);
}

void UringListener::hand_over(Descriptor fd) {
  const SocketAddress peer = peer_address(fd.get());
  handler_.accepted(host_.adopt_accepted(std::move(fd), peer));
}

void UringListener::hand_over_completed() {
  std::size_t next = 0;
  while (next < accepted_.size() && state_ != State::paused) {
    hand_over(std::move(accepted_[next++]));
  }
  accepted_.erase(accepted_.begin(), accepted_.begin() + static_cast<std::ptrdiff_t>(next));
}

void UringListener::run() {
  hand_over_completed();
  for (int i = 0; one_by_one_ && state_ == State::listening; ++i) {
    if (i == kMaxAcceptsPerTurn) return host_.run_soon(*this);
    const Step step = accept_one();
    if (step == Step::more) continue;
    one_by_one_ = false;
    if (state_ != State::listening) return;
    if (step == Step::shortage) return pause();
    await(step == Step::no_room ? UringAwaits::a_queue : UringAwaits::connections);
  }
}

void UringListener::drain_and_close() {
  if (state_ == State::closed) return;
  pause();
  state_ = State::closed;
  for (Descriptor fd = host_.take_recorded(*this); fd.valid(); fd = host_.take_recorded(*this)) {
    accepted_.push_back(std::move(fd));
  }
  hand_over_completed();
  for (int i = 0; i <= backlog_; ++i) {
    if (accept_one() != Step::more) break;
  }
  ::shutdown(fd_.get(), SHUT_RDWR);
  fd_.close();
}

UringListener::Step UringListener::accept_one() {
  Descriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.valid()) {
    hand_over(std::move(fd));
    return Step::more;
  }
  const AcceptFailure failure = classify_accept(errno);
  HG_ASSERT(failure != AcceptFailure::broken);
  if (failure == AcceptFailure::connection) return Step::more;
  if (failure == AcceptFailure::nothing_queued) return Step::empty;
  if (!anyone_queued(fd_.get())) return Step::no_room;
  return handler_.out_of_descriptors() ? Step::more : Step::shortage;
}

}  // namespace hushgate::io
