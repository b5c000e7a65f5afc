#include "tests/swarm/draw_clients.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hushgate::swarm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostDrips = 40;

}  // namespace

ClientPlan Clients::draw() {
  client_ = {};
  fill(kinds_.pick(dice_));
  return std::exchange(client_, {});
}

void Clients::fill(ClientKind kind) {
  switch (kind) {
    case ClientKind::keeps_alive: return keep_alive();
    case ClientKind::pipelines: return pipeline();
    case ClientKind::drips_head: return drip_head();
    case ClientKind::drips_body: return drip_body();
    case ClientKind::half_closes: return finish_behind(Duration::zero());
    case ClientKind::aborts: return finish_behind(dice_.time(1ms, 1s));
    case ClientKind::leaves_asking: return leave_asking();
    case ClientKind::leaves_hearing: return leave_hearing();
    case ClientKind::reads_slowly: return read_slowly();
    case ClientKind::reads_never: return read_never();
    case ClientKind::sends_faults: return send_faults();
    case ClientKind::uploads_early: return upload_early();
    case ClientKind::expects: return expect();
    case ClientKind::says_nothing: return say_nothing();
    case ClientKind::speaks_http10: return speak_http10();
    case ClientKind::upgrades: return upgrade();
    case ClientKind::insists: return insist();
  }
}

// Kinds.

void Clients::keep_alive() {
  const std::uint64_t count = dice_.between(1, 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    ask_and_hear(asks_.any());
    pause(idle_pause());
  }
  part();
}

void Clients::insist() {
  const std::uint64_t count = dice_.between(1, 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    ask_and_hear(asks_.unsafe());
    if (dice_.percent(30)) pause(idle_pause());
  }
  part();
}

void Clients::pipeline() {
  const std::uint64_t count = dice_.between(2, 6);
  std::size_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) bytes += add(asks_.any());
  if (dice_.percent(50)) {
    const std::size_t first = dice_.between(1, bytes);
    send(first);
    pause(dice_.time(10us, 20ms));
    bytes -= first;
  }
  send(bytes);
  if (dice_.percent(20)) return leave(any_leave());
  await_all();
  part();
}

void Clients::drip_head() {
  if (dice_.percent(50)) ask_and_hear(asks_.safe());
  const std::size_t bytes = add(asks_.any());
  const Duration budget = std::min(plan_.limits.idle_timeout, plan_.limits.request_timeout);
  const std::size_t dripped = dice_.between(1, std::min<std::size_t>(bytes, 60));
  send_in_pieces(dripped, dice_.time(budget / 4, budget * 3 / 2));
  send(bytes - dripped);
  await_all();
  part();
}

