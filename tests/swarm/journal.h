// Everything that happens in a life, in order: hashed always (two runs of one seed must agree to
// the last event), kept as text when somebody is to read it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"

namespace hushgate::swarm {

enum class Keep : std::uint8_t { hash_only, text };

class Journal {
 public:
  explicit Journal(Keep keep) : keep_(keep) {}

  // `who`: "client 3", "upstream 0", "net", "gateway", "judge". Everything goes into the hash; the
  // text is made only when it is kept.
  template <class... Values>
  void note(Time now, std::string_view who, fmt::format_string<const Values&...> text,
            const Values&... values) {
    mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    mix_text(who);
    const fmt::string_view words(text);
    mix_text({words.data(), words.size()});
    (mix_value(values), ...);
    ++events_;
    if (keep_ == Keep::hash_only) return;
    append(now, who, fmt::format(text, values...));
  }

  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }
  // One line per event: "   12.345678 ms  client 3   sent 17 bytes".
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void mix(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9E37'79B9'7F4A'7C15ULL;
    hash_ ^= hash_ >> 29U;
  }
  void mix_text(std::string_view text);
  void mix_value(std::string_view text) { mix_text(text); }
  template <class Value>
    requires std::is_integral_v<Value> || std::is_enum_v<Value>
  void mix_value(Value value) {
    mix(static_cast<std::uint64_t>(value));
  }
  void append(Time now, std::string_view who, std::string text);

  Keep keep_;
  std::uint64_t hash_ = 0x51'7C'C1'B7'27'22'0A'95ULL;
  std::uint64_t events_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace hushgate::swarm
