// What the contract's words say to each event: the rules that every step is held against.
#include "proxy/phase_witness.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace hushgate::proxy::phase {

ClientClock Witness::client_clock() const {
  switch (conn) {
    case Conn::fresh:
    case Conn::kept: return ClientClock::idle;
    case Conn::head: return ClientClock::head;
    case Conn::tunnel: return waits ? ClientClock::send : ClientClock::tunnel;
    case Conn::closing: return ClientClock::linger;
    case Conn::closed: return ClientClock::none;
    case Conn::exchange: break;
  }
  if (waits) return ClientClock::send;
  if (!clients_turn()) return ClientClock::none;
  if (discards) return over ? ClientClock::receive : ClientClock::none;
  return final == Final::none ? ClientClock::receive : ClientClock::none;
}

UpstreamClock Witness::upstream_clock() const {
  if (conn == Conn::tunnel) return full ? UpstreamClock::send : UpstreamClock::none;
  if (!in_exchange() || waits || !open) return UpstreamClock::none;
  if (!connected) return UpstreamClock::connect;
  const bool owes = final != Final::none || complete || awaits || full;
  return owes ? UpstreamClock::silence : UpstreamClock::none;
}

Shown Witness::shown() const {
  if (conn == Conn::closing || conn == Conn::closed) return Shown::closing;
  if (conn == Conn::tunnel) return Shown::tunnel;
  if (!in_exchange()) return Shown::idle;
  if (waits) return Shown::sending;
  return clients_turn() ? Shown::receiving : Shown::serving;
}

// Can the world do this now? The table must know what follows, or a peer's bytes would end in an
// assertion.
bool Witness::possible(Event event) const {
  const bool tunnel = conn == Conn::tunnel;
  const bool upstream_speaks = in_exchange() && open && connected && final == Final::none && !waits;
  if (conn == Conn::closed) return false;
  switch (event) {
    case Event::fin_with:
    case Event::fin_later:
    case Event::reset:
    case Event::last:
    case Event::grace_over: return true;
    case Event::client_bytes: return !in_exchange() || reads_body();
    case Event::head_safe:
    case Event::head_bodyless:
    case Event::head_body:
    case Event::head_expect:
    case Event::head_local:
    case Event::head_local_body: return conn == Conn::head;
    case Event::refused: return conn == Conn::head || reads_body();
    case Event::body_end: return reads_body();
    case Event::takes_not: return !waits && (tunnel || half_out() || (interim && !over));
    case Event::takes: return waits;
    case Event::connected:
    case Event::not_connected: return in_exchange() && open && !connected;
    case Event::answer_bytes: return in_exchange() && open && connected && final == Final::none;
    case Event::interim:
    case Event::answer_head: return upstream_speaks;
    case Event::upgraded: return upstream_speaks && kind == Kind::bodyless;
    case Event::answer_end: return final == Final::upstreams && !over && !waits;
    case Event::local_end: return final == Final::ours && !over && !waits;
    case Event::upstream_lost: return tunnel || (open && connected);
    case Event::unprocessed: return upstream_speaks && !spoke;
    case Event::upstream_full: return !full && (tunnel || (clients_turn() && !discards));
    case Event::upstream_room: return full;
    case Event::tunnel_end: return tunnel;
    case Event::client_deadline: return client_clock() != ClientClock::none;
    case Event::upstream_deadline: return upstream_clock() != UpstreamClock::none;
    case Event::discard_over: return discards && over;
    case Event::drained: return conn == Conn::closing;
  }
  return false;
}

// What an event tells by itself.
void Witness::note(Event event) {
  const bool in_head = conn == Conn::head;
  if (event >= Event::head_safe && event <= Event::head_local_body) {
    conn = Conn::exchange;
    complete =
        event != Event::head_body && event != Event::head_expect && event != Event::head_local_body;
  }
  switch (event) {
    case Event::client_bytes:
      if (conn == Conn::fresh || conn == Conn::kept) conn = Conn::head;
      if (conn == Conn::exchange) awaits = false;
      break;
    case Event::head_safe: kind = Kind::safe; break;
    case Event::head_bodyless: kind = Kind::bodyless; break;
    case Event::head_body: kind = Kind::body; break;
    case Event::head_expect:
      kind = Kind::expect;
      awaits = true;
      break;
    case Event::head_local:
    case Event::head_local_body:
      kind = Kind::local;
      final = Final::ours;
      discards = !complete;
      break;
    case Event::refused: must_close = true; break;
    case Event::body_end:
      complete = true;
      awaits = discards = false;
      break;
    case Event::fin_with:
    case Event::fin_later:
      if (final == Final::ours && !over && !(complete && event == Event::fin_with)) {
        complete = must_close = true;  // nothing more comes, and nothing follows
        discards = false;
      }
      break;
    case Event::takes_not: waits = true; break;
    case Event::takes: waits = false; break;
    case Event::connected: connected = true; break;
    case Event::answer_bytes: spoke = true; break;
    case Event::interim:
      interim = spoke = true;
      awaits = false;
      break;
    case Event::upgraded:
      conn = Conn::tunnel;
      full = false;
      break;
    case Event::answer_head:
      final = Final::upstreams;
      if (awaits) must_close = discards = true;
      awaits = false;
      break;
    case Event::answer_end:
    case Event::local_end:
      over = true;
      discards = !complete;
      full = false;
      break;
    case Event::upstream_full: full = true; break;
    case Event::upstream_room: full = false; break;
    case Event::client_deadline:
      if (in_head || (in_exchange() && !complete)) must_close = true;
      break;
    case Event::last: last = conn != Conn::tunnel && conn != Conn::closing; break;
    default: break;
  }
  if (in_head && (event == Event::refused || event == Event::client_deadline)) {
    kind = Kind::refused;
    conn = Conn::exchange;
  }
}