void Clients::drip_body() {
  const std::size_t bytes = add(asks_.upload(dice_.spread(50, 4'000)));
  const std::size_t at_once = dice_.between(1, bytes);
  send(at_once);
  const Duration budget = plan_.limits.request_timeout;
  send_in_pieces(bytes - at_once, dice_.time(budget / 4, budget * 2));
  await_all();
  part();
}

void Clients::finish_behind(Duration time) {
  std::size_t bytes = 0;
  const std::uint64_t count = dice_.between(1, 2);
  for (std::uint64_t i = 0; i < count; ++i) bytes += add(asks_.any());
  send(bytes);
  pause(time);
  leave(Leave::finish);
}

void Clients::leave_asking() {
  if (dice_.percent(30)) ask_and_hear(asks_.safe());
  const std::size_t bytes = add(dice_.percent(50) ? asks_.any() : asks_.upload(2'000));
  send(dice_.between(0, bytes));
  if (dice_.percent(50)) pause(dice_.time(10us, 100ms));
  leave(any_leave());
}

void Clients::leave_hearing() {
  if (dice_.percent(30)) ask_and_hear(asks_.safe());
  Ask last = asks_.any();
  if (dice_.percent(50)) asks_.answer_with(last, dice_.spread(1'000, 50'000));
  send(add(std::move(last)));
  pause(dice_.time(100us, plan_.limits.upstream_timeout));
  leave(any_leave());
}

void Clients::read_slowly() {
  const Limits& limits = plan_.limits;
  const Duration window = dice_.time(1ms, limits.send_timeout);
  step({.kind = Step::Kind::read_rate,
        .bytes = dice_.spread(1, 2 * limits.min_send_bytes),
        .time = window});
  Ask only = asks_.any();
  asks_.answer_with(only, dice_.spread(1'000, 100'000));
  send(add(std::move(only)));
  pause(window * dice_.one_of({1, 3, 10, 30}));
  if (dice_.percent(70)) step({.kind = Step::Kind::read_all});
  if (dice_.percent(30)) return leave(any_leave());
  await_all();
  part();
}

void Clients::read_never() {
  step({.kind = Step::Kind::read_rate});
  const std::uint64_t count = dice_.between(1, 3);
  for (std::uint64_t i = 0; i < count; ++i) {
    Ask next = asks_.any();
    asks_.answer_with(next, dice_.spread(1'000, 100'000));
    send(add(std::move(next)));
  }
  if (dice_.percent(30)) leave_late();
}

void Clients::send_faults() {
  if (dice_.percent(40)) ask_and_hear(asks_.any());
  std::size_t bytes = add(asks_.faulty());
  if (dice_.percent(30)) bytes += add(asks_.any());
  if (dice_.percent(30)) {
    const std::size_t first = dice_.between(0, bytes);
    send_in_pieces(first, dice_.time(1ms, 100ms));
    bytes -= first;
  }
  send(bytes);
  if (dice_.percent(20)) return leave(any_leave());
  await_all();
  part();
}

void Clients::upload_early() {
  Ask only = asks_.upload(dice_.spread(500, 60'000));
  asks_.answer_early(only);
  const std::size_t bytes = add(std::move(only));
  const std::size_t first = dice_.between(1, bytes);
  send(first);
  send_in_pieces(bytes - first, dice_.time(1ms, pace_));
  await_all();
  ask_and_hear(asks_.safe());
  part();
}

void Clients::expect() {
  Ask only = asks_.upload(dice_.spread(1, 5'000));
  only.expects = true;
  const std::size_t head = raw_of(only).head_bytes;
  const std::size_t bytes = add(std::move(only));
  send(head);
  if (dice_.percent(15)) {
    pause(dice_.time(1ms, pace_));
    return leave(any_leave());
  }
  if (dice_.percent(80)) {
    step({.kind = Step::Kind::await_continue, .time = dice_.time(10ms, pace_)});
  }
  send(bytes - head);
  await_all();
  if (dice_.percent(50)) ask_and_hear(asks_.safe());
  part();
}

void Clients::say_nothing() {
  if (dice_.percent(30)) ask_and_hear(asks_.safe());
  pause(dice_.percent(50) ? idle_pause() : dice_.time(10us, 100ms));
  if (dice_.percent(70)) leave(any_leave());
}

void Clients::speak_http10() {
  Ask only = asks_.any();
  only.http10 = true;
  if (only.body.shape == BodyShape::chunked) only.body.shape = BodyShape::length;
  send(add(std::move(only)));
  if (dice_.percent(20)) return leave(any_leave());
  await_all();
  part();
}

void Clients::upgrade() {
  if (dice_.percent(30)) ask_and_hear(asks_.safe());
  Ask only = asks_.upgrade();
  const std::size_t tunnel = only.tunnel_bytes;
  ask_and_hear(std::move(only));
  if (dice_.percent(30)) {
    step({.kind = Step::Kind::read_rate,
          .bytes = dice_.spread(1, 4'096),
          .time = dice_.time(1ms, plan_.limits.send_timeout)});
  }
  const std::size_t first = dice_.between(0, tunnel);
  send(first);
  pause(dice_.time(1ms, 500ms));
  send(tunnel - first);
  pause(dice_.time(1ms, pace_));
  if (dice_.percent(80)) leave(any_leave());
}

// Steps.

std::size_t Clients::add(Ask ask) {
  client_.asks.push_back(std::move(ask));
  return raw_of(client_.asks.back()).bytes.size();
}

void Clients::ask_and_hear(Ask ask) {
  send(add(std::move(ask)));
  await_all();
}

void Clients::step(const Step& step) { client_.steps.push_back(step); }

void Clients::send(std::size_t bytes) {
  if (bytes > 0) step({.kind = Step::Kind::send, .bytes = bytes});
}

void Clients::send_in_pieces(std::size_t bytes, Duration all_time) {
  if (bytes == 0) return;
  const std::size_t most = std::min(bytes, kMostDrips);
  const std::size_t pieces = dice_.between(1, most);
  const std::size_t piece = (bytes + pieces - 1) / pieces;
  const Duration gap = all_time / static_cast<Duration::rep>(pieces);
  for (std::size_t at = 0; at < bytes; at += piece) {
    send(std::min(piece, bytes - at));
    pause(gap);
  }
}

void Clients::pause(Duration time) {
  if (time > Duration::zero()) step({.kind = Step::Kind::pause, .time = time});
}

void Clients::await_all() { step({.kind = Step::Kind::await, .bytes = client_.asks.size()}); }

void Clients::leave(Leave how) { step({.kind = Step::Kind::leave, .leave = how}); }

void Clients::leave_late() {
  pause(dice_.time(1ms, pace_));
  leave(any_leave());
}

void Clients::part() {
  if (dice_.percent(60)) return leave(Leave::close);
  if (dice_.percent(50)) leave_late();
}

// About as long as something idle lives here, give or take what the way there takes.
Duration Clients::idle_pause() {
  const UpstreamPlan& upstream =
      plan_.upstreams[client_.asks.empty() ? 0 : client_.asks.back().upstream];
  const std::optional<Duration> closes_after =
      client_.asks.empty() ? std::nullopt : client_.asks.back().answers.front().closes_after;
  const Duration edge = dice_.one_of<Duration>(
      {closes_after.value_or(1ms), closes_after.value_or(1ms), upstream.idle_timeout.value_or(1ms),
       upstream.pool_idle, plan_.limits.idle_timeout, 1ms});
  const Duration jitter = 2ms + plan_.weather.latency_max * 2;
  return std::max(Duration::zero(), edge - jitter + dice_.up_to(2 * jitter));
}

Leave Clients::any_leave() {
  return dice_.one_of({Leave::finish, Leave::close, Leave::reset, Leave::vanish});
}

}  // namespace hushgate::swarm
