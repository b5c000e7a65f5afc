// A listening socket on io_uring: a multishot accept. For uring*.cc only.
#pragma once

#include <cstdint>
#include <vector>

#include "io/runnable.h"
#include "io/sockets.h"
#include "io/stream.h"
#include "io/uring_ring.h"

namespace hushgate::io {

class UringListener;

// What a listener needs of its backend.
class UringListenerHost {
 public:
  virtual void arm(UringListener& listener) = 0;
  virtual void disarm(UringListener& listener) = 0;
  virtual void forget(UringListener& listener) = 0;
  virtual void run_soon(UringListener& listener) = 0;  // in the next turn
  // A connection that the kernel has accepted for it and that no turn has collected yet.
  virtual Descriptor take_recorded(UringListener& listener) = 0;
  virtual StreamPtr adopt_accepted(Descriptor fd, const SocketAddress& peer) = 0;

 protected:
  ~UringListenerHost() = default;
};

// The handler may pause it, but not destroy it, from within accepted().
class UringListener final : public Listener, public Runnable {
 public:
  UringListener(UringListenerHost& host, std::uint32_t id, Descriptor fd,
                const ListenOptions& options, AcceptHandler& handler);
  ~UringListener() override;

  std::uint32_t id() const { return id_; }
  int fd() const { return fd_.get(); }

  // A completion of its accept. True: run() has something to do.
  [[nodiscard]] bool on_completion(int result, std::uint32_t cqe_flags);

  void pause() override;
  void resume() override;
  void drain_and_close() override;
  SocketAddress address() const override { return address_; }

 private:
  enum class State : std::uint8_t {
    paused,     // what the kernel had accepted before waits in accepted_
    listening,  // an accept is submitted, or is as soon as the cancelled one has ended
    closed,
  };
  enum class Step : std::uint8_t { more, stop };

  void run() override;
  void hand_over(Descriptor fd);
  void hand_over_completed();
  Step accept_one();

  UringListenerHost& host_;
  AcceptHandler& handler_;
  Descriptor fd_;
  SocketAddress address_;
  std::uint32_t id_;
  int backlog_;
  State state_ = State::paused;
  bool submitted_ = false;  // an accept is, from its submission to its last completion
  bool shortage_ = false;   // the last one ended for want of descriptors
  std::vector<Descriptor> accepted_;
};

}  // namespace hushgate::io
