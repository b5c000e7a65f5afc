// How long behind the request's last byte a client's FIN came (CONTRACT section 1: that tells a
// half-close from a client that left). Small: every idle connection has one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace hushgate::proxy {

class ClientFin {
 public:
  bool seen() const { return seen_; }
  // For the first time; the last bytes were taken `behind_bytes` ago. `by_kernel`: as
  // io::Stream::finish_delay() tells.
  void note(Duration behind_bytes, Duration by_kernel) {
    seen_ = true;
    by_loop_us_ = microseconds(behind_bytes);
    by_kernel_us_ = microseconds(by_kernel);
  }
  // Bytes were taken. They lay unread when the FIN was seen.
  void note_bytes() { overtaken_ = seen_; }

  // As this loop saw it, or, if it was kept from looking, as the kernel did. Bytes that lay unread
  // while their FIN came can only be timed by the kernel; where it cannot tell, they came together.
  Duration delay() const {
    if (overtaken_ && by_kernel_us_ == kLongest) return Duration::zero();
    return std::chrono::microseconds(overtaken_ ? by_kernel_us_
                                                : std::min(by_loop_us_, by_kernel_us_));
  }

  // Told the phase table, or met by reading.
  bool judged = false;

 private:
  static constexpr std::uint32_t kLongest = std::numeric_limits<std::uint32_t>::max();  // 71 min

  static std::uint32_t microseconds(Duration delay) {
    const auto whole = std::chrono::floor<std::chrono::microseconds>(delay).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole, 0, kLongest));
  }

  bool seen_ = false;
  bool overtaken_ = false;
  std::uint32_t by_loop_us_ = 0;
  std::uint32_t by_kernel_us_ = 0;
};

}  // namespace hushgate::proxy
