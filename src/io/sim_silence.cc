// How an end finds out that the other is not there any more. Nothing of this costs an event while
// both are.
#include <algorithm>
#include <cerrno>

#include "io/sim_connection.h"

namespace hushgate::io {

bool SimEnd::outstanding() const {
  return unacknowledged() > 0 || outgoing_ == Outgoing::fin_queued ||
         outgoing_ == Outgoing::fin_sent;
}

void SimEnd::begin_outstanding() {
  if (!outstanding()) outstanding_since_ = wire_->wire_now();
}

bool SimEnd::in_fin_wait() const {
  return state_ == State::orphaned && outgoing_ == Outgoing::fin_acknowledged && !fin_received_;
}

bool SimEnd::forgotten() const { return in_fin_wait() && wire_->wire_now() >= forgotten_at_; }

void SimEnd::enter_fin_wait() {
  if (!in_fin_wait()) return;
  forgotten_at_ = wire_->wire_now() + kSimFinTimeout;
  if (cut_) rearm();
  other_->rearm();
}

void SimEnd::cut() {
  cut_ = true;
  // A SYN that never came.
  if (state_ == State::connecting && self_.side == 1) return die(0);
  rearm();
}

void SimEnd::set_keep_alive(const KeepAlive& keep_alive) {
  keep_alive_ = keep_alive;
  keep_alive_set_ = wire_->wire_now();
  rearm();
}

// Probes begin when nothing has been heard for `idle`, and while they are answered, each answer
// begins another such span.
Time SimEnd::next_probe(Time not_before) const {
  const Time first = std::max(keep_alive_set_, heard_ + keep_alive_->idle);
  if (first >= not_before) return first;
  const Duration every =
      std::max<Duration>({keep_alive_->idle, keep_alive_->interval, std::chrono::milliseconds(1)});
  return first + (not_before - first + every - Duration(1)) / every * every;
}

Time SimEnd::next_check() const {
  if (state_ == State::orphaned && cut_) {
    return in_fin_wait() ? forgotten_at_ : outstanding_since_ + kSimOrphanTimeout;
  }
  if (state_ != State::open) return kNever;
  if (cut_ && outstanding()) return outstanding_since_ + kSimRetransmissionTimeout;
  if (!keep_alive_ || outstanding()) return kNever;
  if (cut_) return next_probe(Time{}) + keep_alive_->interval * keep_alive_->probes;
  // As long as the other remembers, it answers, and no probe makes a difference.
  return other_->in_fin_wait() ? next_probe(other_->forgotten_at_) : kNever;
}

void SimEnd::rearm() {
  const Time at = next_check();
  if (at >= timer_) return;
  timer_ = at;
  wire_->set_timer(self_, at);
}

void SimEnd::expire(Time due) {
  if (!awaits(due)) return;
  timer_ = kNever;
  if (next_check() > wire_->wire_now()) return rearm();
  if (!cut_) return deliver({.kind = SimSegment::Kind::probe});
  if (in_fin_wait()) return die(0);
  fail(ETIMEDOUT);
}

void SimEnd::arrive_probe() {
  if (state_ == State::dead || forgotten()) return answer_reset();
  deliver({.kind = SimSegment::Kind::probe_answer});
}

}  // namespace hushgate::io
