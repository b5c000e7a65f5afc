// I2, what the gateway ends: whenever it leaves a client or gives up an upstream, one of them has
// done something, or has done nothing for long enough, or the process stops.
#include <algorithm>

#include "tests/swarm/checker.h"
#include "tests/swarm/reasons.h"

namespace hushgate::swarm {
namespace {

class ReasonsChecker final : public Checker {
 public:
  using Checker::Checker;

  void client_left(const Link& link) override {
    const bool excused = client_is_gone(link) || grace_is_over() || may_leave(link);
    if (excused) return;
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
  bool grace_is_over() const {
    if (facts_.cut_at) return true;
    return facts_.stopped_at && now() >= *facts_.stopped_at + facts_.plan.limits.grace;
  }

  bool client_is_gone(const Link& link) const {
    if (link.failed) return true;
    if (!link.fin_arrived) return false;
    const Call* const call = link.due();
    if (call == nullptr || !call->whole_here()) return true;
    if (call->is_tunnel()) return false;  // its FIN passes through
    // A half-close with the request is served. (A reload in between leaves a doubt.)
    if (link.fin_rules != call->rules) return true;
    if (call->rules->half_close == config::HalfClose::cancel) return true;
    const Duration delay = *link.fin_arrived - *call->whole;
    return call->rules->half_close == config::HalfClose::auto_ &&
           delay + facts_.slack > kHalfCloseWindow;
  }

  bool may_leave(const Link& link) const {
    const Call* const call = link.due();
    if (call == nullptr) return may_end_idle(link);
    if (call->is_tunnel()) return may_end_tunnel(*call);
    if (is_behind_the_last(link)) return true;
    // An interim response, or half a head, may wait for it too.
    if (link.unacknowledged() > 0 && stalls(link, *call, link.last_sent)) return true;
    // A tunnel ends with its upstream's reset, whether all of the 101 has gone out or not.
    const bool lost = upstream_is_lost(*call, facts_);
    if (!call->response.begun) return lost && call->ask->upgrades;
    return lost || upstream_silence(*call, now()) >= limits(*call).upstream_timeout ||
           stalls(link, *call, *call->response.begun) || upstream_said_nonsense(*call) ||
           call->ask->fault != Fault::none || is_too_large(*call);
  }

  // Its last answer said that nothing follows, or left a request behind that never ends.
  static bool is_behind_the_last(const Link& link) {
    const Call* const last = link.before();
    if (last == nullptr) return false;
    return last->response.says_close || last->ask->says_close || last->ask->http10 ||
           !last->whole_here() || link.taken < last->ends;
  }

  bool may_end_idle(const Link& link) const {
    if (is_behind_the_last(link)) return true;
    const Time since = std::max({*link.accepted, link.last_sent, link.last_taken});
    if (now() - since >= facts_.idle_shortest) return true;
    if (facts_.stopped_at && now() >= std::max(*facts_.stopped_at, since) + kStopKeptGrace) {
      return true;
    }
    return is_crowded();
  }

  // There is no room for another client, or no descriptor.
  bool is_crowded() const {
    const io::SimHost& host = stage_.network.host(kGate);
    if (host.descriptors + 2 >= host.descriptor_limit) return true;
    const auto clients = std::ranges::count_if(
        facts_.open, [](const Link* link) { return link->kind == Link::Kind::client; });
    return static_cast<std::uint64_t>(clients) >= facts_.plan.max_clients;
  }

  bool may_end_tunnel(const Call& call) const {
    const Link& client = *call.client;
    const Link& upstream = *call.last_try()->link;
    if (upstream.failed) return true;
    // Its FIN is passed on; the connection ends with the other one.
    if (upstream.fin_arrived && (!client.closed || client.fin_arrived)) return true;
    const Time active =
        std::max({client.last_taken, client.last_sent, upstream.last_taken, upstream.last_sent});
    const Ms idle = limits(call).tunnel_idle_timeout;
    return (idle.count() != 0 && now() - active >= idle) ||
           stalls(client, call, *call.response.begun) ||
           stalls(upstream, call, *call.response.begun);
  }

  bool stalls(const Link& link, const Call& call, Time since) const {
    return took_too_little(link, since, limits(call), now(), facts_.slack);
  }

  // An attempt that its gateway gave up: it was told why, or nobody is left to be told.
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
    stage_.court.object(
        "I2", fmt::format("r{} ({}) lost its upstream connection {} without a reason", call.ask->id,
                          call.ask->method, link.socket.connection));
  }

  std::vector<const Link*> left_;
};

}  // namespace

std::unique_ptr<Checker> make_reasons_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<ReasonsChecker>(facts, stage);
}

}  // namespace hushgate::swarm
