// Learns from an upstream that closes idle connections earlier than we do, so that the pool lets go
// of them first.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace hushgate::upstream {

// A restart closes connections of all ages at one moment and teaches nothing; a keep-alive timeout
// closes them at one age, at different moments. So two closes count as a habit when they are kApart
// in time and alike in age.
class EarlyClose {
 public:
  static constexpr Ms kApart{200};
  static constexpr Ms kLeastAge{50};  // younger ones were closed for another reason than idling
  static constexpr Ms kRemembered{600'000};

  // An idle connection was closed by the upstream's FIN after `age`. True: the habit is new or has
  // become shorter.
  bool observe(Duration age, Time now) {
    if (age < kLeastAge) return false;
    const bool alike = last_age_ && age < *last_age_ * 5 / 4 && *last_age_ < age * 5 / 4;
    const bool habit = alike && now - last_at_ >= kApart;
    if (habit || !alike) {
      last_at_ = now;
      last_age_ = age;
    }
    if (!habit) return false;
    const Duration safe = age - std::max<Duration>(age / 4, kLeastAge / 2);
    learned_at_ = now;
    if (learned_ && *learned_ <= safe) return false;
    learned_ = safe;
    return true;
  }

  // How long a connection may idle as far as this is known.
  Duration limit(Duration configured, Time now) const {
    if (!learned_ || now - learned_at_ > kRemembered) return configured;
    return std::min(configured, *learned_);
  }

 private:
  std::optional<Duration> last_age_;
  Time last_at_{};
  std::optional<Duration> learned_;
  Time learned_at_{};
};

}  // namespace hushgate::upstream
