// One connection that exchanges share (HTTP/2): whether it takes another leg now, whether its peer
// is still there, and how it ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "base/clock.h"
#include "h2/client_link.h"
#include "io/runnable.h"
#include "io/stream.h"
#include "io/wheel.h"
#include "upstream/connection.h"
#include "upstream/services.h"

namespace hushgate::upstream {

// A connection that has been heard of so recently is there; any other is asked (PING).
inline constexpr Ms kPingSilence{1'000};
// For the answer; connectTimeoutMs, if that is shorter. Behind it no new leg goes there; those that
// it carries have budgets of their own.
inline constexpr Ms kPingTimeout{5'000};
// Servers count PINGs (gRPC ends a connection with too_many_pings): where nothing else was heard
// between so many, it is not asked again, and takes no leg.
inline constexpr unsigned kMaxPingsInARow = 2;

class Carrier final : public io::Runnable, private h2::ClientLink::Handler {
 public:
  enum class State : std::uint8_t {
    serving,   // takes legs; without one `deadline_` is its idle timeout
    asked,     // a PING is out, or what has come is still to be read: no leg is given meanwhile;
               // `deadline_` bounds it
    doubtful,  // it was not answered: legs that are there go on; whatever is heard makes it serve
    leaving,   // takes no legs any more; without one `deadline_` bounds the orderly end
  };
  class Owner {
   public:
    // It may be able to take more, or less; or it is ended(). It may be destroyed here.
    virtual void carrier_changed(Carrier& carrier) = 0;

   protected:
    ~Owner() = default;
  };

  // Begins with the connection. `birth`: its place in the order of all of an endpoint.
  Carrier(Owner& owner, Endpoint& endpoint, io::StreamPtr wire, const h2::LinkSettings& settings,
          std::uint64_t birth);
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  ~Carrier() = default;

  State state() const { return state_; }
  bool ended() const { return link_.state() == h2::Link::State::ended; }
  // It takes no streams any more, and never was seen to take one: nobody should wait for another of
  // its kind.
  bool stillborn() const {
    return link_.state() != h2::Link::State::open && streams_ == 0 && !was_ready_;
  }
  const SocketAddress& peer() const { return peer_; }
  std::uint64_t birth() const { return birth_; }
  std::size_t legs() const { return link_.legs(); }
  std::size_t open_streams() const { return link_.open_streams(); }  // what its peer counts
  bool idle() const { return state_ == State::serving && legs() == 0; }
  Time last_heard() const { return link_.last_heard(); }
  // Heard of a moment ago; and where it carries nothing, nothing has come that was not looked at.
  bool is_there();

  // Whether it has room for a leg once its peer is known to be there. `expected`: legs that it is
  // given before the peer's SETTINGS have come.
  bool has_room(std::size_t expected) const;
  bool settings_seen() const { return link_.settings_seen(); }
  bool allows_extended_connect() const { return link_.allows_extended_connect(); }

  // Needs has_room() and is_there().
  ConnectionPtr open();
  // Asks whether the peer is there, which carrier_changed() tells then. False: it has been asked
  // too often. Needs `serving`.
  bool ask(Duration timeout);
  // No legs from now on; it ends with its last.
  void leave();
  // ended() from now on, and its legs have failed.
  void reset();

 private:
  void link_changed(h2::ClientLink& link) override;
  void run() override;
  bool fresh() const;
  void mind_idle();
  void note_leaving();
  void tell_end();

  Owner& owner_;
  Endpoint& endpoint_;
  h2::ClientLink link_;
  io::Deadline deadline_;
  const std::uint64_t birth_;
  const Time opened_;
  SocketAddress peer_;
  State state_ = State::serving;
  unsigned pings_in_a_row_ = 0;
  bool was_ready_ = false;     // its peer's limit was known while it took streams
  std::uint32_t streams_ = 0;  // that it was given in all
};

}  // namespace hushgate::upstream
