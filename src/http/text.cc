#include "http/text.h"

namespace hushgate::http {

std::optional<std::uint64_t> parse_decimal(std::string_view text, std::uint64_t max) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > max / 10 || digit > max - value * 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace hushgate::http
