#include "proxy/timers.h"

#include <algorithm>

namespace hushgate::proxy {

using phase::ClientClock;

namespace {

// How long a quiet, but not yet acknowledged connection is left before it is looked at again while
// closing.
constexpr Ms kLingerLook{250};

}  // namespace

void ClientTimer::run(ClientClock clock, Time now, std::int64_t acknowledged) {
  if (clock_ == ClientClock::receive) request_->receive_used += now - since_;
  if (clock_ == ClientClock::head) request_->receive_used = now - request_->first_byte;
  clock_ = clock;
  since_ = now;
  switch (clock) {
    case ClientClock::none: return deadline_.clear();
    case ClientClock::idle: return wheel_.set(deadline_, now + limits_->idle_timeout);
    case ClientClock::head:
      return wheel_.set(deadline_, request_->first_byte +
                                       std::min({limits_->idle_timeout, limits_->request_timeout,
                                                 kHeadBudgetCeiling}));
    case ClientClock::receive: return wheel_.set(deadline_, receive_due(now));
    case ClientClock::send:
      request_->window.begin(acknowledged, now, *limits_);
      return wheel_.set(deadline_, request_->window.due());
    case ClientClock::tunnel:
      last_activity_ = now;
      return limits_->tunnel_idle_timeout > Ms{0}
                 ? wheel_.set(deadline_, now + limits_->tunnel_idle_timeout)
                 : deadline_.clear();
    case ClientClock::linger:
      last_activity_ = now;
      return wheel_.set(deadline_, now + std::min(kLingerSilence, linger_total()));
  }
}

void ClientTimer::adopt(const Limits& limits) {
  const bool changed = limits.idle_timeout != limits_->idle_timeout;
  use(limits);
  if (changed && clock_ == ClientClock::idle) wheel_.set(deadline_, since_ + limits.idle_timeout);
}

void ClientTimer::cap_idle(Time due) {
  if (clock_ == ClientClock::idle && due < deadline_.due()) wheel_.set(deadline_, due);
}

Time ClientTimer::receive_due(Time now) const {
  Duration budget = limits_->request_timeout - request_->receive_used;
  if (request_->upload_rate != 0) {
    const double seconds =
        static_cast<double>(request_->body_bytes) / static_cast<double>(request_->upload_rate);
    budget +=
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
  }
  return (clock_ == ClientClock::receive ? since_ : now) + budget;
}

TimerVerdict ClientTimer::unless_due(Time due, Time now) {
  if (due <= now) return TimerVerdict::ran_out;
  wheel_.set(deadline_, due);
  return TimerVerdict::goes_on;
}

TimerVerdict ClientTimer::judge(Time now, std::int64_t acknowledged, std::size_t unacknowledged) {
  deadline_.clear();
  switch (clock_) {
    case ClientClock::none: return TimerVerdict::goes_on;
    case ClientClock::idle:
    case ClientClock::head: return TimerVerdict::ran_out;
    case ClientClock::receive: return unless_due(receive_due(now), now);
    case ClientClock::send:
      if (!request_->window.passed(acknowledged, now, *limits_)) return TimerVerdict::ran_out;
      wheel_.set(deadline_, request_->window.due());
      return TimerVerdict::goes_on;
    case ClientClock::tunnel: return unless_due(last_activity_ + limits_->tunnel_idle_timeout, now);
    case ClientClock::linger: return judge_linger(now, unacknowledged);
  }
  return TimerVerdict::goes_on;
}

// 2 s without a byte count only from when the client has everything that was sent.
TimerVerdict ClientTimer::judge_linger(Time now, std::size_t unacknowledged) {
  const Time total_due = since_ + linger_total();
  if (now >= total_due) return TimerVerdict::ran_out;
  if (unacknowledged > 0) {
    last_activity_ = now;
    wheel_.set(deadline_, std::min<Time>(now + kLingerLook, total_due));
    return TimerVerdict::goes_on;
  }
  return unless_due(std::min<Time>(last_activity_ + kLingerSilence, total_due), now);
}

void UpstreamTimer::run_silence(Ms timeout, Time now) {
  timeout_ = timeout;
  last_progress_ = now;
  wheel_.set(deadline_, now + timeout);
}

void UpstreamTimer::stop() { deadline_.clear(); }

TimerVerdict UpstreamTimer::judge_silence(Time now) {
  deadline_.clear();
  const Time due = last_progress_ + timeout_;
  if (due <= now) return TimerVerdict::ran_out;
  wheel_.set(deadline_, due);
  return TimerVerdict::goes_on;
}

void UpstreamTimer::run_send(std::int64_t acknowledged, Time now, const Limits& limits) {
  window_.begin(acknowledged, now, limits);
  wheel_.set(deadline_, window_.due());
}

TimerVerdict UpstreamTimer::judge_send(Time now, std::int64_t acknowledged, const Limits& limits) {
  deadline_.clear();
  if (!window_.passed(acknowledged, now, limits)) return TimerVerdict::ran_out;
  wheel_.set(deadline_, window_.due());
  return TimerVerdict::goes_on;
}

}  // namespace hushgate::proxy
