// What the kernel is given to hand back with an event: whom it concerns, in 64 bits.
#pragma once

#include <cstdint>

namespace hushgate::io {

// `kind` is the backend's own (8 bits). The generation (24 bits) grows each time the slot is freed,
// so an event that comes late finds another generation and is dropped.
struct Token {
  std::uint8_t kind = 0;
  std::uint32_t generation = 0;
  std::uint32_t slot = 0;

  static constexpr std::uint32_t kGenerationMask = 0xFF'FFFF;

  constexpr std::uint64_t pack() const {
    return (std::uint64_t{kind} << 56U) | (std::uint64_t{generation & kGenerationMask} << 32U) |
           slot;
  }
  static constexpr Token unpack(std::uint64_t value) {
    return {static_cast<std::uint8_t>(value >> 56U),
            static_cast<std::uint32_t>(value >> 32U) & kGenerationMask,
            static_cast<std::uint32_t>(value)};
  }
};

}  // namespace hushgate::io
