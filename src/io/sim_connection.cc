#include "io/sim_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "io/sim_network.h"

namespace hushgate::io {

void SimEnd::start(SimWire& wire, SimSocket self, SimHost& host, State state) {
  wire_ = &wire;
  self_ = self;
  host_ = &host;
  state_ = state;
  announced_window_ = host.receive_window_bytes;
}

void SimEnd::set_addresses(const SocketAddress& local, const SocketAddress& remote) {
  local_ = local;
  remote_ = remote;
}

void SimEnd::changed() {
  if (user_ != nullptr) user_->socket_changed();
}

std::size_t SimEnd::send_room() const {
  if (state_ != State::open || outgoing_ != Outgoing::open) return 0;
  return host_->send_buffer_bytes - std::min(host_->send_buffer_bytes, send_queue_.size());
}

std::size_t SimEnd::window() const {
  return host_->receive_window_bytes - std::min(host_->receive_window_bytes, received_.size());
}

std::size_t SimEnd::send(Bytes bytes) {
  const std::size_t accepted = std::min(bytes.size(), send_room());
  send_queue_ += as_text(bytes.first(accepted));
  transmit();
  return accepted;
}

void SimEnd::transmit() {
  if (state_ != State::open && state_ != State::orphaned) return;
  while (in_flight_ < send_queue_.size() && in_flight_ < others_window_) {
    const std::size_t most = std::min(
        {send_queue_.size() - in_flight_, others_window_ - in_flight_, wire_->max_segment_bytes()});
    std::size_t size = most;
    if (most > 1 && wire_->wire_random().percent(50)) {
      size = static_cast<std::size_t>(wire_->wire_random().between(1, most));
    }
    std::string segment = send_queue_.substr(in_flight_, size);
    in_flight_ += size;
    wire_->deliver(self_.other(),
                   [segment = std::move(segment)](SimEnd& other) { other.arrive_bytes(segment); });
  }
  if (outgoing_ == Outgoing::fin_queued && in_flight_ == send_queue_.size()) {
    outgoing_ = Outgoing::fin_sent;
    closed_first_ = !fin_received_;
    wire_->deliver(self_.other(), [](SimEnd& other) { other.arrive_fin(); });
  }
}

void SimEnd::arrive_bytes(const std::string& bytes) {
  if (state_ != State::open) return answer_reset();
  received_ += bytes;
  announced_window_ = window();
  wire_->deliver(self_.other(), [size = bytes.size(), window = announced_window_](SimEnd& other) {
    other.arrive_acknowledgement(size, window);
  });
  changed();
}

void SimEnd::arrive_acknowledgement(std::size_t bytes, std::size_t window) {
  if (state_ == State::dead) return;
  send_queue_.erase(0, bytes);
  in_flight_ -= bytes;
  // What is still in flight was sent before the other counted its room.
  others_window_ = window;
  transmit();
  if (bytes > 0) changed();
}

std::size_t SimEnd::receive(MutableBytes out) {
  const std::size_t size = std::min(out.size(), received_.size());
  std::memcpy(out.data(), received_.data(), size);
  received_.erase(0, size);
  // A window that had closed is announced anew; one that is open is announced with the next
  // acknowledgement.
  if (size > 0 && announced_window_ < host_->receive_window_bytes / 2 && state_ == State::open) {
    announced_window_ = window();
    wire_->deliver(self_.other(), [window = announced_window_](SimEnd& other) {
      other.arrive_acknowledgement(0, window);
    });
  }
  return size;
}

void SimEnd::finish() {
  if (outgoing_ != Outgoing::open || state_ == State::dead) return;
  outgoing_ = Outgoing::fin_queued;
  transmit();
}

void SimEnd::arrive_fin() {
  if (state_ == State::dead) return;
  fin_received_ = true;
  wire_->deliver(self_.other(), [](SimEnd& other) { other.arrive_fin_acknowledgement(); });
  changed();
  end_if_done();
}

void SimEnd::arrive_fin_acknowledgement() {
  if (state_ == State::dead) return;
  outgoing_ = Outgoing::fin_acknowledged;
  end_if_done();
}

void SimEnd::close(CloseHow how) {
  user_ = nullptr;
  if (state_ == State::dead) return end_if_done();
  if (how == CloseHow::reset || !received_.empty() || state_ == State::connecting) {
    answer_reset();
    fail(0);
    return;
  }
  state_ = State::orphaned;
  if (outgoing_ == Outgoing::open) outgoing_ = Outgoing::fin_queued;
  transmit();
  end_if_done();
}

void SimEnd::answer_reset() {
  wire_->deliver(self_.other(), [](SimEnd& other) { other.arrive_reset(); });
  if (state_ == State::orphaned) fail(0);
}

void SimEnd::arrive_reset() {
  if (state_ == State::dead) return;
  if (wire_->wire_random().percent(50)) received_.clear();  // some kernels give them, some do not
  fail(fin_received_ ? EPIPE : ECONNRESET);
}

void SimEnd::fail(int error) {
  if (state_ == State::dead) return;
  state_ = State::dead;
  error_ = error;
  send_queue_.clear();
  in_flight_ = 0;
  changed();
  end_if_done();
}

void SimEnd::established(std::size_t others_window) {
  others_window_ = others_window;
  if (state_ != State::connecting) return;
  state_ = State::open;
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
