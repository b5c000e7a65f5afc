// The law of a client connection's life as a pure table: whose turn it is, which clocks run, and
// what each event leads to (CONTRACT sections 1, 2 and 6). The session feeds every event through
// step() and carries out the effects; nothing else changes a State. The test enumerates all event
// orders; docs/phases.md is generated from the same functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace hushgate::proxy::phase {

// The connection. `in`, `out`, `attempt` and `replay` have a meaning only in `exchange`; in
// `tunnel`, `out` is sending while bytes wait for the client, and `in` is wait_room while bytes
// wait for the upstream, else serving and reading.
enum class Conn : std::uint8_t {
  fresh,     // accepted, no byte since
  kept,      // kept alive after an exchange, no byte since
  head,      // the first byte of a head has come
  exchange,  // a request and its response
  tunnel,    // after a 101 or a CONNECT
  closing,   // the last response is out; unread bytes may come and are discarded
  closed,    // terminal
};

// The request: whose turn its body is.
enum class In : std::uint8_t {
  reading,          // the client's turn: body bytes are expected and wanted
  wait_connection,  // paused (a): there is no upstream connection yet
  wait_continue,    // paused (b): Expect: 100-continue was forwarded, nothing has come back
  wait_room,        // paused (c): the upstream takes no bytes
  discarding,       // the response overtook the request; what is left of it is read and dropped
  done,  // the request is complete, or a FIN behind a faulty one says that nothing more comes
};

// The response, seen from the client's socket.
enum class Out : std::uint8_t {
  serving,  // the upstream's turn: nothing waits for the client
  sending,  // the client's turn: response bytes wait for it
  done,     // complete, and all of it is with the kernel
};

// The upstream connection of this exchange.
enum class Attempt : std::uint8_t {
  none,       // hushgate answers by itself, or the attempt has failed
  opening,    // looking for a connection: names, addresses, ports, handshakes, backoff
  waiting,    // the request is on its way; no byte of a final response yet
  answering,  // the final head has come, the body has not ended
  finished,   // the response is complete
};

// May the request be sent again if the attempt fails before any byte of its response (section 2)?
enum class Replay : std::uint8_t {
  never,    // a byte has come, or there is no attempt
  refused,  // only if the upstream proves that it did not process it
  once,     // safe bodyless: also if its fate is unknown, and then no more
};

// What follows the exchange.
enum class After : std::uint8_t { keep, close };

struct State {
  Conn conn = Conn::fresh;
  In in = In::done;
  Out out = Out::done;
  Attempt attempt = Attempt::none;
  Replay replay = Replay::never;
  After after = After::keep;
  bool expects_continue = false;  // the client waits for a 100: no 1xx and no final head has come,
                                  // and no byte of the body
  bool answered = false;  // a final head, the upstream's or our own, is on its way to the client

  friend bool operator==(const State&, const State&) = default;
};

enum class Event : std::uint8_t {
  // From the client.
  client_bytes,   // fresh, kept: the first of a head; head, closing: more of it; otherwise: body or
                  // tunnel bytes
  head_safe,      // a head is complete: safe bodyless
  head_bodyless,  // ... unsafe, without a body (an Upgrade too)
  head_body,      // ... with a body
  head_expect,    // ... with a body and Expect: 100-continue
  head_local,     // ... without a body, and hushgate answers it by itself
  head_local_body,  // ... with a body (behind an Expect `last` comes first), the same
  refused,          // the head or the body is faulty or too large: an error answer, then closing
  body_end,         // the request's last byte
  fin_with,         // FIN within 100 ms of the request's last byte, or halfClose: serve
  fin_later,        // FIN after that
  reset,            // RST, or dead by keep-alive
  takes_not,        // response bytes (interim ones too) wait for it
  takes,            // nothing waits for it any more
  // From the upstream.
  connected,      // a connection is there; the request goes out
  not_connected,  // nothing was submitted, and every way was tried
  answer_bytes,   // the first bytes of a response, before its head is complete
  interim,        // a 1xx
  upgraded,       // a 101 that was asked for, or a 2xx to CONNECT
  answer_head,    // the final head
  answer_end,     // the response's last byte
  local_end,      // hushgate's own answer has been written
  upstream_lost,  // EOF, reset or nonsense before the response was complete
  unprocessed,    // before any byte of a response: the upstream has proved that it did not process
                  // the request (RFC 9113 section 8.7), all of which is still held
  upstream_full,  // it takes no more request bytes
  upstream_room,  // it takes them again
  tunnel_end,     // both directions of the tunnel have ended
  // From the clocks and from above.
  client_deadline,    // the running client clock has run out
  upstream_deadline,  // the running upstream clock has run out
  discard_over,       // what is left of an overtaken request is too much, or of unknown length
  drained,            // closing: the client has closed too, or sent lingerBytes
  last,        // nothing may follow this exchange: one side said close, or the process is stopping
  grace_over,  // the stop's grace has ended
};
inline constexpr int kEvents = static_cast<int>(Event::grace_over) + 1;

