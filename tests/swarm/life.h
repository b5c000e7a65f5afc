// One life of the gateway: the whole of it on a simulated network, among the peers of a plan, with
// every invariant checked after every turn.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "stats/counters.h"
#include "tests/swarm/journal.h"
#include "tests/swarm/plan.h"

namespace hushgate::swarm {

struct Outcome {
  std::string invariant;  // empty: it was lived without an objection
  std::string objection;
  std::uint64_t turn = 0;  // in which the objection was made
  std::uint64_t hash = 0;  // of everything that happened
  std::uint64_t events = 0;
  Duration lived{};                   // of virtual time
  std::vector<std::string> timeline;  // Keep::text only

  // What happened in it. Told, not checked.
  std::uint64_t connections = 0, calls = 0, answered = 0, resets = 0;
  std::array<std::uint64_t, stats::kCounters> counters{};

  bool objected() const { return !invariant.empty(); }
};

Outcome live(const Plan& plan, Keep keep);

}  // namespace hushgate::swarm
