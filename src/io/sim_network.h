// A network in memory with a clock of its own. Everything that happens in it follows from its seed
// and from what is asked of it: no host clock, no threads, no order that depends on addresses in
// memory.
//
// TCP as its users see it: two directions with a finite send buffer and a finite receive window
// each, segments of seeded sizes that arrive after a latency, acknowledgements, FIN, RST (also in
// answer to bytes for an end that was closed, and for bytes that were unread at a close), accept
// queues, source ports, descriptors, keep-alive probes. Links may stall or be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/backend.h"
#include "io/sim_connection.h"
#include "io/sim_events.h"
#include "io/sim_random.h"
#include "io/sim_tap.h"
#include "io/stream.h"

namespace hushgate::io {

struct SimOptions {
  std::uint64_t seed = 1;
  Duration latency_min = std::chrono::microseconds(100);  // one way, drawn anew for every segment
  Duration latency_max = std::chrono::milliseconds(2);
  std::size_t max_segment_bytes = 9'000;
  // How often a reset takes what has arrived and is unread with it. On Linux it never does.
  unsigned reset_drops_unread_percent = 0;
};

// A machine: what its programs share. Created by its first use, stays as long as the network.
struct SimHost {
  IpAddress address;
  std::uint16_t first_port = 32'768;  // of connections that it makes
  std::uint16_t ports = 28'232;       // 0: connecting fails with EADDRNOTAVAIL
  std::size_t descriptor_limit = 1'000'000;
  std::size_t descriptors = 0;  // open ones
  std::size_t send_buffer_bytes = 65'536;
  std::size_t receive_window_bytes = 65'536;
};

enum class SimFate : std::uint8_t {
  usual,       // a listener answers, or the connection is refused
  black_hole,  // nothing answers, ever
};

// A listening socket's queue. Made by SimNetwork::listen.
struct SimListener {
  SimHost* host;
  SocketAddress address;
  int backlog;
  SimUser* user;
  std::deque<SimSocket> queue;
};

class SimNetwork final : private SimWire {
 public:
  explicit SimNetwork(const SimOptions& options);
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;
  ~SimNetwork();

  // Null: nobody watches. Not owned.
  void set_tap(SimTap* tap) { tap_ = tap; }

  Time now() const { return now_; }
  SimRandom& random() { return random_; }
  SimHost& host(const IpAddress& address);
  void set_fate(const SocketAddress& destination, SimFate fate);

  // A step of a script. Steps and events of the same time run in the order in which they were asked
  // for.
  void at(Time time, std::function<void()> what);
  // Goes to the time of the next event if that is not after `until`, and runs all events of that
  // time. Otherwise goes to `until` (unless it is kNever) and says false.
  bool step(Time until);
  void run_for(Duration duration);
  // Time that a host's own work takes.
  void spend(Duration duration) { now_ += duration; }

  // Failures as connect(2) has them at once: EADDRNOTAVAIL, EMFILE, ENOENT (UNIX sockets).
  Result<SimSocket> connect(SimHost& from, const SocketAddress& to, const ConnectOptions& options,
                            SimUser* user);
  // Port 0 is given a free one. Several may listen on one address (SO_REUSEPORT): a seeded choice.
  std::unique_ptr<SimListener> listen(SimHost& host, const SocketAddress& address, int backlog,
                                      SimUser* user);
  // Resets what is queued.
  void close_listener(std::unique_ptr<SimListener> listener);
  // EAGAIN: nothing is queued; EMFILE.
  Result<SimSocket> accept(SimListener& listener, SimUser* user);

  // Of a socket that its user has not closed.
  SimEnd& end(SimSocket socket);
  // Null: gone (closed by its user, and nothing is left to be sent or answered).
  SimEnd* find(SimSocket socket);
  void close(SimSocket socket, CloseHow how);
  std::size_t connections() const { return open_connections_; }
  // The user of the socket, if it has one then, is told that something changed.
  void nudge(SimSocket socket, Duration after);

  // The cable is pulled: from now on nothing arrives at either end, what is under way included. An
  // end that is open finds out as a kernel does: with keep-alive set and nothing unacknowledged,
  // ETIMEDOUT when it has heard nothing for idle + interval * probes; with something
  // unacknowledged, ETIMEDOUT after kSimRetransmissionTimeout; else never. One that is still
  // connecting never does. Nothing happens if the connection is gone.
  void vanish(SimSocket socket);
  // As vanish(); and the user of this end is gone as with its machine: the end is not closed (the
  // tap is not told so), it is no more.
  void vanish_with_user(SimSocket socket);
  // Until so long from now nothing arrives at either end; then all that was held back does, in
  // order. Nobody gives up meanwhile, keep-alive or not. A longer stall of before stays.
  void stall(SimSocket socket, Duration duration);

 private:
  struct Port {
    IpAddress source;
    IpPort destination;
    std::uint16_t port;
    friend bool operator==(const Port&, const Port&) = default;
  };
  // Nothing may depend on the order within what is hashed: it is only looked up.
  struct Hash {
    std::size_t operator()(const IpAddress& ip) const;
    std::size_t operator()(const SocketAddress& address) const;
    std::size_t operator()(const Port& port) const;
  };

  // Of the ends.
  Time wire_now() const override { return now_; }
  SimRandom& wire_random() override { return random_; }
  SimTap* tap() override { return tap_; }
  std::size_t max_segment_bytes() const override { return options_.max_segment_bytes; }
  unsigned reset_drops_unread_percent() const override {
    return options_.reset_drops_unread_percent;
  }
  void deliver(SimSocket to, const SimSegment& segment) override;
  void set_timer(SimSocket socket, Time time) override;
  void ended(SimSocket socket) override;

  Duration latency();
  SimConnection* connection(std::uint64_t id);
  Result<std::uint16_t> take_port(const SimHost& source, const IpPort& destination);
  void run_first();
  void arrive(const SimEvent& event, SimConnection& connection);
  void arrive_syn(SimSocket socket, SimConnection& connection);
  void drop_stale_timers();
  SimListener* pick_listener(const SocketAddress& address);
  void bury();

  // Holds what waits in accept queues, so that it is not forgotten when it is reset there.
  struct Queued final : SimUser {
    void socket_changed() override {}
  };

  SimOptions options_;
  SimTap* tap_ = nullptr;
  SimRandom random_;
  Time now_;
  Queued queued_;
  SimEvents events_;
  std::unordered_map<IpAddress, SimHost, Hash> hosts_;
  std::unordered_map<SocketAddress, SimFate, Hash> fates_;
  std::unordered_map<SocketAddress, std::vector<SimListener*>, Hash> listeners_;
  // By number from first_connection_ on; null: gone.
  std::deque<std::unique_ptr<SimConnection>> connections_;
  std::uint64_t first_connection_ = 1;
  std::size_t open_connections_ = 0;
  std::vector<std::uint64_t> finished_;  // both ends have ended; forgotten at the next step
  // Until when a source port is taken: kNever while it is in use.
  std::unordered_map<Port, Time, Hash> ports_;
  std::uint16_t next_listen_port_ = 20'000;
};

}  // namespace hushgate::io
