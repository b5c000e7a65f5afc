#include "h2/repeat_filter.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hushgate::h2 {

namespace {

constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;

template <typename Word>
std::uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The length, and every byte of a short text; of a long one the ends and the middle, of which
// identifiers and times differ in one at least.
std::uint64_t digest(std::string_view text) {
  const char* const begin = text.data();
  const std::size_t size = text.size();
  if (size >= 8) {
    const std::uint64_t ends = load<std::uint64_t>(begin) ^
                               std::rotl(load<std::uint64_t>(begin + size - 8), 23) ^ (size << 48);
    return size <= 16 ? ends : ends + std::rotl(load<std::uint64_t>(begin + size / 2 - 4), 41);
  }
  if (size >= 4) {
    return load<std::uint32_t>(begin) << 32 ^ load<std::uint32_t>(begin + size - 4) ^ size;
  }
  std::uint64_t word = size;
  for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
  return word;
}

}  // namespace

bool RepeatFilter::seen_before(std::string_view name, std::string_view value) {
  const std::uint64_t name_hash = digest(name) * kOdd;
  const std::uint64_t hash = (digest(value) ^ (name_hash >> 32) ^ name_hash) * kOdd;
  Row& row = rows_[hash >> (64 - kRowBits)];
  const auto print = static_cast<std::uint16_t>((hash >> 36) | 1);  // 0: none was seen
  if (std::ranges::find(row, print) != row.end()) return true;
  std::ranges::copy_backward(row.begin(), row.end() - 1, row.end());
  row.front() = print;
  return false;
}

}  // namespace hushgate::h2
