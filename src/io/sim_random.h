// Seeded choices of the simulation: SplitMix64. The same on every machine.
#pragma once

#include <cstdint>

namespace hushgate::io {

class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E37'79B9'7F4A'7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
    return z ^ (z >> 31U);
  }
  // 0 to `bound` - 1; `bound` is at least 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    return first + below(last - first + 1);
  }
  bool percent(unsigned share) { return below(100) < share; }

 private:
  std::uint64_t state_;
};

}  // namespace hushgate::io
