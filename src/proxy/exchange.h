// One request and its response: heads, the attempt on an upstream connection, and the relay of both
// bodies. The session owns the law (phase::State) and the client's socket; the exchange does the
// work.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/spare_room.h"
#include "http/h1_state.h"
#include "http/head.h"
#include "http/scanner.h"
#include "io/alarm.h"
#include "io/task.h"
#include "proxy/body.h"
#include "proxy/context.h"
#include "proxy/errors.h"
#include "proxy/out_buffer.h"
#include "proxy/timers.h"
#include "route/decision.h"
#include "upstream/dialer.h"

namespace hushgate::proxy {

inline constexpr std::size_t kMaxRequestIdBytes = 128;    // of one that a trusted client brings
inline constexpr std::size_t kMaxSpareExchanges = 1'024;  // per worker
inline constexpr int kTurnTakes = 8;  // receives per direction and turn; then others have theirs

// Empties what a spare exchange keeps; room for usual heads is kept, what a large one needed goes
// back.
inline void clear_warm(std::string& text) {
  if (text.capacity() > kWarmBytes) std::string().swap(text);
  text.clear();
}

// How the exchange is told of in the log.
struct Record {
  Time began{};  // the head's first byte
  Time head_done{};
  Time connected{};                  // the last attempt's connection was there
  Time first_byte{};                 // of the final response head
  std::array<Duration, 3> turns{};   // receiving, serving, sending
  Time turn_since{};                 // when the one that runs began
  std::uint64_t request_bytes = 0;   // body payload received from the client
  std::uint64_t discarded = 0;       // of the request, read and dropped
  std::uint64_t response_bytes = 0;  // body payload received from the upstream
  std::uint16_t status = 0;          // given to the client; 0: none
  std::uint32_t attempts = 0;        // connections on which bytes of the request were submitted
  std::uint32_t connect_rounds = 0;  // rounds of connecting that failed
  std::uint32_t refusals = 0;        // attempts that the upstream proved unprocessed
  std::uint32_t ordinal = 0;         // of the request on its upstream connection; 1: a new one
  Time upstream_opened{};            // when that connection was opened
  std::string_view client_http, upstream_http;  // io::Stream::http_version(); of the last attempt
  SocketAddress endpoint;
  Error error;
  bool fate_unknown = false;  // unsafe, and lost after something of it was submitted: it may have
                              // acted
  std::optional<Time> ended;  // and told in the log
};

class Exchange {
 public:
  explicit Exchange(Context& context);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // --- the session's calls, in the order of a life
  void begin(Session& session, Time first_byte);
  // Takes bytes of the head; what lies behind its end is `rest` then. Changes nothing else. True
  // once the head is complete or can never be one: act_on_head() follows then, when the lease has
  // ended.
  bool take_head(Bytes bytes);
  // The same of what lies in `rest`.
  bool take_head_from_rest();
  // What is complete is the beginning of HTTP/2's preface (RFC 9113 section 3.4).
  bool is_http2_preface() const;
  // It and what was taken behind it; this is no exchange then, and is told of nowhere.
  std::string give_up_head();
  // Parses, routes and begins: the session's state is `exchange` or later afterwards.
  void act_on_head();
  // Relays until the session's state has left `exchange`.
  io::Task<> run();
  // Relays a tunnel until it has ended.
  io::Task<> run_tunnel();
  // Closes what is open, forgets everything but `rest` and capacities.
  void reset();

  // --- effects of the phase table (called by Session::apply)
  void open_attempt();    // from the pool if the law allows it, else new
  void reopen_attempt();  // new
  void finish_upstream();
  void abort_upstream();
  void write_error_answer();

  Record record;
  RequestClock request_clock;
  http::RequestHead head;
  std::string request_id;
  // What was taken behind the part of the request that is understood: of its body, then of the next
  // request. It outlives reset().
  std::string rest;
  Time bytes_at{};  // when bytes of the client's were last taken; outlives reset() as well
  const route::Decision& decision() const { return decision_; }
  bool has_decision() const { return decision_.upstream != nullptr; }
  // What it began with; from begin() to reset().
  const Setup& setup() const { return *generation_->setup; }
  const Limits& limits() const { return generation_->limits(); }
  // The upstream's clock is to be this one from now on.
  void run_upstream_clock(phase::UpstreamClock clock);
  std::uint64_t client_accepted() const { return client_out_.accepted(); }
  // The response to the client ends with the connection: a cut must be a reset.
  bool close_delimited() const { return client_framing_ == http::FramingKind::until_eof; }
  // Every byte of the request has left the client's socket, if not this process.
  bool request_received() const;
  // Behind the client's FIN: whether what it has sent may hold the rest of the request.
  bool request_can_end() const;
  // What a retry by the client itself would risk.
  ShouldRetry should_retry() const;

