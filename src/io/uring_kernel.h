// What Linux has beyond the headers of liburing 2.3, by the version that brought it; and which of
// it this kernel has.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace hushgate::io {

inline constexpr unsigned kSetupNoSqArray = 1U << 16;       // 6.6: entries are taken in order
inline constexpr std::uint16_t kBufferRingIncremental = 2;  // 6.12: IOU_PBUF_RING_INC
inline constexpr unsigned kCqeBufferMore = 1U << 4;         // 6.12: of such a ring's buffer
inline constexpr unsigned kFeatureNoIowait = 1U << 17;      // 6.15
inline constexpr unsigned kEnterNoIowait = 1U << 7;         // 6.15: waiting is no disk's fault

// Features without which it works too. False: the kernel lacks it, or it is not to be used.
struct UringFeatures {
  bool no_sq_array = true;
  bool registered_ring = true;      // 5.18: no descriptor look-up at each enter
  bool incremental_buffers = true;  // a receive takes of a buffer what it needs
  bool receive_limit = true;        // 6.17: a multishot receive ends after so many bytes
  bool no_iowait = true;
};

// Of `wanted`, what this kernel has: each is tried. Error.os_error: why io_uring cannot be used at
// all.
Result<UringFeatures> probe_uring(const UringFeatures& wanted);

}  // namespace hushgate::io
