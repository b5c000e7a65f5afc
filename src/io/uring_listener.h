// A listening socket on io_uring: a multishot accept, or single ones while descriptors are short.
// For uring*.cc only.
#pragma once

#include <cstdint>
#include <vector>

#include "io/runnable.h"
#include "io/sockets.h"
#include "io/stream.h"
#include "io/uring_ring.h"

namespace hushgate::io {

class UringListener;

// What may be submitted for a listener.
enum class UringAwaits : std::uint8_t {
  nothing,
  connections,  // a multishot accept: it needs a free descriptor even to wait
  a_queue,      // a poll: tells that somebody is queued
};

// What a listener needs of its backend.
class UringListenerHost {
 public:
  virtual void arm(UringListener& listener, UringAwaits what) = 0;
  virtual void disarm(UringListener& listener, UringAwaits what) = 0;
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

  // A completion of its accept, or of its poll. True: run() has something to do.
  [[nodiscard]] bool on_accept(int result, std::uint32_t cqe_flags);
  [[nodiscard]] bool on_queue(int result);

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
  enum class Step : std::uint8_t {
    more,
    empty,     // nobody is queued
    no_room,   // nobody is queued, and there is no descriptor for who will be
    shortage,  // the handler could not make room
  };

  static constexpr int kMaxAcceptsPerTurn = 64;

  void run() override;
  void await(UringAwaits what);
  bool ended();
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
  UringAwaits submitted_ = UringAwaits::nothing;  // from the submission to the last completion
  // Connections are accepted one by one: whoever made room by closing another takes the descriptor
  // at once, before another worker does.
  bool one_by_one_ = false;
  std::vector<Descriptor> accepted_;
};

}  // namespace hushgate::io
