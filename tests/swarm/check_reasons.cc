// I2: nothing is ended without a reason, and no budget ends early. Whatever the gateway ends, one
// of the peers has done something, or has done nothing for long enough, or the process stops.
#include <algorithm>
#include <array>

#include "tests/swarm/checker.h"

namespace hushgate::swarm {
namespace {

// What the head of a faulty ask is answered.
int expected_status(Fault fault) {
  switch (fault) {
    case Fault::unknown_coding: return 501;
    case Fault::bad_version: return 505;
    default: return 400;
  }
}

class ReasonsChecker final : public Checker {
 public:
  using Checker::Checker;

  void response_complete(const Call& call) override {
    if (!call.response.of_gateway) return;
    if (!may_answer(call)) {
      object(call, fmt::format("was answered {} {} by the gateway: there is no reason",
                               call.response.status, call.response.error_type));
    }
  }

  void client_left(const Link& link) override {
    if (client_is_gone(link) || grace_is_over() || may_leave(link)) return;
    const Call* const call = link.due();
    stage_.court.object(
        "I2", fmt::format("the gateway left client {} on {} {} without a reason",
                          link.client.value_or(0), link.socket.connection,
                          call == nullptr ? "at rest" : fmt::format("in r{}", call->ask->id)));
  }

  void upstream_left(const Link& link) override { left_.push_back(&link); }

  // What was given up in this turn has been answered by now.
  void turn_ended() override {
    for (const Link* link : left_) check_given_up(*link);
    left_.clear();
  }

 private:
  void object(const Call& call, std::string text) {
    stage_.court.object("I2", fmt::format("r{} ({}) {}", call.ask->id, call.ask->method, text));
  }

  bool short_of_something() const {
    const Plan& plan = facts_.plan;
    return plan.max_clients < 10'000 || plan.descriptors < 1'000'000 || plan.ports < 28'232;
  }

  bool grace_is_over() const {
    if (facts_.cut_at) return true;
    return facts_.stopped_at && now() >= *facts_.stopped_at + limits().grace;
  }

  // --- answers of the gateway's own

  bool may_answer(const Call& call) const {
    const Ask& ask = *call.ask;
    const std::string& type = call.response.error_type;
    if (type == "connection_limit_reached") return short_of_something();
    if (type == "request_timeout") return is_overdue(call);
    if (ask.fault != Fault::none && call.response.status == expected_status(ask.fault)) return true;
    if (type == "body_too_large") return is_too_large(ask);
    if (type == "connection_terminated") return upstream_left_us(call);
    if (type == "http_response_timeout") return silent_for(call) >= limits().upstream_timeout;
    if (type.starts_with("http_protocol") || type == "http_response_header_section_size")
      return was_nonsense(call);
    if (type == "connection_timeout") {
      return now() - *call.head >= std::min(limits().connect_timeout, limits().connect_total);
    }
    if (type == "dns_timeout") return now() - *call.head >= limits().connect_total;
    const UpstreamPlan& upstream = facts_.plan.upstreams[ask.upstream];
    if (type == "dns_error") return upstream.named && !facts_.plan.names.empty();
    if (type == "connection_refused" || type == "connection_failed") {
      return std::ranges::any_of(upstream.addresses,
                                 [](Reach reach) { return reach != Reach::listens; });
    }
    return false;
  }

  bool is_too_large(const Ask& ask) const {
    return limits().max_body_bytes != 0 && ask.body.bytes > limits().max_body_bytes;
  }

  // The head's and the body's budget are counted from the head's first byte, or from when it was
  // its turn.
  bool is_overdue(const Call& call) const {
    if (!call.first_byte) return false;
    Time from = *call.first_byte;
    const Link& link = *call.client;
    if (link.answered > 1 || (link.answered == 1 && &call != link.calls[0].get())) {
      const std::size_t before = static_cast<std::size_t>(
          &call == link.calls[link.answered - 1].get() ? link.answered - 2 : link.answered - 1);
      from = std::max(from, link.calls[before]->response.complete.value_or(from));
    }
    const Duration head =
        std::min<Duration>({facts_.idle_shortest, limits().request_timeout, kHeadBudgetCeiling});
    Duration budget = call.head ? Duration(limits().request_timeout) : head;
    const Try* const last = call.last_try();
    if (call.head && last != nullptr && limits().min_upload_bytes_per_second != 0) {
      budget += std::chrono::milliseconds(last->body_bytes * 1'000 /
                                          limits().min_upload_bytes_per_second);
    }
    const bool was_here = call.whole && *call.whole + facts_.slack < now() &&
                          link.taken >= call.ends && call.ask->fault == Fault::none;
    return !was_here && now() - from >= budget;
  }

  bool upstream_left_us(const Call& call) const {
    const Try* const last = call.last_try();
    return last != nullptr && (last->link->failed || last->link->fin_arrived);
  }

  // Since the upstream owed something and it or our request moved. Once it answers, only what it
  // says counts.
  Duration silent_for(const Call& call) const {
    const Try* const last = call.last_try();
    if (last == nullptr) return Duration::zero();
    const Time said = std::max(last->begun, last->link->last_taken);
    return now() - (call.response.begun ? said : std::max(said, last->link->last_sent));
  }

