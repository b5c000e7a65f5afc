// A loop in virtual time, for tests of what is above the backends.
#pragma once

#include <functional>

#include "io/loop.h"
#include "io/sim.h"

namespace hushgate::io {

class SimLoop {
 public:
  explicit SimLoop(std::uint64_t seed = 1)
      : network({.seed = seed}),
        loop(make_sim_backend(network, network.host(IpAddress::v4(10, 9, 9, 9)),
                              {.turn_cost = Duration::zero()})) {}

  // Turns until that time has come.
  void run_until(Time time) {
    while (loop.now() < time) loop.turn(time);
  }
  void run_for(Duration duration) { run_until(loop.now() + duration); }

  SimNetwork network;
  Loop loop;
};

class Counted final : public Runnable {
 public:
  std::function<void()> body;
  int runs = 0;
  void run() override {
    ++runs;
    if (body) body();
  }
};

}  // namespace hushgate::io
