#include "tests/swarm/party.h"

#include <algorithm>
#include <array>

namespace hushgate::swarm {
namespace {

// Taken at once at most: a peer that is to take slowly learns so from the first bytes.
constexpr std::size_t kTakeBytes = 4'096;
constexpr std::array<std::string_view, 2> kEnds = {"refused", "reset"};

}  // namespace

void Party::begin(std::unique_ptr<io::SimPeer> peer) {
  peer_ = std::move(peer);
  peer_->on_change = [this] { look(); };
  state_ = State::connecting;
  look();
}

void Party::look() {
  if (over()) return;
  if (state_ == State::connecting && peer_->open()) {
    state_ = State::open;
    stage_.journal.note(stage_.network.now(), who_, "open");
  }
  take();
  if (!over()) end_of_stream();
  if (!over()) owner_.changed();
}

std::size_t Party::allowance() {
  if (peer_->failed()) return kUnlimited;
  const Time now = stage_.network.now();
  if (rate_bytes_ != kUnlimited && now >= window_start_ + rate_time_) {
    window_start_ = now;
    taken_bytes_ = 0;
  }
  return rate_bytes_ - std::min(rate_bytes_, taken_bytes_);
}

void Party::take() {
  while (!over()) {
    const std::size_t most = allowance();
    if (most == 0) return take_later();
    const std::string bytes = peer_->receive(std::min(most, kTakeBytes));
    if (bytes.empty()) return;
    if (rate_bytes_ != kUnlimited) taken_bytes_ += bytes.size();
    stage_.journal.note(stage_.network.now(), who_, "got {} bytes", bytes.size());
    owner_.heard(bytes);
  }
}

void Party::take_later() {
  const Time next = window_start_ + rate_time_;
  const bool waits = stage_.network.end(socket()).readable_bytes() > 0;
  if (rate_bytes_ == 0 || !waits || wakes_ == next) return;
  wakes_ = next;
  stage_.network.at(next, [this] { look(); });
}

void Party::end_of_stream() {
  const Time now = stage_.network.now();
  if (peer_->failed()) {
    stage_.journal.note(now, who_, "was {}", kEnds[state_ == State::connecting ? 0U : 1U]);
    peer_->close();
    state_ = State::reset;
    return owner_.heard_reset();
  }
  if (fin_heard_ || !peer_->peer_finished()) return;
  if (stage_.network.end(socket()).readable_bytes() > 0) return;
  fin_heard_ = true;
  stage_.journal.note(now, who_, "got FIN");
  owner_.heard_fin();
}

void Party::take_slowly(std::size_t bytes, Duration time) {
  rate_bytes_ = bytes;
  rate_time_ = time;
  taken_bytes_ = 0;
  window_start_ = stage_.network.now();
  stage_.network.at(window_start_, [this] { look(); });
}

void Party::take_all() { take_slowly(kUnlimited, {}); }

std::size_t Party::send(std::string_view bytes) {
  if (over() || bytes.empty()) return 0;
  const std::size_t sent = peer_->send(bytes);
  if (sent > 0) stage_.journal.note(stage_.network.now(), who_, "sent {} bytes", sent);
  return sent;
}

void Party::leave(Leave how) {
  if (over() || state_ == State::absent) return;
  const Time now = stage_.network.now();
  if (how == Leave::finish) {
    if (finished_) return;
    finished_ = true;
    stage_.journal.note(now, who_, "sent FIN");
    return peer_->finish();
  }
  state_ = State::left;
  switch (how) {
    case Leave::reset: stage_.journal.note(now, who_, "reset"); return peer_->reset();
    case Leave::vanish: stage_.journal.note(now, who_, "vanished"); return peer_->vanish();
    default: stage_.journal.note(now, who_, "closed"); return peer_->close();
  }
}

}  // namespace hushgate::swarm
