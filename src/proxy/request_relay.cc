// The request's way: client → upstream.
#include "proxy/exchange.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using phase::Attempt;
using phase::Event;
using phase::In;

void Exchange::relay_request() {
  const bool body_here = !rest.empty() || session_->stream().readable();
  const bool head_goes_with_it =
      upstream_out_.accepted() == 0 && body_here && wants_request_bytes();
  if (!head_goes_with_it) flush_upstream();
  for (int takes = 0; takes < kTurnTakes && !over() && wants_request_bytes(); ++takes) {
    if (!relay_request_once()) break;
  }
  if (!over()) flush_upstream();
}

// Body bytes are wanted and there is room for them; a head that has not been offered yet goes out
// with its body's start.
bool Exchange::wants_request_bytes() const {
  const phase::State& state = session_->state();
  if (!phase::wants_body(state)) return false;
  if (state.in == In::discarding) {
    return state.out == phase::Out::done || record.discarded <= limits().linger_bytes;
  }
  if (upstream_deaf_ || !connection_ || stream_lost()) return false;
  const bool head_waits = upstream_out_.accepted() == 0 && connection_->stream().writable();
  return upstream_out_.empty() || head_waits;
}

// False when there was nothing to take.
bool Exchange::relay_request_once() {
  Relayed relayed;
  if (!rest.empty()) {
    relayed = move_request(as_bytes(rest));
    rest.erase(0, relayed.consumed);
  } else {
    if (!session_->stream().readable()) return false;
    const io::Take take = session_->stream().take();
    switch (take.kind) {
      case io::Take::Kind::nothing: return false;
      case io::Take::Kind::fin: session_->fail_finished(); return false;
      case io::Take::Kind::failed:
        session_->fail(ErrorKind::client_gone, Event::reset, take.os_error);
        return false;
      case io::Take::Kind::data: break;
    }
    session_->note_bytes();
    const Bytes bytes = take.lease.bytes();
    relayed = move_request(bytes);
    rest.assign(as_text(bytes.subspan(relayed.consumed)));
  }
  after_request_bytes(relayed);
  return true;
}

Relayed Exchange::move_request(Bytes bytes) {
  if (session_->state().in == In::wait_continue) session_->apply(Event::client_bytes);
  if (session_->state().in == In::discarding) {
    const Relayed relayed = discard_body(bytes, request_body_);
    record.discarded += relayed.consumed;
    return relayed;
  }
  return relay_body(bytes, request_body_, request_framing_.kind, upstream_out_,
                    connection_->stream());
}

void Exchange::after_request_bytes(const Relayed& relayed) {
  session_->timer().count_body(relayed.payload);
  const bool wanted = session_->state().in != In::discarding;
  if (wanted) record.request_bytes += relayed.payload;
  if (relayed.failed) upstream_deaf_ = true;
  const std::uint64_t most = has_decision() ? decision_.limits->max_body_bytes : 0;
  const bool too_much = wanted && most != 0 && record.request_bytes > most;
  if (relayed.error != ErrorKind::none || too_much) {
    return session_->fail(too_much ? ErrorKind::body_too_large : relayed.error, Event::refused);
  }
  if (request_body_.ended()) {
    session_->apply(Event::body_end);
  } else if (session_->state().in == In::reading && (upstream_deaf_ || !upstream_out_.empty())) {
    session_->apply(Event::upstream_full);
  }
}

bool Exchange::request_received() const {
  const std::optional<std::uint64_t> left = request_body_.left();
  return left && *left <= rest.size();
}

bool Exchange::request_can_end() const {
  const std::size_t here = rest.size() + session_->stream().untaken();
  const std::optional<std::uint64_t> left = request_body_.left();
  return left ? *left <= here : here > 0;
}

// Offers the upstream what waits for it. A write that fails does not end the attempt: an answer may
// have come before.
void Exchange::flush_upstream() {
  if (!connection_ || upstream_deaf_ || upstream_out_.empty() || stream_lost()) return;
  const std::uint64_t before = upstream_out_.accepted();
  if (!upstream_out_.flush(connection_->stream())) upstream_deaf_ = true;
  if (upstream_out_.accepted() != before && session_->state().attempt == Attempt::waiting) {
    upstream_timer_.note_progress(now());
  }
  const In in = session_->state().in;
  if (upstream_out_.empty() && !upstream_deaf_) {
    if (in == In::wait_room) session_->apply(Event::upstream_room);
  } else if (in == In::reading) {
    session_->apply(Event::upstream_full);
  }
}

bool Exchange::rest_is_too_much() const {
  const std::optional<std::uint64_t> left = request_body_.left();
  return !left || *left > limits().linger_bytes;
}

// An overtaken request: the rest is read if that keeps the connection at a bounded price.
void Exchange::judge_discard() {
  const phase::State& state = session_->state();
  if (state.in != In::discarding || state.out != phase::Out::done) return;
  if (rest_is_too_much()) session_->apply(Event::discard_over);
}

}  // namespace hushgate::proxy
