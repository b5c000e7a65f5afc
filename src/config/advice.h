// What is allowed but seldom meant: told by `hushgate check`, never a reason to refuse.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model.h"

namespace hushgate::config {

inline constexpr std::uint64_t kLowDescriptorLimit = 4'096;

// Client connections at most: as configured, or 0.4 of the descriptor limit (RLIMIT_NOFILE, soft);
// at least 1.
std::uint32_t effective_max_connections(const Limits& limits, std::uint64_t descriptor_limit);

// Whether a connection to this address arrives at one of the configuration's own listeners, the
// admin's included. Of listeners on every address only loopback is known to be this machine's.
bool leads_to_itself(const Config& config, const IpPort& address);

// Each says what may happen and what to write instead.
std::vector<std::string> advice(const Config& config, std::uint64_t descriptor_limit);

}  // namespace hushgate::config
