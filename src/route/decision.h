// Where an exchange goes.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "config/model.h"

namespace hushgate::route {

// The limits that a route may set for itself, resolved: the route's own value, else that of
// `limits`.
struct RouteLimits {
  Ms upstream_timeout{0};                         // positive
  std::uint64_t min_upload_bytes_per_second = 0;  // 0 = off
  std::uint64_t max_body_bytes = 0;               // 0 = off

  friend bool operator==(const RouteLimits&, const RouteLimits&) = default;
};

// Points into the Config that the Table was made of, and into the Table; valid as long as both are.
// Never null.
struct Decision {
  const config::Route* route = nullptr;
  const config::Upstream* upstream = nullptr;
  const RouteLimits* limits = nullptr;

  friend bool operator==(const Decision&, const Decision&) = default;
};

}  // namespace hushgate::route
