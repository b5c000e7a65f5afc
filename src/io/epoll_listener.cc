#include "io/epoll_listener.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {

EpollListener::EpollListener(ListenerHost& host, std::uint32_t id, Descriptor fd,
                             const ListenOptions& options, AcceptHandler& handler)
    : host_(host),
      handler_(handler),
      fd_(std::move(fd)),
      address_(local_address(fd_.get())),
      id_(id),
      backlog_(options.backlog) {}

EpollListener::~EpollListener() {
  pause();
  host_.forget(*this);
}

void EpollListener::pause() {
  if (state_ != State::watched) return;
  host_.unwatch(*this);
  unlink();
  state_ = State::paused;
}

void EpollListener::resume() {
  if (state_ != State::paused) return;
  host_.watch(*this);
  state_ = State::watched;
}

void EpollListener::run() {
  for (int i = 0; i < kMaxAcceptsPerTurn && state_ == State::watched; ++i) {
    if (accept_one() == Step::stop) return;
  }
}

// The queue holds at most backlog + 1; who keeps connecting meanwhile cannot hold up the end.
void EpollListener::drain_and_close() {
  if (state_ == State::closed) return;
  pause();
  for (int i = 0; i <= backlog_; ++i) {
    if (accept_one() == Step::stop) break;
  }
  fd_.close();
  state_ = State::closed;
}

EpollListener::Step EpollListener::accept_one() {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  Descriptor fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &length,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  int error = fd.valid() ? 0 : errno;
  if (fd.valid()) {
    const auto ip = from_sockaddr(reinterpret_cast<const sockaddr&>(storage));
    Result<StreamPtr> stream =
        host_.adopt_accepted(std::move(fd), ip ? SocketAddress(*ip) : SocketAddress());
    if (stream) {
      handler_.accepted(std::move(*stream));
      return Step::more;
    }
    error = stream.error().os_error;  // epoll_ctl: ENOMEM or ENOSPC
    if (error == ENOSPC) error = ENOMEM;
  }
  const AcceptFailure failure = classify_accept(error);
  HG_ASSERT(failure != AcceptFailure::broken);
  if (failure == AcceptFailure::nothing_queued) return Step::stop;
  if (failure == AcceptFailure::connection) return Step::more;
  if (!anyone_queued(fd_.get())) return Step::stop;
  if (handler_.out_of_descriptors()) return Step::more;
  pause();
  return Step::stop;
}

}  // namespace hushgate::io
