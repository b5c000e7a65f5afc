// A network in memory with a clock of its own. Everything that happens in it follows from its seed
// and from what is asked of it: no host clock, no threads, no order that depends on addresses in
// memory.
//
// TCP as its users see it: two directions with a finite send buffer and a finite receive window
// each, segments of seeded sizes that arrive after a latency, acknowledgements, FIN, RST (also in
// answer to bytes for an end that was closed, and for bytes that were unread at a close), accept
// queues, source ports, descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/backend.h"
#include "io/sim_connection.h"
#include "io/sim_random.h"
#include "io/stream.h"

namespace hushgate::io {

struct SimOptions {
  std::uint64_t seed = 1;
  Duration latency_min = std::chrono::microseconds(100);  // one way, drawn anew for every segment
  Duration latency_max = std::chrono::milliseconds(2);
  std::size_t max_segment_bytes = 9'000;
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
  void close(SimSocket socket, CloseHow how);
  std::size_t connections() const { return connections_.size(); }

 private:
  struct Event {
    Time time;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {  // for a heap with the earliest on top
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  using PortKey = std::pair<std::string, std::uint16_t>;  // source and destination, source port

  // Of the ends.
  SimRandom& wire_random() override { return random_; }
  std::size_t max_segment_bytes() const override { return options_.max_segment_bytes; }
  void deliver(SimSocket to, std::function<void(SimEnd&)> what) override;
  void ended(SimSocket socket) override;

  Duration latency();
  void push(Time time, std::function<void()> what);
  Result<std::uint16_t> take_port(const SimHost& from, const std::string& route);
  void arrive_syn(SimSocket socket);
  SimListener* pick_listener(const SocketAddress& address);
  void bury();

  // Holds what waits in accept queues, so that it is not forgotten when it is reset there.
  struct Queued final : SimUser {
    void socket_changed() override {}
  };

  SimOptions options_;
  SimRandom random_;
  Time now_;
  Queued queued_;
  std::uint64_t next_order_ = 0;
  std::vector<Event> events_;
  std::map<std::string, std::unique_ptr<SimHost>> hosts_;
  std::map<std::string, SimFate> fates_;
  std::map<std::string, std::vector<SimListener*>> listeners_;
  std::map<std::uint64_t, std::unique_ptr<SimConnection>> connections_;
  std::uint64_t next_connection_ = 1;
  std::vector<std::uint64_t> finished_;  // both ends have ended; forgotten at the next step
  std::map<PortKey, Time> ports_;  // until when a source port is taken: kNever while it is in use
  std::uint16_t next_listen_port_ = 20'000;
};

}  // namespace hushgate::io
