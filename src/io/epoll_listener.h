// A listening socket on epoll, level-triggered. For epoll.cc only.
#pragma once

#include <cstdint>

#include "io/runnable.h"
#include "io/sockets.h"
#include "io/stream.h"

namespace hushgate::io {

class EpollListener;

// What a listener needs of its backend.
class ListenerHost {
 public:
  virtual void watch(EpollListener& listener) = 0;
  virtual void unwatch(EpollListener& listener) = 0;
  virtual void forget(EpollListener& listener) = 0;
  virtual Result<StreamPtr> adopt_accepted(Descriptor fd, const SocketAddress& peer) = 0;

 protected:
  ~ListenerHost() = default;
};

// The handler may pause it, but not destroy it, from within accepted().
class EpollListener final : public Listener, public Runnable {
 public:
  EpollListener(ListenerHost& host, std::uint32_t id, Descriptor fd, const ListenOptions& options,
                AcceptHandler& handler);
  ~EpollListener() override;

  std::uint32_t id() const { return id_; }
  int fd() const { return fd_.get(); }

  void pause() override;
  void resume() override;
  void drain_and_close() override;
  SocketAddress address() const override { return address_; }

 private:
  enum class State : std::uint8_t {
    paused,   // listens, but connections stay in the kernel's queue
    watched,  // registered with epoll
    closed,   // no descriptor any more
  };
  enum class Step : std::uint8_t { more, stop };

  static constexpr int kMaxAcceptsPerTurn = 64;

  void run() override;
  Step accept_one();

  ListenerHost& host_;
  AcceptHandler& handler_;
  Descriptor fd_;
  SocketAddress address_;
  std::uint32_t id_;
  int backlog_;
  State state_ = State::paused;
};

}  // namespace hushgate::io
