// The connections to an endpoint that exchanges share (HTTP/2), of one worker: a leg each. Who
// wants one waits here, if it must: for a connection that is being made, for the peer's SETTINGS,
// for the answer to a PING.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intrusive_list.h"
#include "base/limits.h"
#include "h2/link.h"
#include "io/runnable.h"
#include "upstream/carrier.h"
#include "upstream/connection.h"

namespace hushgate::upstream {

class Endpoint;
struct LegWaitTag {};

inline constexpr std::size_t kStreamsExpected = 100;  // of a peer whose limit is not known yet
inline constexpr std::size_t kMaxSharedDials = 8;     // under way at a time

// Stands in line for a leg. Its target is made ready when somebody but Shared::wait() has settled
// it.
class LegWait : public ListNode<LegWaitTag> {
 public:
  enum class Want : std::uint8_t {
    any,       // a leg of any connection
    fresh,     // of one that is opened from now on: a request that is sent for the second time
    extended,  // of one whose peer allows extended CONNECT (RFC 8441)
  };
  enum class State : std::uint8_t {
    idle,
    waiting,  // in line
    granted,  // take() has the connection: a leg, or one of HTTP/1.1 that has carried nothing
    alone,    // HTTP/1.1 is spoken there: it is to dial for itself
    failed,   // error() and failed_address() say why
  };

  explicit LegWait(io::Runnable& target) : target_(target) {}

  State state() const { return state_; }
  ConnectionPtr take() {
    state_ = State::idle;
    return std::move(connection_);
  }
  // Kinds: those of a Dialer; http_protocol_error: the peer does not allow extended CONNECT.
  Error error() const { return error_; }
  const SocketAddress& failed_address() const { return failed_address_; }

 private:
  friend class Shared;

  io::Runnable& target_;
  State state_ = State::idle;
  Want want_ = Want::any;
  std::uint64_t births_ = 0;  // connections that there had been when it came, before that turn
  ConnectionPtr connection_;
  Error error_;
  SocketAddress failed_address_;
};

class Shared final : public Carrier::Owner {
 public:
  enum class Mode : std::uint8_t {
    unknown,  // an `auto` upstream that has not been met: the first handshake decides
    http1,    // `auto`: what the last handshake has chosen. Who asks dials for itself
    http2,
  };

  explicit Shared(Endpoint& endpoint);
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared();  // resets all of it

  Mode mode() const { return mode_; }

  // What holds for connections that are made from now on.
  void heed(const Limits& limits);
  // Settles `wait` at once where it can; else it stands in line. Not in Mode::http1.
  void wait(LegWait& wait, LegWait::Want want);
  // It wants nothing any more, whatever its state; a leg that it was given is reset.
  void stop_waiting(LegWait& wait);

  // Somebody has dialed for itself and HTTP/2 was chosen: the connection is shared from now on, and
  // its first leg is the caller's. Null if it has ended already.
  ConnectionPtr adopt(io::StreamPtr wire);

  // Ends connections without a stream, at most so many; returns how many.
  std::size_t shed_idle(std::size_t at_most);
  std::size_t idle_count() const;
  std::size_t count() const { return carriers_.size(); }  // those that are leaving included
  // Connections end with their last stream from now on, those without one at once.
  void retire();

 private:
  class Dial;

  void carrier_changed(Carrier& carrier) override;
  bool try_settle(LegWait& wait);
  bool suits(const Carrier& carrier, const LegWait& wait) const;
  bool may_come(const Carrier& carrier) const;
  static bool allows_nothing(const Carrier& carrier);
  bool refused_by_all() const;
  std::size_t& count(LegWait::Want want) { return counts_[static_cast<std::size_t>(want)]; }
  std::size_t count(LegWait::Want want) const { return counts_[static_cast<std::size_t>(want)]; }
  void put_in_line(LegWait& wait);
  void take_out_of_line(LegWait& wait);
  void settle(LegWait& wait, LegWait::State state);
  void grant(LegWait& wait, ConnectionPtr connection);
  void fail(LegWait& wait, Error error, const SocketAddress& address);

  void serve();
  bool lacks_connections();
  void dial_what_lacks();
  std::size_t busy_dials() const;
  std::size_t promised() const;
  std::size_t promised_fresh();
  std::size_t expected() const { return expected_.value_or(kStreamsExpected); }
  void use_http2();
  void dialed_http2(io::StreamPtr wire);
  void dialed_http1(ConnectionPtr connection);
  void dial_failed(Error error, const SocketAddress& address);
  Carrier& add(io::StreamPtr wire);
  void learn(const Carrier& carrier);

  Endpoint& endpoint_;
  Mode mode_;
  h2::LinkSettings settings_;
  Limits limits_;             // of connecting
  std::uint64_t births_ = 0;  // connections that there have been
  Time birth_turn_{};         // in which the last of them came
  std::uint64_t births_before_turn_ = 0;
  std::optional<std::size_t> expected_;             // streams that a peer has been seen to allow
  std::vector<std::unique_ptr<Carrier>> carriers_;  // oldest first
  std::vector<std::unique_ptr<Dial>> dials_;
  IntrusiveList<LegWait, LegWaitTag> waits_;
  std::size_t wait_count_ = 0;
  std::array<std::size_t, 3> counts_{};  // the same by what they want
};

}  // namespace hushgate::upstream
