#include "h2/floods.h"

#include <algorithm>

namespace hushgate::h2 {
namespace {

struct Rule {
  std::string_view name;
  std::uint32_t budget;
  std::uint32_t most_excuses;
};

// Budgets: far above what programs in use do by themselves, far below what costs anything. Resets:
// a browser tab with all its streams may go at once, twice. Excuses of window updates and pings are
// as many as frames of 16 KiB could be on the way in the largest window there is.
constexpr std::array<Rule, kFloods> kRules{{
    {"resets", 250, 1'000},
    {"made_resets", 100, 100},
    {"settings", 32, 0},
    {"pings", 100, 131'072},
    {"priorities", 200, 1'024},
    {"empty_frames", 100, 0},
    {"window_updates", 1'000, 1'048'576},
}};

constexpr std::size_t index(Flood kind) { return static_cast<std::size_t>(kind); }

// A frame's share of its budget, as the time in which it comes back.
constexpr Duration share(const Rule& rule) { return Duration{kFloodRefill} / rule.budget; }

constexpr bool shares_are_exact() {
  return std::ranges::all_of(
      kRules, [](const Rule& rule) { return share(rule) * rule.budget == Duration{kFloodRefill}; });
}
static_assert(shares_are_exact());

}  // namespace

std::string_view name(Flood kind) { return kRules[index(kind)].name; }

std::uint32_t flood_budget(Flood kind) { return kRules[index(kind)].budget; }

std::uint32_t most_excuses(Flood kind) { return kRules[index(kind)].most_excuses; }

bool Floods::note(Flood kind, Time now) {
  Bucket& bucket = buckets_[index(kind)];
  if (bucket.excuses > 0) {
    --bucket.excuses;
    return true;
  }
  const Time full_at = std::max(bucket.full_at, now) + share(kRules[index(kind)]);
  if (full_at - now > kFloodRefill) return false;
  bucket.full_at = full_at;
  return true;
}

void Floods::note_stream() {
  excuse(Flood::priorities, kPrioritiesPerStream);
  excuse(Flood::window_updates, kWindowUpdatesPerStream);
}

void Floods::note_served() {
  excuse(Flood::resets, 1);
  excuse(Flood::made_resets, 1);
}

void Floods::note_data_sent(std::uint32_t frames) {
  excuse(Flood::window_updates, std::uint64_t{frames} * kWindowUpdatesPerData);
  excuse(Flood::pings, std::uint64_t{frames} * kPingsPerData);
}

void Floods::excuse(Flood kind, std::uint64_t more) {
  std::uint32_t& excuses = buckets_[index(kind)].excuses;
  const std::uint64_t most = kRules[index(kind)].most_excuses;
  excuses = static_cast<std::uint32_t>(std::min(excuses + more, most));
}

}  // namespace hushgate::h2
