// A plan from a seed. Each seed draws its own weights first (swarm testing): which kinds of clients
// and upstreams there are in this life, and how many of each, so that rare kinds meet often in some
// lives.
#pragma once

#include <cstdint>

#include "tests/swarm/plan.h"

namespace hushgate::swarm {

// The same on every machine and in every build.
Plan draw(std::uint64_t seed);

}  // namespace hushgate::swarm
