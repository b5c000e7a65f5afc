#include "tests/swarm/draw_setting.h"

#include <algorithm>
#include <tuple>

namespace hushgate::swarm {
namespace {

using namespace std::chrono_literals;

constexpr Ms kShortest{100};
constexpr Ms kLongest{60'000};

std::size_t window_bytes(Dice& dice) {
  return dice.percent(50) ? 65'536 : dice.spread(1'024, 65'536);
}

std::size_t segment_bytes(Dice& dice) {
  if (dice.percent(3)) return dice.between(1, 16);
  return dice.percent(20) ? dice.spread(17, 1'460) : dice.spread(1'460, 9'000);
}

unsigned share(Dice& dice, unsigned most) { return static_cast<unsigned>(dice.between(0, most)); }

// From an eighth of it to four times as much.
Ms about(Dice& dice, Ms pace) {
  return std::clamp(dice.ms(std::max(pace, kShortest) / 8, pace * 4), kShortest, kLongest);
}

void draw_times(Dice& dice, Ms pace, Limits& limits) {
  limits.idle_timeout = about(dice, pace);
  limits.request_timeout = about(dice, pace);
  limits.send_timeout = about(dice, pace);
  limits.upstream_timeout = about(dice, pace);
  limits.connect_timeout = dice.ms(kShortest, 5s);
  limits.connect_total = limits.connect_timeout * dice.one_of({1, 1, 2, 3});
  limits.retry_backoff = dice.ms(1ms, 250ms);
  limits.grace = dice.ms(kShortest, 5s);
  if (dice.percent(50)) limits.tunnel_idle_timeout = about(dice, pace);
}

Reach draw_reach(Dice& dice) {
  return dice.one_of({Reach::listens, Reach::listens, Reach::listens, Reach::refuses,
                      Reach::black_hole, Reach::never_accepts});
}

UpstreamPlan draw_upstream(Dice& dice, bool calm) {
  UpstreamPlan upstream;
  upstream.named = dice.percent(30);
  const std::uint64_t addresses = upstream.named ? dice.between(1, 3) : 1;
  for (std::uint64_t i = 0; i < addresses; ++i) {
    upstream.addresses.push_back(calm ? Reach::listens : draw_reach(dice));
  }
  if (dice.percent(10)) upstream.backlog = static_cast<int>(dice.between(0, 3));
  if (dice.percent(40)) upstream.idle_timeout = dice.time(50ms, 4s);
  upstream.pool_idle = dice.ms(50ms, 4s);
  if (dice.percent(15)) upstream.max_idle = share(dice, 3);
  if (dice.percent(50)) upstream.close_wait = dice.ms(1ms, 1s);
  return upstream;
}

NamePlan draw_name(Dice& dice) {
  return {.takes = dice.percent(5) ? dice.time(1s, 20s) : dice.time(1us, 300ms),
          .fails = dice.percent(15),
          .rotate = dice.between(0, 2),
          .leave_out = dice.between(0, 2)};
}

void draw_amounts(Dice& dice, Limits& limits) {
  limits.min_upload_bytes_per_second = dice.one_of({0U, 100U, 8'192U});
  limits.min_send_bytes = dice.spread(1, 16'384);
  limits.linger_bytes = dice.percent(20) ? 0 : dice.spread(1, 262'144);
  limits.upstream_retries = share(dice, 3);
}

config::HalfClose draw_half_close(Dice& dice) {
  return dice.one_of({config::HalfClose::auto_, config::HalfClose::auto_, config::HalfClose::cancel,
                      config::HalfClose::serve});
}

Ordeal draw_reload(Dice& dice, const Plan& plan, Ms pace) {
  Ordeal reload{.kind = Ordeal::Kind::reload,
                .at = dice.time(1ms, pace * 2),
                .which = dice.between(0, plan.upstreams.size()),
                .limits = plan.limits,
                .half_close = draw_half_close(dice),
                .pool_idle = dice.ms(50ms, 4s)};
  draw_times(dice, pace, reload.limits);
  draw_amounts(dice, reload.limits);
  reload.limits.grace = plan.limits.grace;
  return reload;
}

}  // namespace

Weather draw_weather(Dice& dice) {
  Weather weather;
  weather.latency_max = dice.time(100us, 50ms);
  weather.latency_min = dice.percent(50) ? 100us : dice.time(100us, weather.latency_max);
  weather.max_segment_bytes = segment_bytes(dice);
  weather.client_window_bytes = window_bytes(dice);
  weather.upstream_window_bytes = window_bytes(dice);
  weather.send_buffer_bytes = window_bytes(dice);
  weather.short_takes_percent = share(dice, 60);
  weather.short_writes_percent = share(dice, 60);
  if (dice.percent(15)) {
    weather.worker_stall = dice.time(1ms, 200ms);
    weather.worker_stall_percent = 1 + share(dice, 4);
  }
  if (dice.percent(15)) {
    weather.link_stall = dice.time(10ms, 5s);
    weather.link_stall_percent = 1 + share(dice, 20);
  }
  return weather;
}

Limits draw_limits(Dice& dice, Ms pace) {
  Limits limits;
  limits.upstream_timeout = kLongest;
  if (dice.percent(80)) draw_times(dice, pace, limits);
  draw_amounts(dice, limits);
  const std::uint64_t most_buffered = dice.percent(70) ? 8'192 : 65'536;
  limits.max_buffered_bytes = static_cast<std::uint32_t>(dice.spread(1'024, most_buffered));
  if (dice.percent(3)) limits.max_body_bytes = dice.spread(100, 5'000);
  return limits;
}

void draw_upstreams(Dice& dice, Plan& plan) {
  const bool calm = dice.percent(75);
  const std::uint64_t count = dice.one_of({1U, 1U, 1U, 2U, 3U});
  for (std::uint64_t i = 0; i < count; ++i) plan.upstreams.push_back(draw_upstream(dice, calm));
  const std::uint64_t names = dice.between(0, 4);
  for (std::uint64_t i = 0; i < names; ++i) plan.names.push_back(draw_name(dice));
}

void draw_shortage(Dice& dice, Plan& plan) {
  if (dice.percent(15)) plan.ports = static_cast<std::uint16_t>(dice.spread(3, 40));
  if (dice.percent(15)) plan.max_clients = static_cast<std::uint32_t>(dice.spread(1, 10));
  if (dice.percent(10)) plan.descriptors = dice.spread(8, 60);
}

void draw_ordeals(Dice& dice, Plan& plan, Ms pace) {
  const std::uint64_t reloads = dice.percent(25) ? dice.between(1, 4) : 0;
  for (std::uint64_t i = 0; i < reloads; ++i) {
    plan.ordeals.push_back(draw_reload(dice, plan, pace));
  }
  const std::uint64_t restarts = dice.percent(20) ? dice.between(1, 3) : 0;
  for (std::uint64_t i = 0; i < restarts; ++i) {
    plan.ordeals.push_back({.kind = Ordeal::Kind::restart,
                            .at = dice.time(1ms, pace * 2),
                            .which = dice.between(0, plan.upstreams.size() - 1),
                            .leave = dice.one_of({Leave::close, Leave::reset, Leave::vanish}),
                            .away = dice.time(1ms, 2s)});
  }
  if (dice.percent(50)) {
    const Duration at = dice.time(1ms, pace * 2);
    plan.ordeals.push_back({.kind = Ordeal::Kind::stop, .at = at});
    const Duration cut = at + dice.time(1ms, plan.limits.grace + 100ms);
    if (dice.percent(40)) plan.ordeals.push_back({.kind = Ordeal::Kind::cut, .at = cut});
  }
  // Now and then two of them come at once.
  for (std::size_t i = 1; i < plan.ordeals.size(); ++i) {
    if (dice.percent(20)) plan.ordeals[i].at = plan.ordeals[i - 1].at;
  }
  std::ranges::sort(plan.ordeals, {}, [](const Ordeal& ordeal) {
    return std::tuple(ordeal.at, ordeal.kind, ordeal.which);
  });
}

}  // namespace hushgate::swarm
