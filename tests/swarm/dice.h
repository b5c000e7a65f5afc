// Seeded choices for drawing a plan: the same on every machine and in every build, so integers
// only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/clock.h"
#include "io/sim_random.h"

namespace hushgate::swarm {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  bool percent(unsigned share) { return random_.percent(share); }
  // Both ends included, as in the rest.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    return random_.between(first, last);
  }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[random_.below(values.size())];
  }
  // Each doubling is as likely as the next. `first` is at least 1.
  std::uint64_t spread(std::uint64_t first, std::uint64_t last) {
    const auto doublings = static_cast<unsigned>(std::bit_width(last / first)) - 1;
    const std::uint64_t low = first << between(0, doublings);
    return between(low, std::min(last, 2 * low - 1));
  }
  Duration time(Duration first, Duration last) { return ticks<Duration>(first, last); }
  Ms ms(Ms first, Ms last) { return ticks<Ms>(first, last); }
  // Any, up to `most`.
  Duration up_to(Duration most) {
    return Duration(
        static_cast<Duration::rep>(between(0, static_cast<std::uint64_t>(most.count()))));
  }

 private:
  template <class Time>
  Time ticks(Time first, Time last) {
    return Time(static_cast<typename Time::rep>(spread(static_cast<std::uint64_t>(first.count()),
                                                       static_cast<std::uint64_t>(last.count()))));
  }

  io::SimRandom random_;
};

// How often each kind of something occurs in a life. Many never do, and now and then only one does.
template <class Kind, std::size_t kKinds>
class Mix {
 public:
  explicit Mix(Dice& dice) {
    const bool one_kind = dice.percent(8);
    for (unsigned& weight : weights_) {
      if (!one_kind && dice.percent(50)) weight = dice.one_of({1U, 1U, 2U, 4U, 8U});
    }
    weights_[dice.between(0, kKinds - 1)] += 1;
  }

  Kind pick(Dice& dice) const {
    unsigned total = 0;
    for (const unsigned weight : weights_) total += weight;
    std::uint64_t left = dice.between(0, total - 1);
    std::size_t kind = 0;
    while (left >= weights_[kind]) left -= weights_[kind++];
    return static_cast<Kind>(kind);
  }

 private:
  std::array<unsigned, kKinds> weights_{};
};

}  // namespace hushgate::swarm
