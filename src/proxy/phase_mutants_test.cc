// The proof that the enumeration can fail: tables that break the contract in one place each.
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "proxy/phase_witness.h"

namespace hushgate::proxy::phase {
namespace {

struct Mutant {
  const char* what;
  const char* caught_by;  // a part of the broken rule
  Law law;
};

Step with(Step step, Conn conn, ClientEffect client) {
  step.state = State{.conn = conn};
  step.client = client;
  return step;
}

State without_replay(State s, Event event) {
  if (event == Event::takes_not) s.replay = Replay::never;
  return s;
}

const Mutant kMutants[] = {
    {"an unsafe request is replayed",
     "unsafe request is never sent again",
     {.step =
          [](const State& s, Event e) {
            if (e != Event::upstream_lost || s.attempt != Attempt::waiting || s.in != In::done)
              return step(s, e);
            State to = s;
            to.attempt = Attempt::opening;
            to.replay = Replay::never;
            return Step{to, ClientEffect::none, UpstreamEffect::reopen};
          }}},
    {"a safe request is replayed for ever",
     "at most twice",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::upstream_lost && to.upstream == UpstreamEffect::reopen)
              to.state.replay = Replay::once;
            return to;
          }}},
    {"what is proved unprocessed is a failure",
     "proved unprocessed is sent again",
     {.step = [](const State& s,
                 Event e) { return step(s, e == Event::unprocessed ? Event::upstream_lost : e); }}},
    {"a refusal uses up the replay of a safe request",
     "stale connection does not fail",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::unprocessed) to.state.replay = Replay::refused;
            return to;
          }}},
    {"a replay uses up what a refusal allows",
     "whatever a peer can do",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::upstream_lost) to.state.replay = Replay::never;
            return to;
          }}},
    {"a refused upload's body is wanted before there is a connection",
     "client's clock",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::unprocessed) to.state.in = s.in;
            return to;
          },
      .client_clock =
          [](const State& s) {
            return s.in == In::reading && s.attempt == Attempt::opening ? ClientClock::receive
                                                                        : client_clock(s);
          }}},
    {"a refusal behind an interim response is believed",
     "what cannot happen",
     {.applicable =
          [](const State& s, Event e) {
            State from = s;
            if (e == Event::unprocessed && s.attempt == Attempt::waiting)
              from.replay = Replay::refused;
            return applicable(from, e);
          }}},
    {"a request is replayed after a byte of its response",
     "after a byte of its response",
     {.step =
          [](const State& s, Event e) {
            if (e != Event::upstream_lost || s.attempt != Attempt::waiting ||
                s.replay != Replay::never || s.in != In::done)
              return step(s, e);
            State to = s;
            to.attempt = Attempt::opening;
            return Step{to, ClientEffect::none, UpstreamEffect::reopen};
          }}},
    {"an interim response does not count as a byte",
     "what cannot happen",
     {.applicable = [](const State& s, Event e) { return applicable(without_replay(s, e), e); },
      .step =
          [](const State& s, Event e) {
            Step to = step(without_replay(s, e), e);
            if (e == Event::interim || e == Event::takes_not) to.state.replay = s.replay;
            return to;
          }}},
    {"half a head does not count as a byte",
     "what cannot happen",
     {.applicable = [](const State& s, Event e) { return applicable(without_replay(s, e), e); },
      .step =
          [](const State& s, Event e) {
            Step to = step(without_replay(s, e), e);
            if (e == Event::answer_bytes || e == Event::takes_not) to.state.replay = s.replay;
            return to;
          }}},
    {"a timeout is retried",
     "never a timeout",
     {.step =
          [](const State& s, Event e) {
            return step(s, e == Event::upstream_deadline && s.attempt == Attempt::waiting &&
                                   s.replay == Replay::once
                               ? Event::upstream_lost
                               : e);
          }}},
    {"a stale connection fails a GET",
     "stale connection does not fail",
     {.step =
          [](const State& s, Event e) {
            State from = s;
            if (e == Event::upstream_lost) from.replay = Replay::never;
            return step(from, e);
          }}},
    {"the receive clock runs while paused",
     "client's clock",
     {.client_clock =
          [](const State& s) {
            return s.conn == Conn::exchange && is_paused(s.in) && s.out == Out::serving
                       ? ClientClock::receive
                       : client_clock(s);
          }}},
    {"the receive clock runs in a duplex exchange",
     "client's clock",
     {.client_clock =
          [](const State& s) {
            return s.conn == Conn::exchange && s.in == In::reading && s.answered &&
                           s.out == Out::serving
                       ? ClientClock::receive
                       : client_clock(s);
          }}},
    {"the sweeper ends a silent upstream",
     "client's clock",
     {.client_clock =
          [](const State& s) {
            return s.conn == Conn::exchange && s.attempt == Attempt::waiting &&
                           s.out == Out::serving
                       ? ClientClock::receive
                       : client_clock(s);
          }}},
    {"the upstream is blamed for a slow client",
     "upstream's clock",
     {.upstream_clock =
          [](const State& s) {
            return s.conn == Conn::exchange && s.out == Out::sending &&
                           s.attempt == Attempt::answering
                       ? UpstreamClock::silence
                       : upstream_clock(s);
          }}},
    {"an upstream that takes nothing has no clock",
     "upstream's clock",
     {.upstream_clock =
          [](const State& s) {
            return s.in == In::wait_room ? UpstreamClock::none : upstream_clock(s);
          }}},
    {"an upload makes the upstream late",
     "upstream's clock",
     {.upstream_clock =
          [](const State& s) {
            return s.conn == Conn::exchange && s.attempt == Attempt::waiting &&
                           s.out == Out::serving
                       ? UpstreamClock::silence
                       : upstream_clock(s);
          }}},
    {"a blocked tunnel has no clock",
     "client's clock",
     {.client_clock =
          [](const State& s) {
            return s.conn == Conn::tunnel ? ClientClock::tunnel : client_clock(s);
          }}},
    {"closing has no clock",
     "client's clock",
     {.client_clock =
          [](const State& s) {
            return s.conn == Conn::closing ? ClientClock::none : client_clock(s);
          }}},
    {"a connection is kept in the middle of a request",
     "kept only when",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            return e == Event::answer_end && s.in == In::reading
                       ? with(to, Conn::kept, ClientEffect::keep)
                       : to;
          }}},
    {"an upstream connection is pooled in the middle of a request",
     "not used again",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::answer_end) to.upstream = UpstreamEffect::finish;
            return to;
          }}},
    {"a stop, or a Connection: close, is forgotten",
     "nothing follows the last exchange",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::last && s.conn == Conn::exchange) to.state.after = s.after;
            return to;
          }}},
    {"a 408 keeps the connection",
     "ends through closing",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::client_deadline && to.client == ClientEffect::answer)
              to.state.after = After::keep;
            return to;
          }}},
    {"a 400 is followed by close()",
     "ends through closing",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            return e == Event::local_end && to.client == ClientEffect::linger
                       ? with(to, Conn::closed, ClientEffect::close)
                       : to;
          }}},
    {"a 504 is sent behind half a response",
     "no answer after",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::upstream_deadline && s.answered) to.client = ClientEffect::answer;
            return to;
          }}},
    {"half a response ends as if it were whole",
     "half out is cut",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (to.client == ClientEffect::cut && to.state.conn == Conn::closed)
              to.client = ClientEffect::close;
            return to;
          }}},
    {"a whole response is cut",
     "complete response is not cut",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::refused && s.out == Out::done && s.conn == Conn::exchange)
              to.client = ClientEffect::cut;
            return to;
          }}},
    {"a client that has gone leaves its attempt running",
     "outlives",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::reset) to.upstream = UpstreamEffect::none;
            return to;
          }}},
    {"an answer of ours leaves its attempt running",
     "outlives",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (e == Event::upstream_deadline) to.upstream = UpstreamEffect::none;
            return to;
          }}},
    {"a FIN in the middle of a request is ignored",
     "gone ends everything",
     {.step =
          [](const State& s, Event e) {
            return e == Event::fin_with && s.conn == Conn::exchange ? Step{s} : step(s, e);
          }}},
    {"a later FIN is ignored",
     "gone ends everything",
     {.step =
          [](const State& s, Event e) {
            return e == Event::fin_later && s.in == In::done && s.conn == Conn::exchange
                       ? Step{s}
                       : step(s, e);
          }}},
    {"a half-close with the request cancels",
     "half-close with the request is served",
     {.step =
          [](const State& s, Event e) {
            return step(s, e == Event::fin_with && s.conn == Conn::exchange ? Event::fin_later : e);
          }}},
    {"closing is left again",
     "connection goes where",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (s.conn == Conn::closing && e == Event::client_bytes) to.state.conn = Conn::head;
            return to;
          }}},
    {"a client that does not wait for its 100 is not heard",
     "whatever a peer can do",
     {.applicable =
          [](const State& s, Event e) {
            return s.in != In::wait_continue ? applicable(s, e)
                                             : e != Event::client_bytes && applicable(s, e);
          }}},
    {"an answer of ours cannot wait for the client",
     "whatever a peer can do",
     {.applicable =
          [](const State& s, Event e) {
            return !(e == Event::takes_not && is_our_turn(s)) && applicable(s, e);
          }}},
    {"a body is asked for before the upstream has said continue",
     "client's clock",
     {.step =
          [](const State& s, Event e) {
            Step to = step(s, e);
            if (to.state.in == In::wait_continue) to.state.in = In::reading;
            return to;
          }}},
};

TEST(PhaseMutants, EveryMutantIsCaughtWithinDepthEight) {
  for (const Mutant& mutant : kMutants) {
    const Graph graph(mutant.law);
    EXPECT_NE(graph.broken().find(mutant.caught_by), std::string::npos)
        << mutant.what << ": \"" << graph.broken() << "\" after " << graph.order();
    EXPECT_LE(graph.depth_of_breach(), kDepth) << mutant.what;
  }
  report("mutants", std::size(kMutants));
}

}  // namespace
}  // namespace hushgate::proxy::phase
