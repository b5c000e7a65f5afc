#include "proxy/phase.h"

#include "base/assert.h"

namespace hushgate::proxy::phase {
namespace {

bool attempt_open(const State& s) {
  return s.attempt == Attempt::opening || s.attempt == Attempt::waiting ||
         s.attempt == Attempt::answering;
}

UpstreamEffect abort_if_open(const State& s) {
  return attempt_open(s) ? UpstreamEffect::abort : UpstreamEffect::none;
}

Step closed(State s, ClientEffect effect) {
  const UpstreamEffect upstream = abort_if_open(s);
  s = State{.conn = Conn::closed};
  return {s, effect, upstream};
}

Step linger(State s, ClientEffect effect) {
  const UpstreamEffect upstream = abort_if_open(s);
  s = State{.conn = Conn::closing};
  return {s, effect, upstream};
}

// Whose failure an answer tells of. What the client did wrong (400, 408, 413, 431) leaves a request
// that cannot be followed.
enum class Fault : std::uint8_t { client, upstream };

// An error answer of hushgate's own takes the response's place. Interim bytes that wait still wait.
// After an Expect nobody knows whether the body will come.
Step answer(State s, Fault fault) {
  const UpstreamEffect upstream = abort_if_open(s);
  s.conn = Conn::exchange;
  s.attempt = Attempt::none;
  s.replay = Replay::never;
  s.answered = true;
  if (s.out != Out::sending) s.out = Out::serving;
  if (s.in != In::done) {
    if (fault == Fault::client || s.expects_continue) s.after = After::close;
    s.in = In::discarding;
  }
  s.expects_continue = false;
  return {s, ClientEffect::answer, upstream};
}

// Before a final head has left, a failure is answered; afterwards it can only cut.
Step answer_or_cut(const State& s, Fault fault) {
  return s.answered ? linger(s, ClientEffect::cut) : answer(s, fault);
}

// Nobody is left to serve. A client that only half-closed must still see that its response is not
// complete.
Step gone(const State& s) {
  const bool half_out = s.answered && s.out != Out::done;
  return closed(s, half_out ? ClientEffect::cut : ClientEffect::close);
}

// The response is complete and with the kernel. `s.out` is done.
Step response_over(State s, UpstreamEffect upstream) {
  if (s.after == After::close) {
    s = State{.conn = Conn::closing};
    return {s, ClientEffect::linger, upstream};
  }
  if (s.in == In::discarding) return {s, ClientEffect::none, upstream};
  s = State{.conn = Conn::kept};
  return {s, ClientEffect::keep, upstream};
}

Step begin_exchange(State s, Event event) {
  s.conn = Conn::exchange;
  s.out = Out::serving;
  s.in = In::done;
  s.attempt = Attempt::opening;
  s.replay = Replay::refused;
  s.answered = false;
  switch (event) {
    case Event::head_safe: s.replay = Replay::once; break;
    case Event::head_bodyless: break;
    case Event::head_body: s.in = In::wait_connection; break;
    case Event::head_expect:
      s.in = In::wait_connection;
      s.expects_continue = true;
      break;
    default:  // head_local, head_local_body
      s.attempt = Attempt::none;
      s.replay = Replay::never;
      s.answered = true;
      if (event == Event::head_local_body) s.in = In::discarding;
      return {s};
  }
  return {s, ClientEffect::none, UpstreamEffect::open};
}

Step step_before_exchange(State s, Event event) {
  switch (event) {
    case Event::client_bytes: s.conn = Conn::head; return {s};
    case Event::head_safe:
    case Event::head_bodyless:
    case Event::head_body:
    case Event::head_expect:
    case Event::head_local:
    case Event::head_local_body: return begin_exchange(s, event);
    case Event::refused: s.in = In::discarding; return answer(s, Fault::client);
    case Event::client_deadline:
      if (s.conn != Conn::head) {
        return s.after == After::close ? linger(s, ClientEffect::linger)
                                       : closed(s, ClientEffect::close);
      }
      s.in = In::discarding;
      return answer(s, Fault::client);
    case Event::last: s.after = After::close; return {s};
    default:
      return closed(s, ClientEffect::close);  // FIN, reset, the grace's end: nobody to answer
  }
}

// What was to be dropped is faulty: that costs the connection, but not the response.
Step refused(State s) {
  if (s.in != In::discarding) return answer_or_cut(s, Fault::client);
  s.after = After::close;
  return s.out == Out::done ? linger(s, ClientEffect::linger) : Step{s};
}

Step fin(State s, Event event) {
  if (s.in == In::done && event == Event::fin_with) return {s};  // it waits for its answer
  if (s.attempt == Attempt::none && s.out != Out::done) {
    // `printf 'nonsense' | nc`: its 400 is being written, and there is no attempt to cancel.
    s.in = In::done;
    s.after = After::close;
    return {s};
  }
  return gone(s);
}

Step step_from_client(State s, Event event) {
  switch (event) {
    case Event::refused: return refused(s);
    case Event::body_end:
      s.in = In::done;
      s.expects_continue = false;
      return s.out == Out::done ? response_over(s, UpstreamEffect::none) : Step{s};
    case Event::fin_with:
    case Event::fin_later: return fin(s, event);
    case Event::reset: return gone(s);
    case Event::takes_not: s.out = Out::sending; return {s};
    case Event::takes: s.out = Out::serving; return {s};
    default:  // client_bytes: one that does not wait for the 100 it asked for has its turn again
      if (s.in == In::wait_continue) {
        s.in = In::reading;
        s.expects_continue = false;
      }
      return {s};
  }
}

Step answer_head(State s) {
  s.attempt = Attempt::answering;
  s.replay = Replay::never;
  s.answered = true;
  s.expects_continue = false;
  if (s.in == In::wait_continue) {
    // The client may send the body or leave it out; what it sends next can be told for neither.
    s.in = In::discarding;
    s.after = After::close;
  }
  return {s};
}

Step answer_end(State s) {
  const bool overtaken = s.in != In::done;
  s.attempt = Attempt::finished;
  s.out = Out::done;
  if (overtaken) s.in = In::discarding;
  return response_over(s, overtaken ? UpstreamEffect::abort : UpstreamEffect::finish);
}

Step upstream_lost(State s) {
  if (s.attempt == Attempt::waiting && s.replay == Replay::once) {
    s.replay = Replay::refused;
    s.attempt = Attempt::opening;
    return {s, ClientEffect::none, UpstreamEffect::reopen};
  }
  return answer_or_cut(s, Fault::upstream);
}

// Nothing has acted, so the one replay of a safe request is not used up.
Step unprocessed(State s) {
  s.attempt = Attempt::opening;
  if (s.in != In::done) s.in = In::wait_connection;
  return {s, ClientEffect::none, UpstreamEffect::reopen};
}

Step step_from_upstream(State s, Event event) {
  switch (event) {
    case Event::connected:
      s.attempt = Attempt::waiting;
      if (s.in == In::wait_connection) s.in = s.expects_continue ? In::wait_continue : In::reading;
      return {s};
    case Event::answer_bytes: s.replay = Replay::never; return {s};
    case Event::interim:
      s.replay = Replay::never;
      s.expects_continue = false;
      if (s.in == In::wait_continue) s.in = In::reading;
      return {s};
    case Event::upgraded:
      return {State{.conn = Conn::tunnel, .in = In::reading, .out = Out::serving}};
    case Event::answer_head: return answer_head(s);
    case Event::answer_end: return answer_end(s);
    case Event::local_end: s.out = Out::done; return response_over(s, UpstreamEffect::none);
    case Event::upstream_lost: return upstream_lost(s);
    case Event::unprocessed: return unprocessed(s);
    case Event::upstream_full: s.in = In::wait_room; return {s};
    case Event::upstream_room: s.in = In::reading; return {s};
    default: return answer(s, Fault::upstream);  // not_connected
  }
}

Step step_from_above(State s, Event event) {
  switch (event) {
    case Event::client_deadline:
      if (s.out == Out::sending) return closed(s, ClientEffect::cut);
      return s.answered ? linger(s, ClientEffect::linger) : answer(s, Fault::client);
    case Event::upstream_deadline: return answer_or_cut(s, Fault::upstream);
    case Event::discard_over: return linger(s, ClientEffect::linger);
    case Event::last: s.after = After::close; return {s};
    default:  // grace_over
      return closed(s, s.out == Out::done ? ClientEffect::close : ClientEffect::cut);
  }
}

Step step_tunnel(State s, Event event) {
  switch (event) {
    case Event::client_bytes:
    case Event::fin_with:
    case Event::fin_later:
    case Event::last: return {s};
    case Event::tunnel_end:
      return {State{.conn = Conn::closed}, ClientEffect::close, UpstreamEffect::finish};
    case Event::takes_not:
    case Event::takes: s.out = event == Event::takes ? Out::serving : Out::sending; return {s};
    case Event::upstream_full:
    case Event::upstream_room:
      s.in = event == Event::upstream_room ? In::reading : In::wait_room;
      return {s};
    default: return {State{.conn = Conn::closed}, ClientEffect::cut, UpstreamEffect::abort};
  }
}

Step step_closing(const State& s, Event event) {
  if (event == Event::client_bytes || event == Event::last) return {s};
  return closed(s, ClientEffect::close);
}

bool applicable_to_exchange(const State& s, Event event) {
  switch (event) {
    case Event::client_bytes:
    case Event::refused:
    case Event::body_end: return wants_body(s);
    case Event::takes_not:  // a request that may be sent again has had no interim response
      return s.out == Out::serving &&
             (s.answered || (s.attempt == Attempt::waiting && s.replay == Replay::never));
    case Event::takes: return s.out == Out::sending;
    case Event::connected:
    case Event::not_connected: return s.attempt == Attempt::opening;
    case Event::answer_bytes: return s.attempt == Attempt::waiting;
    case Event::interim:
    case Event::answer_head: return s.attempt == Attempt::waiting && s.out == Out::serving;
    case Event::upgraded:
      return s.attempt == Attempt::waiting && s.in == In::done && s.replay != Replay::once &&
             s.out == Out::serving;
    case Event::answer_end: return s.attempt == Attempt::answering && s.out == Out::serving;
    case Event::local_end: return s.attempt == Attempt::none && s.out == Out::serving;
    case Event::upstream_lost:
      return s.attempt == Attempt::waiting || s.attempt == Attempt::answering;
    case Event::unprocessed:
      return s.attempt == Attempt::waiting && s.replay != Replay::never && s.out == Out::serving;
    case Event::upstream_full: return attempt_open(s) && s.in == In::reading;
    case Event::upstream_room: return attempt_open(s) && s.in == In::wait_room;
    case Event::client_deadline: return client_clock(s) != ClientClock::none;
    case Event::upstream_deadline: return upstream_clock(s) != UpstreamClock::none;
    case Event::discard_over: return s.in == In::discarding && s.out == Out::done;
    case Event::fin_with:
    case Event::fin_later:
    case Event::reset:
    case Event::last:
    case Event::grace_over: return true;
    default: return false;
  }
}

bool applicable_to_tunnel(const State& s, Event event) {
  switch (event) {
    case Event::takes_not: return s.out == Out::serving;
    case Event::takes: return s.out == Out::sending;
    case Event::upstream_full: return s.in == In::reading;
    case Event::upstream_room: return s.in == In::wait_room;
    case Event::upstream_deadline: return upstream_clock(s) != UpstreamClock::none;
    case Event::client_bytes:
    case Event::fin_with:
    case Event::fin_later:
    case Event::reset:
    case Event::upstream_lost:
    case Event::tunnel_end:
    case Event::client_deadline:
    case Event::last:
    case Event::grace_over: return true;
    default: return false;
  }
}

}  // namespace

bool applicable(const State& s, Event event) {
  switch (s.conn) {
    case Conn::fresh:
    case Conn::kept:
      return event == Event::client_bytes || event == Event::fin_with ||
             event == Event::fin_later || event == Event::reset ||
             event == Event::client_deadline || event == Event::last || event == Event::grace_over;
    case Conn::head:
      return (event >= Event::client_bytes && event <= Event::refused) ||
             event == Event::fin_with || event == Event::fin_later || event == Event::reset ||
             event == Event::client_deadline || event == Event::last || event == Event::grace_over;
    case Conn::exchange: return applicable_to_exchange(s, event);
    case Conn::tunnel: return applicable_to_tunnel(s, event);
    case Conn::closing:
      return event == Event::client_bytes || event == Event::fin_with ||
             event == Event::fin_later || event == Event::reset || event == Event::drained ||
             event == Event::client_deadline || event == Event::last || event == Event::grace_over;
    case Conn::closed: return false;
  }
  return false;
}

Step step(const State& s, Event event) {
  HG_ASSERT(applicable(s, event));
  switch (s.conn) {
    case Conn::fresh:
    case Conn::kept:
    case Conn::head: return step_before_exchange(s, event);
    case Conn::tunnel: return step_tunnel(s, event);
    case Conn::closing: return step_closing(s, event);
    default: break;
  }
  if (event <= Event::takes) return step_from_client(s, event);
  if (event <= Event::tunnel_end) return step_from_upstream(s, event);
  return step_from_above(s, event);
}

ClientClock client_clock(const State& s) {
  switch (s.conn) {
    case Conn::fresh:
    case Conn::kept: return ClientClock::idle;
    case Conn::head: return ClientClock::head;
    case Conn::tunnel: return s.out == Out::sending ? ClientClock::send : ClientClock::tunnel;
    case Conn::closing: return ClientClock::linger;
    case Conn::closed: return ClientClock::none;
    case Conn::exchange: break;
  }
  if (s.out == Out::sending) return ClientClock::send;
  if (s.in == In::reading && !s.answered) return ClientClock::receive;
  if (s.in == In::discarding && s.out == Out::done) return ClientClock::receive;
  return ClientClock::none;
}

UpstreamClock upstream_clock(const State& s) {
  if (s.conn == Conn::tunnel) {
    return s.in == In::wait_room ? UpstreamClock::send : UpstreamClock::none;
  }
  if (s.conn != Conn::exchange || s.out == Out::sending) return UpstreamClock::none;
  switch (s.attempt) {
    case Attempt::opening: return UpstreamClock::connect;
    case Attempt::waiting:
      return s.in == In::reading ? UpstreamClock::none : UpstreamClock::silence;
    case Attempt::answering: return UpstreamClock::silence;
    default: return UpstreamClock::none;
  }
}

Shown shown(const State& s) {
  if (s.conn == Conn::closing || s.conn == Conn::closed) return Shown::closing;
  if (s.conn == Conn::tunnel) return Shown::tunnel;
  if (s.conn != Conn::exchange) return Shown::idle;
  if (s.out == Out::sending) return Shown::sending;
  if (s.in == In::reading || s.in == In::discarding) return Shown::receiving;
  return Shown::serving;
}

}  // namespace hushgate::proxy::phase