Broken Witness::upstream_sees(Event event, const Step& step, const Witness& was) {
  const bool asks = event >= Event::head_safe && event <= Event::head_expect;
  if (asks && step.upstream != UpstreamEffect::open) return "a request that is to be sent is sent";
  switch (step.upstream) {
    case UpstreamEffect::none: return nullptr;
    case UpstreamEffect::open:
      if (!asks || was.asked) return "an exchange begins one attempt, with its head";
      asked = open = true;
      return nullptr;
    case UpstreamEffect::reopen:
      if (event != Event::unprocessed) {
        if (kind != Kind::safe) return "an unsafe request is never sent again";
        if (was.replayed) return "a safe request is sent at most twice";
        replayed = true;
      }
      if (was.spoke || was.final != Final::none)
        return "nothing is sent again after a byte of its response";
      if ((event != Event::upstream_lost && event != Event::unprocessed) || !was.connected)
        return "only a lost connection is repeated, never a timeout";
      connected = full = false;
      return nullptr;
    case UpstreamEffect::finish:
      if (!was.open) return "an attempt ends once";
      if (event != Event::tunnel_end && !(over && complete))
        return "an upstream connection in the middle of an exchange is not used again";
      open = connected = false;
      return nullptr;
    case UpstreamEffect::abort:
      if (!was.open) return "an attempt ends once";
      if (over && complete) return "an exchange that ended well is not reset";
      open = connected = false;
      return nullptr;
  }
  return "an effect without a meaning";
}

Broken Witness::client_sees(Event event, const Step& step, const Witness& was) {
  const Conn to = step.state.conn;
  switch (step.client) {
    case ClientEffect::none: break;
    case ClientEffect::answer:
      if (was.final != Final::none) return "no answer after a response has begun";
      final = Final::ours;
      discards = !complete;
      if (awaits) must_close = true;
      awaits = full = false;
      break;
    case ClientEffect::cut:
      if (over) return "a complete response is not cut";
      if (to != Conn::closing && to != Conn::closed) return "nothing follows a cut";
      conn = to;
      break;
    case ClientEffect::keep:
      if (!over || !complete || waits) return "kept only when request and response are complete";
      if (must_close) return "a faulty request ends through closing";
      if (last) return "nothing follows the last exchange";
      conn = Conn::kept;
      break;
    case ClientEffect::linger:
      if (in_exchange() && !over) return "a response that is half out is cut visibly";
      conn = Conn::closing;
      break;
    case ClientEffect::close:
      if (half_out()) return "a response that is half out is cut visibly";
      if (over && !complete && event != Event::fin_with && event != Event::fin_later &&
          event != Event::reset && event != Event::grace_over)
        return "a faulty request ends through closing";
      if (must_close && in_exchange() && event == Event::local_end)
        return "a faulty request ends through closing";
      conn = Conn::closed;
      break;
  }
  if (conn != to) return "the connection goes where the client was told";
  return nullptr;
}

// What must follow when a clock runs out.
Broken Witness::owed_to_clocks(Event event, const Step& step, const Witness& was) const {
  const ClientEffect effect = step.client;
  if (event == Event::upstream_deadline) {
    const bool answerable = was.in_exchange() && was.final == Final::none;
    return effect == (answerable ? ClientEffect::answer : ClientEffect::cut)
               ? nullptr
               : "an upstream that is silent too long is a 504, or a cut";
  }
  switch (was.client_clock()) {
    case ClientClock::idle:
      if (effect != (was.last ? ClientEffect::linger : ClientEffect::close))
        return "an idle connection is closed silently";
      break;
    case ClientClock::head:
      if (effect != ClientEffect::answer) return "a slow head is a 408";
      break;
    case ClientClock::receive:
      if (effect != (was.over ? ClientEffect::linger : ClientEffect::answer))
        return "a slow body is a 408, or closing";
      break;
    case ClientClock::send:
    case ClientClock::tunnel:
      if (effect != ClientEffect::cut || conn != Conn::closed)
        return "a client that takes nothing is cut and closed";
      break;
    case ClientClock::linger:
      if (conn != Conn::closed) return "closing ends in closed";
      break;
    case ClientClock::none: return "a clock that does not run cannot run out";
  }
  return nullptr;
}

