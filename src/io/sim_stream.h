// A stream and a listener of the simulation. For sim.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/runnable.h"
#include "io/shared_buffer.h"
#include "io/sim.h"
#include "io/sim_network.h"
#include "io/stream.h"

namespace hushgate::io {

class SimStream;
class SimStreamListener;

// What both need of their backend. `pending`: the network changed something that the next collect()
// looks at.
class SimHome {
 public:
  virtual SimNetwork& network() = 0;
  virtual const SimBackendOptions& options() const = 0;
  virtual SharedBuffer& buffer() = 0;
  virtual void pending(SimStream& stream) = 0;
  virtual void pending(SimStreamListener& listener) = 0;
  virtual void closed(SimStream& stream) = 0;
  virtual void closed(SimStreamListener& listener) = 0;
  virtual SimStream& fresh_stream() = 0;

 protected:
  ~SimHome() = default;
};

class SimStream final : public Stream, public SimUser {
 public:
  explicit SimStream(SimHome& home) : home_(home) {}

  void open(SimSocket socket, Runnable* owner);
  // What the network did into flags; the owner is made ready if something is new.
  void look(ReadyList& ready);
  bool is_open() const { return open_; }

  Take take() override;
  Result<std::size_t> write(std::span<const Bytes> pieces) override;
  void finish_writing() override;
  std::size_t unacknowledged() override { return end().unacknowledged(); }
  std::size_t untaken() override { return end().readable_bytes(); }
  bool still_quiet() override;
  Duration finish_delay() override;
  void set_keep_alive(const KeepAlive& keep_alive) override { end().set_keep_alive(keep_alive); }
  void close(CloseHow how) override;
  SocketAddress local() override { return end().local(); }

  void socket_changed() override;

 private:
  static constexpr std::uint8_t kReadAll = 32;
  static constexpr std::uint8_t kFinSent = 64;

  SimEnd& end() { return home_.network().end(socket_); }
  Take ended();
  std::size_t partial(std::size_t whole, unsigned percent);
  void wake_later();

  SimHome& home_;
  SimSocket socket_;
  bool open_ = false;
  bool pending_ = false;
};

class SimStreamListener final : public Listener, public Runnable, public SimUser {
 public:
  SimStreamListener(SimHome& home, AcceptHandler& handler) : home_(home), handler_(handler) {}
  ~SimStreamListener() override;

  void start(std::unique_ptr<SimListener> listener) { listener_ = std::move(listener); }
  void look(ReadyList& ready);

  void pause() override;
  void resume() override;
  void drain_and_close() override;
  SocketAddress address() const override { return address_; }
  void set_address(const SocketAddress& address) { address_ = address; }

  void socket_changed() override;

 private:
  enum class Step : std::uint8_t { more, stop };

  static constexpr int kMaxAcceptsPerTurn = 64;

  void run() override;
  Step accept_one();
  void stop_listening();

  SimHome& home_;
  AcceptHandler& handler_;
  std::unique_ptr<SimListener> listener_;
  SocketAddress address_;
  bool paused_ = false;
  bool pending_ = false;
};

}  // namespace hushgate::io