  bool was_nonsense(const Call& call) const {
    if (call.tries.empty()) return false;
    if (may_stray(*call.last_try()->link)) return true;
    // A try that never reached its upstream took no answer.
    const auto last = call.ask->answers.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                      call.tries.size(), call.ask->answers.size()));
    return std::any_of(call.ask->answers.begin(), last, [](const Answer& answer) {
      return answer.manner != Answer::Manner::proper ||
             answer.interims >= kMaxInterimResponses;  // and a 100
    });
  }

  // --- clients that the gateway leaves

  bool client_is_gone(const Link& link) const {
    if (link.failed) return true;
    if (!link.fin_arrived) return false;
    const Call* const call = link.due();
    if (call == nullptr || !call->whole_here() || call->response.begun) return true;
    // A half-close with the request is served.
    if (facts_.plan.half_close == config::HalfClose::cancel) return true;
    const Duration delay = *link.fin_arrived - *call->whole;
    return facts_.plan.half_close == config::HalfClose::auto_ &&
           delay + facts_.slack > kHalfCloseWindow;
  }

  bool may_leave(const Link& link) const {
    const Call* const call = link.due();
    if (call == nullptr) return may_end_idle(link);
    if (call->is_tunnel()) return may_end_tunnel(*call);
    if (is_behind_the_last(link)) return true;
    // An interim response, or half a head, may wait for it too.
    const bool waits = link.unacknowledged() > 0 && client_took_too_little(link, link.last_sent);
    // A tunnel ends with its upstream's reset, whether all of the 101 has gone out or not.
    const bool tunnel_lost = call->ask->upgrades && upstream_left_us(*call);
    if (waits || tunnel_lost || !call->response.begun) return waits || tunnel_lost;
    return upstream_left_us(*call) || silent_for(*call) >= limits().upstream_timeout ||
           client_took_too_little(link, call->response.begun) || was_nonsense(*call) ||
           call->ask->fault != Fault::none || is_too_large(*call->ask);
  }

  // Its last answer said that nothing follows, or left a request behind that never ends.
  bool is_behind_the_last(const Link& link) const {
    if (link.answered == 0) return false;
    const Call& last = *link.calls[link.answered - 1];
    return last.response.says_close || last.ask->says_close || last.ask->http10 ||
           !last.whole_here() || link.taken < last.ends;
  }

  bool may_end_idle(const Link& link) const {
    if (is_behind_the_last(link)) return true;
    const Time since = std::max({*link.accepted, link.last_sent, link.last_taken});
    if (now() - since >= facts_.idle_shortest) return true;
    if (facts_.stopped_at && now() >= *facts_.stopped_at + kStopKeptGrace) return true;
    return facts_.plan.max_clients < 10'000 || facts_.plan.descriptors < 1'000'000;
  }

  bool may_end_tunnel(const Call& call) const {
    const Link& client = *call.client;
    const Link& upstream = *call.last_try()->link;
    if (upstream.failed || upstream.fin_arrived) return true;
    const Time active =
        std::max({client.last_taken, client.last_sent, upstream.last_taken, upstream.last_sent});
    const bool idle =
        limits().tunnel_idle_timeout.count() != 0 && now() - active >= limits().tunnel_idle_timeout;
    return idle || client_took_too_little(client, call.response.begun) ||
           client_took_too_little(upstream, call.response.begun);
  }

  bool client_took_too_little(const Link& link, const std::optional<Time>& since) const {
    const Time from = now() - limits().send_timeout;
    if (!since || *since > from) return false;
    return link.acknowledged - link.acknowledged_at(from - facts_.slack) <
               limits().min_send_bytes ||
           link.acknowledged - link.acknowledged_at(from + facts_.slack) < limits().min_send_bytes;
  }

  // --- upstreams that the gateway gives up

  void check_given_up(const Link& link) {
    if (link.tries.empty() || link.failed || link.fin_arrived) return;
    const Try& attempt = *link.tries.back();
    if (attempt.call == nullptr || attempt.call->last_try() != &attempt) return;
    const Call& call = *attempt.call;
    const Link& client = *call.client;
    const bool told = call.response.complete || (call.response.begun && call.response.of_gateway);
    const bool client_left =
        client.failed || client.fin_arrived || client.over() || client.finished;
    const bool cannot_be_told = client.unacknowledged() > 0;
    const bool is_stale = attempt.reused() && call.tries.size() == 1 &&
                          call.ask->answers[0].manner == Answer::Manner::stale_timeout;
    if (told || client_left || cannot_be_told || is_stale || grace_is_over()) return;
    object(call,
           fmt::format("lost its upstream connection {} without a reason", link.socket.connection));
  }

  std::vector<const Link*> left_;
};

}  // namespace

std::unique_ptr<Checker> make_reasons_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<ReasonsChecker>(facts, stage);
}

}  // namespace hushgate::swarm
