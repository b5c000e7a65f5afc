// A tunnel: bytes both ways, each direction with its own end.
#include <array>

#include "proxy/exchange.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using phase::Conn;
using phase::Event;
using phase::In;
using phase::Out;

io::Task<> Exchange::run_tunnel() {
  for (;;) {
    step_tunnel();
    if (session_->state().conn != Conn::tunnel) break;
    co_await *session_;
  }
}

void Exchange::step_tunnel() {
  if (session_->state().conn != Conn::tunnel) return;
  for (int takes = 0;; ++takes) {
    if (!tunnel_alive()) return;
    if (takes == kTurnTakes) {
      context_.loop.ready_next_turn(*session_);
      break;
    }
    const bool up = tunnel_up();
    if (session_->state().conn != Conn::tunnel) return;
    const bool down = tunnel_down();
    if (session_->state().conn != Conn::tunnel) return;
    if (!up && !down) break;
  }
  note_tunnel_moves();
  note_tunnel_room();
  pass_finishes();
  if (session_->state().conn == Conn::tunnel) session_->judge_client();
  if (session_->state().conn == Conn::tunnel) judge_tunnel();
}

// A reset always means gone, also of who has sent its FIN, and also while its bytes are not wanted.
// What the upstream said before its reset is still passed on.
bool Exchange::tunnel_alive() {
  io::Stream& client = session_->stream();
  io::Stream& upstream = connection_->stream();
  if (client.failed() || !client_out_.flush(client)) {
    session_->fail(ErrorKind::client_gone, Event::reset, client.error());
    return false;
  }
  const bool lost = upstream.failed() && (upstream_finished_ || upstream.untaken() == 0);
  if (lost || (!upstream.failed() && !upstream_out_.flush(upstream))) {
    session_->fail(ErrorKind::connection_terminated, Event::upstream_lost, upstream.error());
    return false;
  }
  return true;
}

// Client to upstream. True if something was moved.
bool Exchange::tunnel_up() {
  if (client_finished_ || !upstream_out_.empty()) return false;
  if (!rest.empty()) {
    record.request_bytes += rest.size();
    upstream_out_.large_tail().append(rest);
    rest.clear();
    return true;
  }
  if (!session_->stream().readable()) return false;
  const io::Take take = session_->stream().take();
  if (take.kind == io::Take::Kind::failed) {
    session_->fail(ErrorKind::client_gone, Event::reset, take.os_error);
    return false;
  }
  if (take.kind == io::Take::Kind::fin) client_finished_ = true;
  if (take.kind != io::Take::Kind::data) return false;
  pass(take.lease.bytes(), upstream_out_, connection_->stream(), record.request_bytes);
  return true;
}

// Upstream to client. The bytes that came with the 101 are first.
bool Exchange::tunnel_down() {
  if (upstream_finished_ || !client_out_.empty()) return false;
  if (!response_text_.empty()) {
    record.response_bytes += response_text_.size();
    client_out_.large_tail().append(response_text_);
    give_room(response_text_);
    return true;
  }
  io::Stream& upstream = connection_->stream();
  if (!upstream.readable()) return false;
  const io::Take take = upstream.take();
  if (take.kind == io::Take::Kind::failed) {
    session_->fail(ErrorKind::connection_terminated, Event::upstream_lost, take.os_error);
    return false;
  }
  if (take.kind == io::Take::Kind::fin) upstream_finished_ = true;
  if (take.kind != io::Take::Kind::data) return false;
  pass(take.lease.bytes(), client_out_, session_->stream(), record.response_bytes);
  return true;
}

// A write that fails marks its stream as failed: tunnel_alive() meets it in the same turn.
void Exchange::pass(Bytes bytes, OutBuffer& out, io::Stream& to, std::uint64_t& count) {
  count += bytes.size();
  const std::array pieces{bytes};
  static_cast<void>(out.send(to, pieces));
}

// Bytes that waited and go on are moved, too: a tunnel that drains slowly is not idle.
void Exchange::note_tunnel_moves() {
  const std::uint64_t moved = client_out_.accepted() + upstream_out_.accepted();
  if (moved != tunnel_moved_) session_->timer().note_activity(now());
  tunnel_moved_ = moved;
}

void Exchange::note_tunnel_room() {
  const phase::State& state = session_->state();
  const bool client_waits = !client_out_.empty();
  if (client_waits != (state.out == Out::sending)) {
    session_->apply(client_waits ? Event::takes_not : Event::takes);
  }
  const bool upstream_waits = !upstream_out_.empty();
  if (upstream_waits != (state.in == In::wait_room)) {
    session_->apply(upstream_waits ? Event::upstream_full : Event::upstream_room);
  }
}

// Half-close passes through, behind everything that came before it.
void Exchange::pass_finishes() {
  if (client_finished_ && !upstream_shut_ && upstream_out_.empty()) {
    upstream_shut_ = true;
    connection_->stream().finish_writing();
  }
  if (upstream_finished_ && !client_shut_ && client_out_.empty()) {
    client_shut_ = true;
    session_->stream().finish_writing();
  }
  if (client_shut_ && upstream_shut_) session_->apply(Event::tunnel_end);
}

void Exchange::judge_tunnel() {
  if (!upstream_timer_.expired()) return;
  const TimerVerdict verdict = upstream_timer_.judge_send(now(), upstream_acknowledged(), limits());
  if (verdict == TimerVerdict::goes_on) return;
  session_->fail(ErrorKind::response_timeout, Event::upstream_deadline);
}

}  // namespace hushgate::proxy
