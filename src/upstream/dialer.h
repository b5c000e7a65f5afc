// Gets one connection to an endpoint for a request: where connections are shared (HTTP/2) a leg of
// one, else it opens a new one: its name, the race of its addresses (RFC 8305: the next
// one 250 ms later, or at once when the last one failed), and the wait for a port when there is
// none. Only the winner carries bytes, those of TLS too; the losers are reset.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/result.h"
#include "io/alarm.h"
#include "io/stream.h"
#include "tls/stream.h"
#include "upstream/endpoint.h"
#include "upstream/shared.h"

namespace hushgate::upstream {

class Dialer {
 public:
  enum class State : std::uint8_t {
    idle,       // not started, or taken
    sharing,    // a leg of a shared connection is awaited
    resolving,  // the name has no address yet
    racing,     // at least one connect is under way
    handshake,  // of TLS, on the connection that won; if it fails, the other addresses have their
                // turn
    port_wait,  // no address had a free port
    connected,  // take() has the winner
    failed,     // error() and failed_address() say why
  };

  enum class Purpose : std::uint8_t {
    request,  // somebody waits for it: room is made for it, and it waits for a port
    replay,   // the same, for a request that is sent for the second time: nothing that was open
              // before serves it
    upgrade,  // the same, for a request with Upgrade: HTTP/1.1, or a leg for an extended CONNECT
    link,     // a connection that is to be shared: take_stream() if speaks_http2(), else take()
    spare,    // nobody waits for it: it takes nothing from anybody, and fails where it would have
              // to. HTTP/1.1
  };

  // `owner` is made ready whenever step() could come further; it outlives the dialer.
  explicit Dialer(io::Runnable& owner)
      : owner_(owner), alarm_(owner), leg_wait_(owner), name_wait_(owner), port_wait_(owner) {}
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  ~Dialer() { cancel(); }

  // Begins; ends by connectTotalMs of `limits` (which are copied) at the latest. step() follows at
  // once. `endpoint` lives until take() or cancel().
  void start(Endpoint& endpoint, const Limits& limits, Time now,
             Purpose purpose = Purpose::request);
  State step(Time now);
  State state() const { return state_; }

  ConnectionPtr take(Time now);
  // Purpose::link, `connected`.
  bool speaks_http2() const { return speaks_http2_; }
  io::StreamPtr take_stream();
  // Resets whatever is under way.
  void cancel();

  // Valid in `failed`. Kinds: dns_error, dns_timeout, connection_refused, connection_failed (with
  // errno), connection_timeout, tls_certificate_error, tls_protocol_error, ports_exhausted,
  // shedding (no descriptors), http_protocol_error (no extended CONNECT for an Upgrade).
  Error error() const { return error_; }
  const SocketAddress& failed_address() const { return failed_address_; }

 private:
  struct Attempt {
    io::StreamPtr stream;
    Time due;
  };

  bool wants_leg(LegWait::Want& want) const;
  void step_sharing(Time now);
  void leg_lost(Time now);
  void begin_alone(Time now);
  void step_resolving(Time now);
  void step_port_wait(Time now);
  void begin_race(Time now);
  void watch_attempts(Time now);
  void won(io::StreamPtr stream, Time now);
  void begin_handshake(io::StreamPtr stream, Time now);
  std::string_view only_protocol() const;
  void watch_handshake(Time now);
  void handshake_failed(Error error, std::string_view why, Time now);
  void connected(io::StreamPtr stream);
  bool try_next(Time now);
  Result<io::StreamPtr> connect(const SocketAddress& address);
  void note_failure(const SocketAddress& address, Error error, int weight);
  bool lacks_ports() const;
  void all_failed(Time now);
  void fail(Error error);
  void end_waits();
  void set_alarm(Time now);
  void gather_addresses();

  io::Runnable& owner_;
  io::Alarm alarm_;
  LegWait leg_wait_;
  NameWait name_wait_;
  PortWait port_wait_;
  Endpoint* endpoint_ = nullptr;
  State state_ = State::idle;
  Purpose purpose_ = Purpose::request;
  Ms connect_timeout_{};
  Time total_due_{};
  Time next_due_{};       // when the next address joins the race
  Time ports_due_{};      // when waiting for a port ends
  std::size_t next_ = 0;  // the next address to try
  bool no_port_ = false;  // the address that accepted last time had no free port in this race
  std::size_t unavailable_ = 0;  // addresses that said EADDRNOTAVAIL in this race
  Error error_;
  int error_weight_ = 0;  // how much error_ says
  SocketAddress failed_address_;
  std::vector<SocketAddress> addresses_;  // of this race; the name's may change meanwhile
  std::vector<Attempt> attempts_;
  io::StreamPtr winner_;
  bool speaks_http2_ = false;  // the winner
  ConnectionPtr connection_;   // in place of the winner
  bool lost_leg_ = false;      // one was lost before it was taken
  tls::Stream::Pointer handshake_;
  Time handshake_due_{};
};

}  // namespace hushgate::upstream
