#include "io/epoll.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <span>
#include <vector>

#include "base/assert.h"
#include "io/epoll_listener.h"
#include "io/epoll_stream.h"
#include "io/slab.h"
#include "io/sockets.h"
#include "io/token.h"

namespace hushgate::io {
namespace {

constexpr std::size_t kMaxEventsPerTurn = 512;  // more stay in the kernel for the next turn
constexpr std::uint32_t kStreamEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

enum Kind : std::uint8_t { kWake, kListener, kStream };

class EpollBackend final : public Backend, private SlotKeeper, private ListenerHost {
 public:
  EpollBackend(Descriptor epoll, Descriptor wake, const EpollOptions& options)
      : epoll_(std::move(epoll)), wake_(std::move(wake)), buffer_(options.lease_bytes) {}
  ~EpollBackend() override {
    reap();
    HG_ASSERT(streams_.in_use() == 0 && listeners_.empty());
  }

  Time now() override { return Clock::now(); }
  void collect(Time until, ReadyList& ready) override;
  void wake() override;
  void reap() override;
  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address,
                                           const ListenOptions& options,
                                           AcceptHandler& handler) override;
  Result<StreamPtr> connect(const SocketAddress& address, const ConnectOptions& options,
                            Runnable* owner) override;
  const char* name() const override { return "epoll"; }

 private:
  int wait(Time until, std::span<epoll_event> events);
  Result<StreamPtr> adopt(Descriptor fd, SocketAddress peer, Runnable* owner, ConnectStart start);

  void closed(std::uint32_t slot) override { closed_.push_back(slot); }
  Result<StreamPtr> adopt_accepted(Descriptor fd, const SocketAddress& peer) override {
    return adopt(std::move(fd), peer, nullptr, ConnectStart::connected);
  }
  void watch(EpollListener& listener) override;
  void unwatch(EpollListener& listener) override;
  void forget(EpollListener& listener) override { std::erase(listeners_, &listener); }

  Descriptor epoll_;
  Descriptor wake_;
  SharedBuffer buffer_;
  const EpollStream::Home home_{.buffer = buffer_, .keeper = *this};
  Slab<EpollStream> streams_;
  std::vector<std::uint32_t> closed_;
  std::vector<EpollListener*> listeners_;
  std::uint32_t next_listener_id_ = 0;
  std::array<epoll_event, kMaxEventsPerTurn> events_;
  bool ns_timeouts_ = true;  // false once the kernel was found to have no epoll_pwait2
};

int EpollBackend::wait(Time until, std::span<epoll_event> events) {
  const int room = static_cast<int>(events.size());
  if (until == kNever) return ::epoll_wait(epoll_.get(), events.data(), room, -1);
  const Duration left = until == Time::min() ? Duration::zero() : until - Clock::now();
  if (left <= Duration::zero()) return ::epoll_wait(epoll_.get(), events.data(), room, 0);
  if (ns_timeouts_) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
    const int count = ::epoll_pwait2(epoll_.get(), events.data(), room, &timeout, nullptr);
    if (count >= 0 || errno != ENOSYS) return count;
    ns_timeouts_ = false;
  }
  // Rounded up: waking before the time would make the loop turn until it has come.
  const auto ms = std::min<std::int64_t>(std::chrono::ceil<Ms>(left).count(), 60'000);
  return ::epoll_wait(epoll_.get(), events.data(), room, static_cast<int>(ms));
}

void EpollBackend::collect(Time until, ReadyList& ready) {
  const int count = wait(until, events_);
  HG_ASSERT(count >= 0 || errno == EINTR);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    const Token token = Token::unpack(event.data.u64);
    if (token.kind == kStream) {
      EpollStream& stream = streams_[token.slot];
      if (stream.state() != EpollStream::State::open || stream.generation() != token.generation) {
        continue;
      }
      stream.on_events(event.events, ready);
    } else if (token.kind == kListener) {
      for (EpollListener* listener : listeners_) {
        if (listener->id() == token.slot && !listener->linked()) ready.push_back(*listener);
      }
    }
  }
}

// The eventfd is edge-triggered and never read: each write is an edge.
void EpollBackend::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void EpollBackend::reap() {
  HG_ASSERT(!buffer_.lent());
  for (const std::uint32_t slot : closed_) {
    streams_[slot].recycle();
    streams_.release(slot);
  }
  closed_.clear();
}

Result<StreamPtr> EpollBackend::adopt(Descriptor fd, SocketAddress peer, Runnable* owner,
                                      ConnectStart start) {
  const std::uint32_t slot = streams_.acquire();
  EpollStream& stream = streams_[slot];
  epoll_event event{};
  event.events = kStreamEvents;
  event.data.u64 = Token{kStream, stream.generation(), slot}.pack();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    streams_.release(slot);
    return fail(ErrorKind::connection_failed, errno);
  }
  stream.open(home_, slot, std::move(fd), std::move(peer), owner, start);
  return StreamPtr(&stream);
}

Result<StreamPtr> EpollBackend::connect(const SocketAddress& address, const ConnectOptions& options,
                                        Runnable* owner) {
  Result<Descriptor> fd = open_connection(address, options);
  if (!fd) return std::unexpected(fd.error());
  const Result<ConnectStart> start = start_connect(fd->get(), address);
  if (!start) return std::unexpected(start.error());
  return adopt(std::move(*fd), address, owner, *start);
}

Result<std::unique_ptr<Listener>> EpollBackend::listen(const SocketAddress& address,
                                                       const ListenOptions& options,
                                                       AcceptHandler& handler) {
  Result<Descriptor> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  auto listener = std::make_unique<EpollListener>(
      static_cast<ListenerHost&>(*this), next_listener_id_++, std::move(*fd), options, handler);
  listeners_.push_back(listener.get());
  listener->resume();
  return listener;
}

// Level-triggered: what one turn's bound leaves in the queue is reported again.
void EpollBackend::watch(EpollListener& listener) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = Token{kListener, 0, listener.id()}.pack();
  HG_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener.fd(), &event) == 0);
}

void EpollBackend::unwatch(EpollListener& listener) {
  HG_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.fd(), nullptr) == 0);
}

}  // namespace

Result<std::unique_ptr<Backend>> make_epoll_backend(const EpollOptions& options) {
  HG_ASSERT(options.lease_bytes > 0);
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return fail(ErrorKind::internal_fault, errno);
  Descriptor wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.valid()) return fail(ErrorKind::internal_fault, errno);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = Token{kWake, 0, 0}.pack();
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    return fail(ErrorKind::internal_fault, errno);
  }
  return std::make_unique<EpollBackend>(std::move(epoll), std::move(wake), options);
}

}  // namespace hushgate::io
