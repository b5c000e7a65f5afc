#include "io/sim_connection.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"
#include "io/sim_network.h"
#include "io/sim_tap.h"

namespace hushgate::io {
namespace {

using Kind = SimSegment::Kind;

}  // namespace

void SimEnd::start(SimWire& wire, SimSocket self, SimHost& host, SimEnd& other) {
  wire_ = &wire;
  self_ = self;
  host_ = &host;
  other_ = &other;
  announced_window_ = host.receive_window_bytes;
}

void SimEnd::set_addresses(const SocketAddress& local, const SocketAddress& remote) {
  local_ = local;
  remote_ = remote;
}

void SimEnd::changed() {
  if (user_ != nullptr) user_->socket_changed();
}

void SimEnd::deliver(const SimSegment& segment) {
  if (!cut_) wire_->deliver(self_.other(), segment);
}

std::size_t SimEnd::send_room() const {
  if (state_ != State::open || outgoing_ != Outgoing::open) return 0;
  return host_->send_buffer_bytes - std::min(host_->send_buffer_bytes, unacknowledged());
}

std::size_t SimEnd::window() const {
  return host_->receive_window_bytes - std::min(host_->receive_window_bytes, readable_bytes());
}

Duration SimEnd::finish_delay() const {
  return fin_received_ ? fin_arrived_ - last_byte_ : Duration::max();
}

std::size_t SimEnd::send(Bytes bytes) {
  const std::size_t accepted = std::min(bytes.size(), send_room());
  if (accepted == 0) return 0;
  if (SimTap* tap = wire_->tap()) tap->sent(self_, bytes.first(accepted));
  begin_outstanding();
  out_.accept(bytes.first(accepted));
  transmit();
  return accepted;
}

void SimEnd::transmit() {
  if (state_ != State::open && state_ != State::orphaned) return;
  while (out_.unsent() > 0 && out_.in_flight() < others_window_) {
    const std::size_t most =
        std::min({out_.unsent(), others_window_ - out_.in_flight(), wire_->max_segment_bytes()});
    std::size_t size = most;
    if (most > 1 && wire_->wire_random().percent(50)) {
      size = static_cast<std::size_t>(wire_->wire_random().between(1, most));
    }
    out_.send(size);
    deliver({.kind = Kind::bytes, .bytes = size});
  }
  if (outgoing_ == Outgoing::fin_queued && out_.unsent() == 0) {
    outgoing_ = Outgoing::fin_sent;
    closed_first_ = !fin_received_;
    deliver({.kind = Kind::fin});
  }
  if (cut_) rearm();
}

void SimEnd::arrive(const SimSegment& segment) {
  if (state_ != State::dead) heard_ = wire_->wire_now();
  switch (segment.kind) {
    case Kind::syn: HG_ASSERT(false); break;
    case Kind::syn_answer: established(segment.window); break;
    case Kind::refusal: fail(ECONNREFUSED); break;
    case Kind::bytes: arrive_bytes(segment.bytes); break;
    case Kind::acknowledgement: arrive_acknowledgement(segment.bytes, segment.window); break;
    case Kind::fin: arrive_fin(); break;
    case Kind::fin_acknowledgement: arrive_fin_acknowledgement(); break;
    case Kind::reset: arrive_reset(); break;
    case Kind::probe: arrive_probe(); break;
    case Kind::probe_answer: rearm(); break;
  }
}

void SimEnd::arrive_bytes(std::size_t bytes) {
  if (state_ != State::open) return answer_reset();
  if (SimTap* tap = wire_->tap()) tap->arrived(self_, bytes);
  other_->out_.arrive(bytes);
  last_byte_ = wire_->wire_now();
  announced_window_ = window();
  deliver({.kind = Kind::acknowledgement, .bytes = bytes, .window = announced_window_});
  changed();
}

void SimEnd::arrive_acknowledgement(std::size_t bytes, std::size_t window) {
  if (state_ == State::dead) return;
  if (SimTap* tap = wire_->tap(); tap != nullptr && bytes > 0) tap->acknowledged(self_, bytes);
  out_.acknowledge(bytes);
  outstanding_since_ = wire_->wire_now();
  // What is still in flight was sent before the other counted its room.
  others_window_ = window;
  transmit();
  if (bytes > 0) changed();
}

std::size_t SimEnd::receive(MutableBytes out) {
  const std::size_t size = other_->out_.read(out);
  if (size == 0) return 0;
  if (SimTap* tap = wire_->tap()) tap->received(self_, size);
  // A window that had closed is announced anew; one that is open is announced with the next
  // acknowledgement.
  if (announced_window_ < host_->receive_window_bytes / 2 && state_ == State::open) {
    announced_window_ = window();
    deliver({.kind = Kind::acknowledgement, .window = announced_window_});
  }
  return size;
}

void SimEnd::finish() {
  if (outgoing_ != Outgoing::open || state_ == State::dead) return;
  if (SimTap* tap = wire_->tap()) tap->finished(self_);
  begin_outstanding();
  outgoing_ = Outgoing::fin_queued;
  transmit();
}

void SimEnd::arrive_fin() {
  if (state_ == State::dead) return;
  if (forgotten()) return answer_reset();
  if (SimTap* tap = wire_->tap()) tap->fin_arrived(self_);
  fin_received_ = true;
  fin_arrived_ = wire_->wire_now();
  deliver({.kind = Kind::fin_acknowledgement});
  changed();
  end_if_done();
}

void SimEnd::arrive_fin_acknowledgement() {
  if (state_ == State::dead) return;
  outgoing_ = Outgoing::fin_acknowledged;
  if (state_ == State::orphaned) enter_fin_wait();
  end_if_done();
}

void SimEnd::close(CloseHow how) {
  if (SimTap* tap = wire_->tap()) tap->closed(self_, how);
  user_ = nullptr;
  if (state_ == State::dead) return end_if_done();
  // Where both have sent their FIN there is nobody to tell.
  const bool over = fin_received_ && outgoing_ == Outgoing::fin_acknowledged;
  const bool all_sent = outgoing_ == Outgoing::fin_sent || over;
  const bool resets = how == CloseHow::reset || state_ == State::connecting;
  if (!over && (resets || readable_bytes() > 0)) {
    if (!resets || !fin_received_ || !all_sent) answer_reset();
    return die(0);
  }
  state_ = State::orphaned;
  if (outgoing_ == Outgoing::open) {
    begin_outstanding();
    outgoing_ = Outgoing::fin_queued;
  }
  if (outgoing_ == Outgoing::fin_acknowledged) enter_fin_wait();
  transmit();
  end_if_done();
}

void SimEnd::abandon() {
  user_ = nullptr;
  die(0);
  end_if_done();
}

void SimEnd::answer_reset() {
  deliver({.kind = Kind::reset});
  if (state_ == State::orphaned) die(0);
}

void SimEnd::arrive_reset() {
  if (state_ == State::dead) return;
  if (wire_->wire_random().percent(wire_->reset_drops_unread_percent())) {
    other_->out_.drop_unread();
  }
  if (state_ == State::connecting && self_.side == 1) return die(ECONNRESET);
  fail(fin_received_ && outgoing_ == Outgoing::open ? EPIPE : ECONNRESET);
}

void SimEnd::fail(int error) {
  if (state_ == State::dead) return;
  if (SimTap* tap = wire_->tap()) tap->failed(self_, error);
  die(error);
}

void SimEnd::die(int error) {
  if (state_ == State::dead) return;
  state_ = State::dead;
  error_ = error;
  out_.drop_unsent();
  changed();
  end_if_done();
}

void SimEnd::established(std::size_t others_window) {
  others_window_ = others_window;
  if (state_ != State::connecting) return;
  if (SimTap* tap = wire_->tap()) tap->established(self_);
  state_ = State::open;
  heard_ = last_byte_ = wire_->wire_now();
  changed();
}

void SimEnd::end_if_done() {
  const bool delivered =
      state_ == State::orphaned && outgoing_ == Outgoing::fin_acknowledged && fin_received_;
  if (end_said_ || user_ != nullptr || (state_ != State::dead && !delivered)) return;
  end_said_ = true;
  wire_->ended(self_);
}

}  // namespace hushgate::io