 private:
  // Wakes the session: alarms, deadlines and the dialer outlive one session's use of this object.
  struct Relay final : io::Runnable {
    Session* session = nullptr;
    void run() override;
  };

  // exchange.cc
  void step();
  bool over() const;
  bool work_waits() const;
  void flush_client();
  void judge_upstream();
  bool request_sent() const;
  std::int64_t upstream_acknowledged();

  // exchange_head.cc
  void refuse(ErrorKind kind);
  void close_if_unsure();
  void fail_here(ErrorKind kind);
  bool scan_head();
  ErrorKind parse_head();
  void choose_request_id();
  void route_request();
  void begin_upstream(const route::Decision& decision);
  void answer_here(const LocalAnswer& answer);
  bool answer_at_last_hop();
  http::ConnectionField client_connection_field() const;

  // attempt.cc
  upstream::Dialer::Purpose dial_purpose() const;
  void begin_dial();
  void step_dial();
  void dial_failed();
  Duration wait_for_retry(std::uint32_t failures);
  void use(upstream::ConnectionPtr connection);
  void write_upstream_head();
  void attempt_refused(int os_error);
  void tell_refusal();
  std::optional<std::string> held_body();
  bool stream_lost() const;

  // request_relay.cc
  void relay_request();
  bool relay_request_once();
  Relayed move_request(Bytes bytes);
  void after_request_bytes(const Relayed& relayed);
  bool wants_request_bytes() const;
  void flush_upstream();
  bool rest_is_too_much() const;  // what is left of the request will not be read
  void judge_discard();

  // response_relay.cc
  void relay_response();
  bool wants_response_bytes() const;
  void take_response(Bytes bytes);
  void take_response_head(Bytes bytes);
  void read_response_head();
  bool use_response_head(std::string_view text);
  void use_interim();
  void use_upgrade();
  void use_final(http::Framing framing);
  void take_response_body(Bytes bytes);
  void response_broken(ErrorKind kind);
  void attempt_lost(Error error);
  void tell_tls_failure();
  void upstream_ended(io::Take::Kind how, int os_error);
  bool is_stale_timeout() const;
  void try_end_response();

  // tunnel.cc
  void step_tunnel();
  bool tunnel_up();
  bool tunnel_down();
  bool tunnel_alive();
  void pass(Bytes bytes, OutBuffer& out, io::Stream& to, std::uint64_t& count);
  void note_tunnel_moves();
  void note_tunnel_room();
  void pass_finishes();
  void judge_tunnel();

  Time now() const { return context_.loop.now(); }

  Context& context_;
  Session* session_ = nullptr;
  Generation* generation_ = nullptr;
  Relay relay_;

  // The request
  std::string request_text_;
  http::HeadScanner request_scanner_;
  http::Scan request_scan_;
  http::Framing request_framing_;
  bool safe_ = false;  // safe bodyless
  http::Trust trust_ = http::Trust::untrusted;
  BodyReader request_body_;
  route::Decision decision_;
  std::array<char, IpPort::kMaxTextBytes> client_text_{};
  std::size_t client_text_size_ = 0;

  // The attempt
  upstream::Endpoint* endpoint_ = nullptr;
  upstream::Dialer dialer_;
  io::Alarm retry_alarm_;
  UpstreamTimer upstream_timer_;
  upstream::ConnectionPtr connection_;
  OutBuffer upstream_out_;
  std::size_t upstream_head_bytes_ = 0;  // what upstream_out_ began with
  std::string resend_;  // the refused attempt's body, until the next one has a connection
  bool upstream_deaf_ =
      false;  // a write failed: nothing more is sent, what it has said may still be read

  // The response
  std::string response_text_;  // a head that is not complete, or whose views are in use
  http::HeadScanner response_scanner_;
  http::ResponseHead response_;
  http::Framing response_framing_;
  http::FramingKind client_framing_ = http::FramingKind::none;
  BodyReader response_body_;
  OutBuffer client_out_;
  int interims_ = 0;
  std::size_t surplus_bytes_ = 0;   // behind the response's end
  bool response_complete_ = false;  // all of it is in client_out_ or with the kernel

  // The tunnel
  bool client_finished_ = false;  // its FIN was taken
  bool upstream_finished_ = false;
  bool client_shut_ = false;  // our FIN was sent to it
  bool upstream_shut_ = false;
  std::uint64_t tunnel_moved_ = 0;  // bytes given to both sides when it was last looked
};

}  // namespace hushgate::proxy
