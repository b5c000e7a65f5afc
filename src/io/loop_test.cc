#include "io/loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "io/sim_fixture.h"

namespace hushgate::io {
namespace {

TEST(Loop, BeingMadeReadyTwiceIsOnce) {
  SimLoop sim;
  Counted counted;
  sim.loop.ready(counted);
  sim.loop.ready(counted);
  sim.loop.ready_next_turn(counted);
  sim.loop.turn(Time::min());
  sim.loop.turn(Time::min());
  EXPECT_EQ(counted.runs, 1);
}

TEST(Loop, WhatIsMadeReadyByARunRunsInTheSameTurn) {
  SimLoop sim;
  Counted first;
  Counted second;
  first.body = [&] { sim.loop.ready(second); };
  sim.loop.ready(first);
  sim.loop.turn(Time::min());
  EXPECT_EQ(second.runs, 1);
}

TEST(Loop, WhoMakesItselfReadyRunsAgainInTheNextTurn) {
  SimLoop sim;
  Counted restless;
  restless.body = [&] { sim.loop.ready(restless); };
  sim.loop.ready(restless);
  for (int turn = 1; turn <= 3; ++turn) {
    sim.loop.turn(kNever);
    EXPECT_EQ(restless.runs, turn);
  }
}

class Ending final : public Runnable {
 public:
  Ending(Loop& loop, std::unique_ptr<Ending>& self, int& runs)
      : loop_(loop), self_(self), runs_(runs) {}
  void run() override {
    ++runs_;
    loop_.ready(*this);
    self_.reset();
  }

 private:
  Loop& loop_;
  std::unique_ptr<Ending>& self_;
  int& runs_;
};

TEST(Loop, ARunnableMayEndInItsOwnRun) {
  SimLoop sim;
  int runs = 0;
  std::unique_ptr<Ending> ending;
  ending = std::make_unique<Ending>(sim.loop, ending, runs);
  sim.loop.ready(*ending);
  sim.loop.turn(Time::min());
  sim.loop.turn(Time::min());
  EXPECT_EQ(runs, 1);
}

TEST(Loop, PostedWorkRunsInOrderAndMayPost) {
  SimLoop sim;
  std::string order;
  sim.loop.post([&] {
    order += "a";
    sim.loop.post([&] { order += "c"; });
  });
  sim.loop.post([&] { order += "b"; });
  sim.loop.turn(kNever);
  EXPECT_EQ(order, "ab");
  sim.loop.turn(kNever);
  EXPECT_EQ(order, "abc");
}

TEST(Loop, TheClockStandsStillWithinATurn) {
  SimLoop sim;
  Counted first;
  const Time before = sim.loop.now();
  first.body = [&] { sim.network.spend(std::chrono::seconds(1)); };
  sim.loop.ready(first);
  sim.loop.turn(Time::min());
  EXPECT_EQ(sim.loop.now(), before);
  sim.loop.turn(Time::min());
  EXPECT_EQ(sim.loop.now(), before + std::chrono::seconds(1));
}

}  // namespace
}  // namespace hushgate::io