Broken Witness::owed_at_the_end(const Step& step) const {
  if (must_close || last) {
    return step.client == ClientEffect::linger ? nullptr : "a faulty request ends through closing";
  }
  if (complete)
    return step.client == ClientEffect::keep ? nullptr
                                             : "an exchange that ended well keeps the connection";
  return step.client == ClientEffect::none ? nullptr : "an overtaken request is read away first";
}

// What must follow an event.
Broken Witness::owed(Event event, const State& before, const Step& step, const Witness& was) const {
  const bool nothing = step.client == ClientEffect::none && step.upstream == UpstreamEffect::none;
  switch (event) {
    case Event::client_deadline:
    case Event::upstream_deadline: return owed_to_clocks(event, step, was);
    case Event::answer_end:
    case Event::local_end: return owed_at_the_end(step);
    case Event::body_end:
      return over      ? owed_at_the_end(step)
             : nothing ? nullptr
                       : "a complete request waits for its response";
    case Event::upstream_lost:
      if (was.conn == Conn::tunnel)
        return conn == Conn::closed ? nullptr : "a lost tunnel closes both ways";
      if (was.kind == Kind::safe && !was.replayed && !was.spoke && was.final == Final::none)
        return step.upstream == UpstreamEffect::reopen
                   ? nullptr
                   : "a stale connection does not fail a safe request";
      [[fallthrough]];
    case Event::not_connected:
      return step.client == (was.half_out() ? ClientEffect::cut : ClientEffect::answer)
                 ? nullptr
                 : "a failure is answered, or cuts";
    case Event::unprocessed:
      return step.upstream == UpstreamEffect::reopen && step.client == ClientEffect::none
                 ? nullptr
                 : "what was proved unprocessed is sent again";
    case Event::reset:
    case Event::grace_over:
      return conn == Conn::closed ? nullptr : "a client that is gone ends everything at once";
    case Event::fin_with:
    case Event::fin_later:
      if (was.conn == Conn::tunnel)
        return nothing && step.state == before ? nullptr : "a half-close passes through a tunnel";
      if (was.in_exchange() && was.complete && event == Event::fin_with)
        return nothing && step.state == before ? nullptr
                                               : "a half-close with the request is served";
      if (was.final == Final::ours && !was.over)
        return nothing ? nullptr : "a FIN does not destroy an answer of ours";
      return conn == Conn::closed ? nullptr : "a client that is gone ends everything at once";
    case Event::refused:
      if (was.discards)
        return step.client == (was.over ? ClientEffect::linger : ClientEffect::none)
                   ? nullptr
                   : "what is read away cannot cut the response";
      return step.client == (was.half_out() ? ClientEffect::cut : ClientEffect::answer)
                 ? nullptr
                 : "a faulty request is answered, or cuts";
    case Event::discard_over:
      return step.client == ClientEffect::linger ? nullptr
                                                 : "too much to read away ends in closing";
    case Event::tunnel_end:
    case Event::drained:
      return step.client == ClientEffect::close ? nullptr : "the end of both directions closes";
    case Event::head_safe:
    case Event::head_bodyless:
    case Event::head_body:
    case Event::head_expect: return nullptr;
    default: return nothing ? nullptr : "nothing is done that nothing asked for";
  }
}

Broken Witness::clocks(const State& state, const Law& law) const {
  if (law.client_clock(state) != client_clock())
    return "the client's clock runs when it is the client's turn, and then only";
  if (law.upstream_clock(state) != upstream_clock())
    return "the upstream's clock runs while it owes something, and then only";
  if (phase::shown(state) != shown()) return "the shown phase is derived";
  for (int i = 0; i < kEvents; ++i) {
    const Event event = static_cast<Event>(i);
    const bool applicable = law.applicable(state, event);
    if (possible(event) && !applicable) return "whatever a peer can do has an answer";
    // A State does not know whether an interim or an Upgrade there was: there the table allows
    // more.
    if (applicable && !possible(event) && event != Event::takes_not && event != Event::upgraded)
      return "what cannot happen is an error of ours";
  }
  return nullptr;
}

Broken Witness::watch(Event event, const State& before, const Step& step, const Law& law) {
  const Witness was = *this;
  note(event);
  if (const Broken broken = upstream_sees(event, step, was)) return broken;
  if (const Broken broken = client_sees(event, step, was)) return broken;
  if (const Broken broken = owed(event, before, step, was)) return broken;
  const bool leaves = conn == Conn::kept || conn == Conn::closing || conn == Conn::closed;
  if (open && (leaves || over || final == Final::ours)) return "no attempt outlives its exchange";
  if (leaves) *this = Witness{.conn = conn, .last = last && conn == Conn::kept};
  return clocks(step.state, law);
}

void report(const char* what, std::uint64_t count) {
  std::printf("%s: %llu\n", what, static_cast<unsigned long long>(count));
  ::testing::Test::RecordProperty(what, std::to_string(count));
}
bool is_our_turn(const State& s) {
  return s.conn == Conn::exchange && s.attempt == Attempt::none && s.out == Out::serving;
}

}  // namespace hushgate::proxy::phase
