// What is wrong, or doubtful, about a configuration, and where it was written.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hushgate::config {

// Lines and columns count from 1; a column is a character, not a byte. Line 0: the file as a whole.
struct Position {
  unsigned line = 0;
  unsigned column = 0;

  friend auto operator<=>(const Position&, const Position&) = default;
};

// Who said something, weakest first: later wins over earlier.
enum class Source : std::uint8_t { built_in, file, environment, command_line };

struct Place {
  Source source = Source::built_in;
  std::string name{};   // of the file, of the variable, of the flag
  Position position{};  // in the file

  // "hushgate.json:3:12", "environment HUSHGATE_X", "command line --listen", "command line",
  // "defaults".
  std::string to_string() const;

  friend bool operator==(const Place&, const Place&) = default;
};

struct Fault {
  Place place;
  std::string text;  // names the key, says what it was and what would be right; no line break

  std::string to_string() const { return place.to_string() + ": " + text; }
};

struct Warning {
  Place place;
  std::string text;

  std::string to_string() const { return place.to_string() + ": warning: " + text; }
};

using Faults = std::vector<Fault>;
using Warnings = std::vector<Warning>;

// By source, then by position in the file or by name.
void sort(Faults& faults);

// `text` in double quotes, control bytes escaped, cut after kMaxQuotedBytes with "...".
inline constexpr std::size_t kMaxQuotedBytes = 60;
std::string quoted(std::string_view text);

}  // namespace hushgate::config
