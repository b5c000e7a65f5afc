// I2, the gateway's own answers: each tells of something that has happened, and no budget ends
// early.
#include <algorithm>

#include "tests/swarm/checker.h"
#include "tests/swarm/reasons.h"

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

class AnswersChecker final : public Checker {
 public:
  using Checker::Checker;

  void response_complete(const Call& call) override {
    if (!call.response.of_gateway || may_answer(call)) return;
    stage_.court.object(
        "I2",
        fmt::format("r{} ({}) was answered {} {} by the gateway: there is no reason", call.ask->id,
                    call.ask->method, call.response.status, call.response.error_type));
  }

 private:
  bool may_answer(const Call& call) const {
    const std::string& type = call.response.error_type;
    if (type == "connection_limit_reached") return is_short(call);
    if (type == "request_timeout") return is_overdue(call);
    const Fault fault = call.ask->fault;
    if (fault != Fault::none && call.response.status == expected_status(fault)) return true;
    if (type == "body_too_large") return is_too_large(call);
    if (type == "connection_terminated") return upstream_is_lost(call, facts_);
    if (type == "http_protocol_error") return upstream_said_nonsense(call);
    if (type == "http_response_timeout") {
      return upstream_silence(call, now()) >= limits(call).upstream_timeout;
    }
    return may_fail_to_connect(call, type);
  }

  bool may_fail_to_connect(const Call& call, std::string_view type) const {
    const UpstreamPlan& upstream = facts_.plan.upstreams[call.ask->upstream];
    const Duration waited = now() - *call.head;
    const Limits& limits = Checker::limits(call);
    if (type == "connection_timeout") {
      return waited >= std::min(limits.connect_timeout, limits.connect_total) && !answers(call);
    }
    if (type == "dns_timeout") return upstream.named && waited >= limits.connect_total;
    if (type == "dns_error") {
      return upstream.named && std::ranges::any_of(facts_.plan.names, &NamePlan::fails);
    }
    const bool refused = type == "connection_refused" || type == "connection_failed";
    return refused && !answers(call);
  }

  // One of its addresses accepts, whatever happens to the others: all of them race.
  bool answers(const Call& call) const {
    const Plan& plan = facts_.plan;
    const UpstreamPlan& upstream = plan.upstreams[call.ask->upstream];
    const Weather& weather = plan.weather;
    const bool told_of_all =
        !upstream.named ||
        std::ranges::all_of(plan.names, [](const auto& name) { return name.leave_out == 0; });
    const bool calm = weather.link_stall_percent == 0 &&
                      2 * weather.latency_max + facts_.slack < limits(call).connect_timeout;
    // Its name and the other addresses may use up the time of all.
    Duration needed = static_cast<int>(upstream.addresses.size()) * limits(call).connect_timeout;
    if (upstream.named) {
      for (const NamePlan& name : plan.names) needed += name.takes;
    }
    const bool has_time = limits(call).connect_total >= needed;
    const bool stays = std::ranges::none_of(plan.ordeals, [&](const Ordeal& ordeal) {
      return ordeal.kind == Ordeal::Kind::restart && ordeal.which == call.ask->upstream;
    });
    const bool roomy = !plan.lacks_ports() && !plan.lacks_descriptors() && upstream.backlog > 3;
    return told_of_all && stays && calm && has_time && roomy &&
           std::ranges::count(upstream.addresses, Reach::listens) > 0;
  }

  // 503: there are no ports for as long as it may wait for one, or no descriptors, or no room.
  bool is_short(const Call& call) const {
    const Plan& plan = facts_.plan;
    if (plan.lacks_clients() || plan.lacks_descriptors()) return true;
    const Limits& limits = Checker::limits(call);
    return plan.lacks_ports() && call.head &&
           now() - *call.head >= std::min(limits.connect_timeout, limits.connect_total);
  }

  // The head's and the body's budget are counted from the head's first byte, or from when its turn
  // came.
  bool is_overdue(const Call& call) const {
    if (!call.first_byte) return false;
    const Link& link = *call.client;
    const Time from = std::max(*call.first_byte, end_before(call));
    const Limits& limits = Checker::limits(call);
    Duration budget = limits.request_timeout;
    if (!call.head) {
      budget = std::min<Duration>({facts_.idle_shortest, budget, kHeadBudgetCeiling});
    } else if (call.last_try() != nullptr && limits.min_upload_bytes_per_second != 0) {
      budget += std::chrono::milliseconds(call.last_try()->body_bytes * 1'000 /
                                          limits.min_upload_bytes_per_second);
    }
    const bool was_here = call.whole && *call.whole + facts_.slack < now() &&
                          link.taken >= call.ends && call.ask->fault == Fault::none;
    return !was_here && now() - from >= budget;
  }

  // When the answer to the ask before this one was complete.
  static Time end_before(const Call& call) {
    Time end{};
    for (const auto& other : call.client->calls) {
      if (other.get() == &call) break;
      end = other->response.complete.value_or(end);
    }
    return end;
  }
};

}  // namespace

std::unique_ptr<Checker> make_answers_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<AnswersChecker>(facts, stage);
}

}  // namespace hushgate::swarm
