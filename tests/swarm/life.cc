#include "tests/swarm/life.h"

#include <algorithm>
#include <memory>

#include "io/sim.h"
#include "tests/swarm/client.h"
#include "tests/swarm/observer.h"
#include "tests/swarm/upstream.h"
#include "tests/swarm/world.h"

namespace hushgate::swarm {
namespace {

constexpr std::chrono::hours kLongestLife{3};
constexpr std::chrono::hours kLongestSilence{1};  // longer than any sum of budgets
constexpr Ms kLastWords{20'000};  // what is on the wire arrives, and stalled links move again
constexpr std::uint64_t kMostTurns = 2'000'000;

class Life {
 public:
  Life(const Plan& plan, Keep keep);

  Outcome run();

 private:
  void set_hosts();
  void set_facts();
  void add_checkers();
  void schedule_ordeals();
  void stop();
  void reload(const Ordeal& ordeal);
  void turn(Time until);
  void run_until(Time time);
  bool everybody_left() const;
  bool somebody_waits() const;
  void live_on();
  void end();
  void check_rest();
  void put_down();
  Outcome outcome() const;
  Time now() const { return network_.now(); }

  Plan plan_;
  Journal journal_;
  Court court_;
  io::SimNetwork network_;
  const Time born_ = network_.now();
  std::uint64_t turns_ = 0;
  std::uint64_t objected_in_ = 0;
  std::array<std::uint64_t, stats::kCounters> counters_{};

  Facts facts_{plan_};
  Observer observer_{facts_, network_, journal_, court_};
  Stage stage_{network_, plan_, journal_, court_, observer_};
  io::Loop loop_;
  JournalSink sink_{journal_, network_};
  LogBuffer log_{sink_, LogFormat::json, Duration::zero()};
  PlanNames names_{stage_};
  SimReserve reserve_{network_.host(kGate)};
  proxy::Shared shared_;
  std::vector<std::unique_ptr<Upstream>> upstreams_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<proxy::Gateway> gateway_;
};

Life::Life(const Plan& plan, Keep keep)
    : plan_(plan),
      journal_(keep),
      network_({.seed = plan.seed,
                .latency_min = plan.weather.latency_min,
                .latency_max = plan.weather.latency_max,
                .max_segment_bytes = plan.weather.max_segment_bytes}),
      loop_(io::make_sim_backend(network_, network_.host(kGate),
                                 {.lease_bytes = plan.limits.max_buffered_bytes,
                                  .short_takes_percent = plan.weather.short_takes_percent,
                                  .short_writes_percent = plan.weather.short_writes_percent})) {
  network_.set_tap(&observer_);
  set_hosts();
  set_facts();
  add_checkers();
  shared_.max_clients = plan.max_clients;
  gateway_ =
      std::make_unique<proxy::Gateway>(proxy::Gateway::Parts{.loop = loop_,
                                                             .log = log_,
                                                             .names = names_,
                                                             .setup = make_setup(plan_, nullptr),
                                                             .shared = shared_,
                                                             .reserve = reserve_,
                                                             .seed = plan.seed});
  const Result<SocketAddress> bound = gateway_->listen(IpPort{kGate, kGatePort}, std::size_t{0});
  HG_ASSERT(bound.has_value());
  for (std::size_t i = 0; i < plan_.upstreams.size(); ++i) {
    upstreams_.push_back(std::make_unique<Upstream>(stage_, i));
  }
  for (std::size_t i = 0; i < plan_.clients.size(); ++i) {
    clients_.push_back(std::make_unique<Client>(stage_, i));
    if (!plan_.clients[i].steps.empty()) clients_.back()->start();
  }
  schedule_ordeals();
}

void Life::set_hosts() {
  const Weather& weather = plan_.weather;
  io::SimHost& gate = network_.host(kGate);
  gate.ports = plan_.ports;
  gate.descriptor_limit = plan_.descriptors;
  gate.send_buffer_bytes = weather.send_buffer_bytes;
  network_.host(kClients).receive_window_bytes = weather.client_window_bytes;
  for (std::size_t i = 0; i < plan_.upstreams.size(); ++i) {
    for (std::size_t k = 0; k < plan_.upstreams[i].addresses.size(); ++k) {
      network_.host(upstream_address(i, k)).receive_window_bytes = weather.upstream_window_bytes;
    }
  }
}

void Life::set_facts() {
  facts_.rules.push_back(std::make_unique<Rules>(Rules{plan_.limits, plan_.half_close}));
  facts_.idle_shortest = facts_.idle_longest = plan_.limits.idle_timeout;
  facts_.period = sweep_period(plan_.limits);
  for (const UpstreamPlan& upstream : plan_.upstreams) {
    facts_.pool_idle_longest.push_back(upstream.pool_idle);
  }
  for (const Ordeal& ordeal : plan_.ordeals) {
    if (ordeal.kind != Ordeal::Kind::reload) continue;
    facts_.idle_shortest = std::min(facts_.idle_shortest, ordeal.limits.idle_timeout);
    facts_.idle_longest = std::max(facts_.idle_longest, ordeal.limits.idle_timeout);
    facts_.period = std::max(facts_.period, sweep_period(ordeal.limits));
    if (ordeal.which >= plan_.upstreams.size()) continue;
    Ms& longest = facts_.pool_idle_longest[ordeal.which];
    longest = std::max(longest, ordeal.pool_idle);
  }
  if (plan_.lacks_clients() || plan_.lacks_descriptors()) facts_.accept_pause = kAcceptPause;
  facts_.slack = plan_.weather.worker_stall + Ms{1};
}

void Life::add_checkers() {
  observer_.add(make_replay_checker(facts_, stage_));
  observer_.add(make_leaving_checker(facts_, stage_));
  observer_.add(make_answers_checker(facts_, stage_));
  observer_.add(make_reasons_checker(facts_, stage_));
  observer_.add(make_turns_checker(facts_, stage_));
  observer_.add(make_bounds_checker(facts_, stage_));
}

void Life::stop() {
  if (facts_.stopped_at) return;
  facts_.stopped_at = now();
  journal_.note(now(), "judge", "stops the gateway");
  gateway_->stop([this] { facts_.ended_at = now(); });
  if (plan_.lacks_descriptors()) return;
  for (const auto& link : facts_.links) {
    const bool queued = link->kind == Link::Kind::client && link->established && !link->accepted;
    if (!queued || link->failed) continue;
    court_.object("I12",
                  fmt::format("{} was in the queue when the stop began, and was not accepted",
                              link->socket.connection));
  }
}

// Without effect once the stop has begun.
void Life::reload(const Ordeal& ordeal) {
  journal_.note(now(), "judge", "reloads");
  gateway_->adopt(make_setup(plan_, &ordeal));
  if (facts_.stopped_at) return;
  facts_.rules.push_back(std::make_unique<Rules>(Rules{ordeal.limits, ordeal.half_close}));
}

void Life::schedule_ordeals() {
  for (const Ordeal& ordeal : plan_.ordeals) {
    if (ordeal.at == kNotAtAll) continue;
    if (ordeal.kind == Ordeal::Kind::restart) {
      network_.at(now() + ordeal.at, [this, &ordeal] {
        upstreams_[ordeal.which]->restart(ordeal.leave, ordeal.away);
      });
      continue;
    }
    network_.at(now() + ordeal.at, [this, &ordeal] {
      loop_.post([this, &ordeal] {
        if (!gateway_) return;
        switch (ordeal.kind) {
          case Ordeal::Kind::restart: return;  // not the gateway's
          case Ordeal::Kind::stop: return stop();
          case Ordeal::Kind::cut:
            stop();
            facts_.cut_at = facts_.cut_at.value_or(now());
            journal_.note(now(), "judge", "cuts what is left");
            return gateway_->cut();
          case Ordeal::Kind::reload: return reload(ordeal);
        }
      });
    });
  }
}

void Life::turn(Time until) {
  loop_.turn(until);
  log_.flush();
  ++turns_;
  observer_.turn_ended();
  if (court_.objected() && objected_in_ == 0) objected_in_ = turns_;
  const Weather& weather = plan_.weather;
  if (weather.worker_stall_percent == 0) return;
  // By the time and not by the number of turns, so that a smaller life stalls where the whole one
  // did.
  io::SimRandom random(plan_.seed ^ static_cast<std::uint64_t>(now().time_since_epoch().count()));
  if (!random.percent(weather.worker_stall_percent)) return;
  const auto most = static_cast<std::uint64_t>(weather.worker_stall.count());
  network_.spend(Duration(static_cast<Duration::rep>(random.below(most + 1))));
}

void Life::run_until(Time time) {
  while (!court_.objected() && now() < time && turns_ < kMostTurns) turn(time);
}

bool Life::everybody_left() const {
  if (facts_.ended_at) return true;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (plan_.clients[i].steps.empty()) continue;
    if (!clients_[i]->over() && !clients_[i]->idle()) return false;
  }
  for (const Link* link : facts_.open) {
    if (link->kind == Link::Kind::client && link->due() != nullptr) return false;
  }
  return true;
}

// Somebody for whom nothing moves. (A tunnel without an idle timeout has no end; and a slow reader
// who takes as much as is asked of it may go on.)
bool Life::somebody_waits() const {
  return std::ranges::any_of(facts_.open, [this](const Link* link) {
    const Call* const call = link->due();
    if (link->kind != Link::Kind::client || call == nullptr) return false;
    if (now() - std::max(link->last_taken, link->last_acknowledged) < kLongestSilence) return false;
    return !call->is_tunnel() || call->rules->limits.tunnel_idle_timeout.count() > 0;
  });
}

// Until nobody wants anything any more, or it is as clear as can be that it will never end.
void Life::live_on() {
  const Time longest = now() + kLongestLife;
  while (!court_.objected() && now() < longest && turns_ < kMostTurns && !everybody_left()) {
    turn(std::min(longest, now() + Ms{60'000}));
  }
  if (!court_.objected() && now() >= longest && somebody_waits()) {
    court_.object("I11", "after three hours somebody still waits for an answer");
  }
  if (turns_ >= kMostTurns) court_.object("I11", "the loop turns and turns, and nothing ends");
}

// I12: the process exits. What a client or an upstream still does by then changes nothing.
void Life::end() {
  stop();
  const Duration grace = plan_.limits.grace;
  const Time latest = *facts_.stopped_at + grace + facts_.period + facts_.slack;
  while (!court_.objected() && !facts_.ended_at && now() <= latest) turn(latest + Ms{1});
  if (!court_.objected() && !facts_.ended_at) {
    court_.object(
        "I12",
        fmt::format("{} sessions are left {} ms after the stop; the grace is {} ms",
                    gateway_->session_count(), to_ms(now() - *facts_.stopped_at), grace.count()));
  }
}

// Behind an objection: ends the gateway, whatever state it is in, without another look.
void Life::put_down() {
  if (!gateway_) return;
  gateway_->cut();
  for (int i = 0; i < 1'000 && gateway_->session_count() > 0; ++i) loop_.turn(now() + Ms{1});
  gateway_.reset();
  loop_.turn(now() + Ms{1});
}

// I8: nothing is left.
void Life::check_rest() {
  for (std::size_t i = 0; i < stats::kCounters; ++i) {
    counters_[i] = gateway_->counters().get(static_cast<stats::Counter>(i));
  }
  if (court_.objected()) return;
  if (shared_.clients.load() != 0) court_.object("I8", "clients are still counted");
  gateway_.reset();
  run_until(now() + Ms{1});
  for (const Link* link : facts_.open) {
    court_.object("I8", fmt::format("connection {} is still open", link->socket.connection));
  }
  const std::size_t left = network_.host(kGate).descriptors;
  if (left != 0) court_.object("I8", fmt::format("{} descriptors are still open", left));
  if (court_.objected() && objected_in_ == 0) objected_in_ = turns_;
}

Outcome Life::run() {
  live_on();
  // Idle connections are the gateway's to end, pooled ones too.
  if (!facts_.ended_at) {
    run_until(now() + facts_.idle_longest + facts_.period + kLastWords);
    end();
  }
  check_rest();
  if (!court_.objected()) {
    network_.run_for(kLastWords);
    check_messages({facts_, plan_, clients_, upstreams_, court_});
  }
  Outcome result = outcome();
  put_down();
  return result;
}

Outcome Life::outcome() const {
  Outcome result;
  result.invariant = court_.invariant();
  result.objection = court_.text();
  result.turn = objected_in_;
  result.hash = journal_.hash();
  result.events = journal_.events();
  result.lived = now() - born_;
  result.timeline = journal_.lines();
  result.connections = facts_.links.size();
  result.counters = counters_;
  for (const auto& link : facts_.links) {
    result.resets += link->failed ? 1 : 0;
    for (const auto& call : link->calls) {
      result.calls += call->head ? 1 : 0;
      result.answered += call->response.complete ? 1 : 0;
    }
  }
  return result;
}

}  // namespace

Outcome live(const Plan& plan, Keep keep) { return Life(plan, keep).run(); }

}  // namespace hushgate::swarm
