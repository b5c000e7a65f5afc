// Points and spans of time. The loop reads the clock once a turn; everything else is handed a Time.
#pragma once

#include <chrono>
#include <cstdint>

namespace hushgate {

using Clock = std::chrono::steady_clock;  // monotonic; the simulation makes its own points of it
using Time = Clock::time_point;
using Duration = Clock::duration;  // nanoseconds
using Ms = std::chrono::duration<std::int64_t, std::milli>;

inline constexpr Time kNever = Time::max();

// Milliseconds with three decimals, for logs.
inline double to_ms(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace hushgate
