// The names of the table's values, for logs, the admin page and docs/phases.md: as in the enums.
#include "proxy/phase.h"

namespace hushgate::proxy::phase {

std::string_view name(Conn conn) {
  switch (conn) {
    case Conn::fresh: return "fresh";
    case Conn::kept: return "kept";
    case Conn::head: return "head";
    case Conn::exchange: return "exchange";
    case Conn::tunnel: return "tunnel";
    case Conn::closing: return "closing";
    case Conn::closed: return "closed";
  }
  return "?";
}

std::string_view name(In in) {
  switch (in) {
    case In::reading: return "reading";
    case In::wait_connection: return "wait_connection";
    case In::wait_continue: return "wait_continue";
    case In::wait_room: return "wait_room";
    case In::discarding: return "discarding";
    case In::done: return "done";
  }
  return "?";
}

std::string_view name(Out out) {
  switch (out) {
    case Out::serving: return "serving";
    case Out::sending: return "sending";
    case Out::done: return "done";
  }
  return "?";
}

std::string_view name(Attempt attempt) {
  switch (attempt) {
    case Attempt::none: return "none";
    case Attempt::opening: return "opening";
    case Attempt::waiting: return "waiting";
    case Attempt::answering: return "answering";
    case Attempt::finished: return "finished";
  }
  return "?";
}

std::string_view name(Event event) {
  switch (event) {
    case Event::client_bytes: return "client_bytes";
    case Event::head_safe: return "head_safe";
    case Event::head_bodyless: return "head_bodyless";
    case Event::head_body: return "head_body";
    case Event::head_expect: return "head_expect";
    case Event::head_local: return "head_local";
    case Event::head_local_body: return "head_local_body";
    case Event::refused: return "refused";
    case Event::body_end: return "body_end";
    case Event::fin_with: return "fin_with";
    case Event::fin_later: return "fin_later";
    case Event::reset: return "reset";
    case Event::takes_not: return "takes_not";
    case Event::takes: return "takes";
    case Event::connected: return "connected";
    case Event::not_connected: return "not_connected";
    case Event::answer_bytes: return "answer_bytes";
    case Event::interim: return "interim";
    case Event::upgraded: return "upgraded";
    case Event::answer_head: return "answer_head";
    case Event::answer_end: return "answer_end";
    case Event::local_end: return "local_end";
    case Event::upstream_lost: return "upstream_lost";
    case Event::unprocessed: return "unprocessed";
    case Event::upstream_full: return "upstream_full";
    case Event::upstream_room: return "upstream_room";
    case Event::tunnel_end: return "tunnel_end";
    case Event::client_deadline: return "client_deadline";
    case Event::upstream_deadline: return "upstream_deadline";
    case Event::discard_over: return "discard_over";
    case Event::drained: return "drained";
    case Event::last: return "last";
    case Event::grace_over: return "grace_over";
  }
  return "?";
}

std::string_view name(ClientEffect effect) {
  switch (effect) {
    case ClientEffect::none: return "none";
    case ClientEffect::answer: return "answer";
    case ClientEffect::cut: return "cut";
    case ClientEffect::keep: return "keep";
    case ClientEffect::linger: return "linger";
    case ClientEffect::close: return "close";
  }
  return "?";
}

std::string_view name(UpstreamEffect effect) {
  switch (effect) {
    case UpstreamEffect::none: return "none";
    case UpstreamEffect::open: return "open";
    case UpstreamEffect::reopen: return "reopen";
    case UpstreamEffect::finish: return "finish";
    case UpstreamEffect::abort: return "abort";
  }
  return "?";
}

std::string_view name(ClientClock clock) {
  switch (clock) {
    case ClientClock::none: return "none";
    case ClientClock::idle: return "idle";
    case ClientClock::head: return "head";
    case ClientClock::receive: return "receive";
    case ClientClock::send: return "send";
    case ClientClock::tunnel: return "tunnel";
    case ClientClock::linger: return "linger";
  }
  return "?";
}

std::string_view name(UpstreamClock clock) {
  switch (clock) {
    case UpstreamClock::none: return "none";
    case UpstreamClock::connect: return "connect";
    case UpstreamClock::silence: return "silence";
    case UpstreamClock::send: return "send";
  }
  return "?";
}

std::string_view name(Shown shown) {
  switch (shown) {
    case Shown::idle: return "idle";
    case Shown::receiving: return "receiving";
    case Shown::serving: return "serving";
    case Shown::sending: return "sending";
    case Shown::tunnel: return "tunnel";
    case Shown::closing: return "closing";
  }
  return "?";
}

}  // namespace hushgate::proxy::phase
