// One end of a simulated connection: what a kernel keeps for a TCP socket. The numbers are Linux's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/address.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "io/sim_pipe.h"
#include "io/sim_random.h"
#include "io/stream.h"

namespace hushgate::io {

class SimEnd;
class SimTap;
struct SimHost;

// How long an end whose user has closed it is remembered while the other sends no FIN, from the
// acknowledgement of its own (tcp_fin_timeout).
inline constexpr Duration kSimFinTimeout = std::chrono::seconds(60);
// How long something may stay unacknowledged until the other is given up with ETIMEDOUT
// (tcp_retries2) ...
inline constexpr Duration kSimRetransmissionTimeout = std::chrono::milliseconds(924'600);
// ... and until an end whose user has closed it is forgotten (tcp_orphan_retries).
inline constexpr Duration kSimOrphanTimeout = std::chrono::milliseconds(102'200);

// Names an end; stays valid as a name when the connection is gone. Connections are numbered from 1
// in the order of their connect().
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

struct SimSegment {
  enum class Kind : std::uint8_t {
    syn,
    syn_answer,  // `window`
    refusal,
    bytes,            // `bytes`
    acknowledgement,  // of `bytes`; `window`
    fin,
    fin_acknowledgement,
    reset,
    probe,  // of keep-alive
    probe_answer,
  };
  Kind kind = Kind::syn;
  std::size_t bytes = 0;
  std::size_t window = 0;
};

// What an end needs of the network.
class SimWire {
 public:
  virtual Time wire_now() const = 0;
  virtual SimRandom& wire_random() = 0;
  virtual SimTap* tap() = 0;  // may be null
  virtual std::size_t max_segment_bytes() const = 0;
  virtual unsigned reset_drops_unread_percent() const = 0;
  // Arrives at that end after a latency, behind everything sent to it before, unless the end is
  // gone by then.
  virtual void deliver(SimSocket to, const SimSegment& segment) = 0;
  // The end's expire() is called then.
  virtual void set_timer(SimSocket socket, Time time) = 0;
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

  // `other` is the connection's other end; both live as long as each other.
  void start(SimWire& wire, SimSocket self, SimHost& host, SimEnd& other);
  void set_addresses(const SocketAddress& local, const SocketAddress& remote);
  void set_user(SimUser* user) { user_ = user; }
  SimUser* user() const { return user_; }

  State state() const { return state_; }
  Outgoing outgoing() const { return outgoing_; }
  int error() const { return error_; }
  bool fin_received() const { return fin_received_; }
  std::size_t readable_bytes() const { return other_->out_.unread(); }
  std::size_t send_room() const;
  std::size_t unacknowledged() const { return out_.unacknowledged(); }
  // So long behind the last byte that arrived, or the establishment, the FIN did; the longest
  // Duration: it has not.
  Duration finish_delay() const;
  const SocketAddress& local() const { return local_; }
  const SocketAddress& remote() const { return remote_; }
  SimHost& host() const { return *host_; }
  // Its FIN went out before the other's came: TIME_WAIT is its to keep.
  bool closed_first() const { return closed_first_; }

  // Of the user. send: how much was accepted; receive: how much was there.
  std::size_t send(Bytes bytes);
  std::size_t receive(MutableBytes out);
  void finish();
  // Takes effect also for a silence that has begun.
  void set_keep_alive(const KeepAlive& keep_alive);
  // The user is gone afterwards.
  void close(CloseHow how);

  // Of the network.
  void established(std::size_t others_window);
  void arrive(const SimSegment& segment);  // anything but a SYN
  void die(int error);                     // not told to the tap
  // From now on nothing leaves this end, and nothing arrives at it.
  void cut();
  bool is_cut() const { return cut_; }
  void abandon();  // as close(), but nothing is said
  void expire(Time due);
  // A timer of this end for that time still matters.
  bool awaits(Time due) const { return due == timer_ && !end_said_; }
  bool has_ended() const { return end_said_; }

 private:
  void deliver(const SimSegment& segment);
  void transmit();
  void arrive_bytes(std::size_t bytes);
  void arrive_acknowledgement(std::size_t bytes, std::size_t window);
  void arrive_fin();
  void arrive_fin_acknowledgement();
  void arrive_reset();
  void arrive_probe();
  void answer_reset();
  void fail(int error);  // told to the tap
  bool outstanding() const;
  void begin_outstanding();
  bool in_fin_wait() const;
  bool forgotten() const;
  void enter_fin_wait();
  Time next_check() const;
  Time next_probe(Time not_before) const;
  void rearm();
  std::size_t window() const;
  void changed();
  void end_if_done();

  SimWire* wire_ = nullptr;
  SimHost* host_ = nullptr;
  SimEnd* other_ = nullptr;
  SimUser* user_ = nullptr;
  SimSocket self_;
  SocketAddress local_;
  SocketAddress remote_;
  State state_ = State::connecting;
  Outgoing outgoing_ = Outgoing::open;
  bool fin_received_ = false;
  bool closed_first_ = false;
  bool end_said_ = false;
  bool cut_ = false;
  int error_ = 0;
  SimPipe out_;
  std::size_t others_window_ = 0;     // as last heard
  std::size_t announced_window_ = 0;  // as last told to the other
  Time heard_{};                      // when anything arrived last
  Time last_byte_{};                  // when a byte did, or the establishment
  Time fin_arrived_{};                // valid with fin_received_
  Time outstanding_since_{};          // nothing of what is outstanding was acknowledged since
  Time forgotten_at_ = kNever;        // set in FIN_WAIT2 without a user
  std::optional<KeepAlive> keep_alive_;
  Time keep_alive_set_{};
  Time timer_ = kNever;  // the only event that expire() listens to
};

struct SimConnection {
  std::array<SimEnd, 2> ends;
  std::array<Time, 2> last_arrival{};
  Time stalled_until{};
  std::uint16_t port = 0;  // the client's; 0: a UNIX socket
};

}  // namespace hushgate::io
