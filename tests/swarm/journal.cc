#include "tests/swarm/journal.h"

#include <cstring>

namespace hushgate::swarm {

void Journal::mix_text(std::string_view text) {
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    mix(word);
    text.remove_prefix(8);
  }
  std::uint64_t rest = text.size() + 1;
  for (const char c : text) rest = rest << 8U | static_cast<unsigned char>(c);
  mix(rest);
}

void Journal::append(Time now, std::string_view who, std::string text) {
  lines_.push_back(
      fmt::format("{:>14.6f} ms  {:<11} {}", to_ms(now.time_since_epoch()), who, text));
}

}  // namespace hushgate::swarm
