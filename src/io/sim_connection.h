// One end of a simulated connection: what a kernel keeps for a TCP socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/address.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "io/sim_random.h"
#include "io/stream.h"

namespace hushgate::io {

class SimEnd;
struct SimHost;

// Names an end; stays valid as a name when the connection is gone.
struct SimSocket {
  std::uint64_t connection = 0;
  std::uint8_t side = 0;  // 0: who connected
  SimSocket other() const { return {connection, static_cast<std::uint8_t>(1 - side)}; }
};

// Who has a socket open. Told that something changed; looks for itself what. Called while the
// network steps.
class SimUser {
 public:
  virtual void socket_changed() = 0;

 protected:
  ~SimUser() = default;
};

// What an end needs of the network.
class SimWire {
 public:
  virtual SimRandom& wire_random() = 0;
  virtual std::size_t max_segment_bytes() const = 0;
  // Runs `what` on that end after a latency, behind everything sent to it before, unless the end is
  // gone by then.
  virtual void deliver(SimSocket to, std::function<void(SimEnd&)> what) = 0;
  // The end needs nothing any more: no user, nothing to send or to answer.
  virtual void ended(SimSocket socket) = 0;

 protected:
  ~SimWire() = default;
};

class SimEnd {
 public:
  enum class State : std::uint8_t {
    connecting,  // the SYN is under way
    open,        // bytes may flow
    orphaned,    // closed by its user; still delivers what was accepted, then FIN
    dead,        // reset or refused; `error` says how if a user is there to ask
  };
  enum class Outgoing : std::uint8_t {
    open,
    fin_queued,  // behind the bytes that are still to be sent
    fin_sent,
    fin_acknowledged,
  };

  void start(SimWire& wire, SimSocket self, SimHost& host, State state);
  void set_addresses(const SocketAddress& local, const SocketAddress& remote);
  void set_user(SimUser* user) { user_ = user; }

  State state() const { return state_; }
  int error() const { return error_; }
  bool fin_received() const { return fin_received_; }
  std::size_t readable_bytes() const { return received_.size(); }
  std::size_t send_room() const;
  std::size_t unacknowledged() const { return send_queue_.size(); }
  const SocketAddress& local() const { return local_; }
  const SocketAddress& remote() const { return remote_; }
  SimHost& host() const { return *host_; }
  // Its FIN went out before the other's came: TIME_WAIT is its to keep.
  bool closed_first() const { return closed_first_; }

  // Of the user. send: how much was accepted; receive: how much was there.
  std::size_t send(Bytes bytes);
  std::size_t receive(MutableBytes out);
  void finish();
  // The user is gone afterwards.
  void close(CloseHow how);

  // Of the network.
  void established(std::size_t others_window);
  void fail(int error);

 private:
  void transmit();
  void arrive_bytes(const std::string& bytes);
  void arrive_acknowledgement(std::size_t bytes, std::size_t window);
  void arrive_fin();
  void arrive_fin_acknowledgement();
  void arrive_reset();
  void answer_reset();
  std::size_t window() const;
  void changed();
  void end_if_done();

  SimWire* wire_ = nullptr;
  SimSocket self_;
  SimHost* host_ = nullptr;
  SimUser* user_ = nullptr;
  SocketAddress local_;
  SocketAddress remote_;
  State state_ = State::connecting;
  Outgoing outgoing_ = Outgoing::open;
  bool fin_received_ = false;
  bool closed_first_ = false;
  bool end_said_ = false;
  int error_ = 0;
  std::string send_queue_;            // accepted and not acknowledged
  std::size_t in_flight_ = 0;         // of send_queue_, from its front: sent
  std::size_t others_window_ = 0;     // as last heard
  std::string received_;              // arrived and not read
  std::size_t announced_window_ = 0;  // as last told to the other
};

struct SimConnection {
  std::array<SimEnd, 2> ends;
  std::array<bool, 2> ended{};
  std::array<Time, 2> last_arrival{};
  std::string port_route;  // the source port is given back under this name
  std::uint16_t port = 0;
};

}  // namespace hushgate::io
