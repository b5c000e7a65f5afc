// Which fields are worth a place in HPACK's dynamic table (RFC 7541 section 2.3.2): those that were
// sent before. One that is new with every message, an identifier or a time, would only push out the
// others, and costs both ends the most: every entry of its name is compared with it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hushgate::h2 {

class RepeatFilter {
 public:
  // Whether this field was seen here before and, since then, not too many others. Wrong answers are
  // possible and rare, and cost a few bytes only.
  bool seen_before(std::string_view name, std::string_view value);

 private:
  // A dynamic table of 4 096 bytes has 100 fields.
  static constexpr unsigned kRowBits = 6;
  using Row = std::array<std::uint16_t, 4>;  // the newest first

  std::array<Row, 1 << kRowBits> rows_{};
};

}  // namespace hushgate::h2