// What the client sees of a step.
enum class ClientEffect : std::uint8_t {
  none,
  answer,  // an error response: 4xx/5xx by the error's kind
  cut,     // the response stays visibly incomplete
  keep,    // the exchange has ended well; the connection is kept
  linger,  // shutdown(WR), then `closing`
  close,   // closed, silently: no response is half out
};

// What the upstream sees of a step.
enum class UpstreamEffect : std::uint8_t {
  none,
  open,    // an attempt begins: a connection from the pool if the request is safe bodyless, else a
           // new one
  reopen,  // the failed attempt is repeated, on another connection
  finish,  // the exchange with it is complete: pooled, or closed after its FIN
  abort,   // reset
};

struct Step {
  State state;
  ClientEffect client = ClientEffect::none;
  UpstreamEffect upstream = UpstreamEffect::none;
};

// Can this event happen in this state? step() asserts it.
bool applicable(const State& state, Event event);
Step step(const State& state, Event event);

// The clock of the client's side. Each comment: what it bounds, from which event it runs.
enum class ClientClock : std::uint8_t {
  none,
  idle,     // idleTimeoutMs from the accept or the exchange's end
  head,     // min(idleTimeoutMs, requestTimeoutMs, 60 s) from the head's first byte
  receive,  // requestTimeoutMs from the head's first byte plus received bytes ÷
            // minUploadBytesPerSecond; stands still in every other state
  send,     // sendTimeoutMs windows, from when bytes first waited
  tunnel,  // tunnelIdleTimeoutMs from the last byte either way, if set; `send` while bytes wait for
           // the client
  linger,  // 2 s from the last byte once all is acknowledged, 30 s (after a 408: 2 s) in all
};

// The clock of the upstream's side.
enum class UpstreamClock : std::uint8_t {
  none,
  connect,  // connectTimeoutMs per address, connectTotalMs in all, from the attempt's begin
  silence,  // upstreamTimeoutMs from the last request byte, the last response byte, or the pause of
            // (b) and (c)
  send,     // tunnel: sendTimeoutMs windows, from when bytes first waited for the upstream
};

ClientClock client_clock(const State& state);
UpstreamClock upstream_clock(const State& state);

// The phase that is shown to people: closing > tunnel > sending > receiving > serving > idle.
enum class Shown : std::uint8_t { idle, receiving, serving, sending, tunnel, closing };
Shown shown(const State& state);

inline bool is_paused(In in) {
  return in == In::wait_connection || in == In::wait_continue || in == In::wait_room;
}
// Are bytes of the body wanted from the client's socket? In wait_continue too: a client that does
// not wait for its 100, since the upstream may never send one, is served.
inline bool wants_body(const State& state) {
  return state.conn == Conn::exchange &&
         (state.in == In::reading || state.in == In::discarding || state.in == In::wait_continue);
}

std::string_view name(Conn conn);
std::string_view name(In in);
std::string_view name(Out out);
std::string_view name(Attempt attempt);
std::string_view name(Event event);
std::string_view name(ClientEffect effect);
std::string_view name(UpstreamEffect effect);
std::string_view name(ClientClock clock);
std::string_view name(UpstreamClock clock);
std::string_view name(Shown shown);

}  // namespace hushgate::proxy::phase
