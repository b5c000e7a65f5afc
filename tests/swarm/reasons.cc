#include "tests/swarm/reasons.h"

#include <algorithm>

namespace hushgate::swarm {
namespace {

// A FIN behind a whole answer is no reason for anything. Of an EOF body it is the end.
bool has_said_all(const Try& attempt) {
  const Link& link = *attempt.link;
  return link.tries.back() == &attempt && link.asked >= link.tries.size();
}

// Of a head that was cut nobody can tell whose it was: it is a try of any call of its upstream's.
bool lost_within_a_head(const Link& link, std::size_t upstream) {
  return link.kind == Link::Kind::upstream && link.upstream == upstream &&
         link.reader.state() == MessageReader::State::head && (link.failed || link.fin_arrived);
}

}  // namespace

bool upstream_is_lost(const Call& call, const Facts& facts) {
  const auto within_a_head = [&](const auto& link) {
    return lost_within_a_head(*link, call.ask->upstream);
  };
  if (std::ranges::any_of(facts.links, within_a_head)) return true;
  const Try* const last = call.last_try();
  if (last == nullptr) return false;
  return last->link->failed || (last->link->fin_arrived && !has_said_all(*last));
}

Duration upstream_silence(const Call& call, Time now) {
  const Try* const last = call.last_try();
  if (last == nullptr) return Duration::zero();
  const Time said = std::max(last->begun, last->link->last_taken);
  return now - (call.response.begun ? said : std::max(said, last->link->last_sent));
}

bool upstream_said_nonsense(const Call& call) {
  if (call.tries.empty()) return false;
  if (may_stray(*call.last_try()->link)) return true;
  // A try that never reached its upstream took no answer.
  const auto& answers = call.ask->answers;
  const auto last =
      answers.begin() + static_cast<std::ptrdiff_t>(std::min(call.tries.size(), answers.size()));
  return std::any_of(answers.begin(), last, [](const Answer& answer) {
    return answer.manner != Answer::Manner::proper ||
           answer.interims >= kMaxInterimResponses;  // and a 100
  });
}

bool is_too_large(const Call& call) {
  const std::uint64_t most = call.rules->limits.max_body_bytes;
  return most != 0 && call.ask->body.bytes > most;
}

bool took_too_little(const Link& link, Time since, const Limits& limits, Time now, Duration slack) {
  const Time from = now - limits.send_timeout;
  if (since > from) return false;
  const auto taken_since = [&](Time time) {
    return link.acknowledged - link.acknowledged_at(time);
  };
  return taken_since(from - slack) < limits.min_send_bytes ||
         taken_since(from + slack) < limits.min_send_bytes;
}

}  // namespace hushgate::swarm
