// The routes of one configuration, ready for lookup. Immutable: any thread may ask.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/model.h"
#include "route/decision.h"

namespace hushgate::route {

// How often a path is decoded at most; one that still changes then is refused.
inline constexpr int kMaxDecodings = 8;

class Table {
 public:
  // `config` is validated, is not copied, and must stay where it is for as long as the table lives.
  explicit Table(const config::Config& config);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Where a request goes. `target` is its path and query as sent (of absolute-form: what follows
  // the authority, may be empty and is then "/"), "*", or for CONNECT the authority. `method` is
  // compared with case.
  //
  // The longest pattern that covers the path wins (`covers`). A path that is not plain is routed as
  // written, with dots removed and slashes merged, and so again after each of up to kMaxDecodings
  // decodings, until nothing is left to decode; unless all agree, it is bad_path. Nothing of the
  // query is looked at. No allocation for plain paths.
  //
  // CONNECT and "*" have no path: they belong to the route "/", CONNECT only if that allows it.
  //
  // Errors: no_route; bad_path (readings disagree, climbs above the root, holds '#'); bad_request
  // (begins with neither '/' nor '?', or "*" with a method other than OPTIONS); method_not_allowed
  // (CONNECT).
  Result<Decision> decide(std::string_view method, std::string_view target) const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Entry {
    std::string_view path;
    std::size_t shorter = kNone;  // the longest entry whose path is a proper prefix of this one's
    Decision decision;
  };

  std::size_t find(std::string_view path) const;
  Result<Decision> decide_carefully(std::string_view path) const;
  Result<Decision> at(std::size_t entry) const;

  std::vector<RouteLimits> limits_;  // one per route, never moved once built
  std::vector<Entry> entries_;       // sorted by path
};

}  // namespace hushgate::route
