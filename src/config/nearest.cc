#include "config/nearest.h"

#include <algorithm>
#include <array>
#include <limits>

namespace hushgate::config {
namespace {

constexpr std::size_t kLongest = 80;  // more of a word does not make it any clearer

constexpr std::size_t kShortestBeginning = 3;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool begins(std::string_view word, std::string_view beginning) {
  return beginning.size() >= kShortestBeginning && beginning.size() < word.size() &&
         std::ranges::equal(word.substr(0, beginning.size()), beginning, {}, lower, lower);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  using Row = std::array<std::size_t, kLongest + 1>;
  std::array<Row, 3> rows{};  // before the last one, the last one, this one
  for (std::size_t j = 0; j <= b.size(); ++j) rows[1][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    rows[2][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      rows[2][j] =
          std::min({rows[1][j] + 1, rows[2][j - 1] + 1, rows[1][j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) rows[2][j] = std::min(rows[2][j], rows[0][j - 2] + 1);
    }
    rows[0] = rows[1];
    rows[1] = rows[2];
  }
  return rows[1][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : known) {
    const std::size_t distance = begins(candidate, word) ? 1 : edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace hushgate::config
