#include "tests/swarm/draw.h"

#include "tests/swarm/dice.h"
#include "tests/swarm/draw_clients.h"
#include "tests/swarm/draw_setting.h"

namespace hushgate::swarm {
namespace {

using namespace std::chrono_literals;

constexpr Ms kFastest{100};
constexpr Ms kSlowest{30'000};

// Of all bodies: each segment is an event.
std::size_t all_bytes(Dice& dice, const Weather& weather) {
  if (weather.max_segment_bytes < 17) return 3'000;
  if (weather.max_segment_bytes < 200) return 30'000;
  return dice.percent(3) ? 2'000'000 : 200'000;
}

std::uint64_t client_count(Dice& dice) {
  if (dice.percent(10)) return dice.between(1, 2);
  return dice.percent(80) ? dice.between(3, 15) : dice.between(15, 40);
}

}  // namespace

Plan draw(std::uint64_t seed) {
  Dice dice(seed);
  Plan plan;
  plan.seed = seed;
  const Ms pace = dice.ms(kFastest, kSlowest);
  plan.weather = draw_weather(dice);
  plan.limits = draw_limits(dice, pace);
  plan.half_close =
      dice.one_of({config::HalfClose::auto_, config::HalfClose::cancel, config::HalfClose::serve});
  draw_upstreams(dice, plan);
  draw_shortage(dice, plan);
  draw_ordeals(dice, plan, pace);
  Clients clients(dice, plan, all_bytes(dice, plan.weather), pace);
  const std::uint64_t count = client_count(dice);
  const Duration crowd = dice.time(1ms, pace);
  for (std::uint64_t i = 0; i < count; ++i) {
    ClientPlan client = clients.draw();
    client.start = dice.up_to(crowd);
    plan.clients.push_back(std::move(client));
  }
  return plan;
}

}  // namespace hushgate::swarm
