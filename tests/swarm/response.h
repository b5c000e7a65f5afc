// What an upstream of a life says, as bytes.
#pragma once

#include <cstddef>
#include <string>

#include "tests/swarm/plan.h"

namespace hushgate::swarm {

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

struct RawResponse {
  std::string bytes;
  std::size_t interim_bytes = 0;  // in front
  std::size_t head_bytes = 0;     // of the final response, behind them
};

enum class Keeping : std::uint8_t { open, closes };

// The answer number `number` to the ask: its interim responses, its head and its body (a tunnel's
// bytes behind a 101). Empty for manners that say nothing.
RawResponse response_to(const Ask& ask, unsigned number, const Answer& answer, Keeping keeping);
// So many bytes that nobody asked for; the first ones of an answer named kStrayName.
std::string stray_piece(std::size_t bytes);

}  // namespace hushgate::swarm
