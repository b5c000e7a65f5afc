#include "io/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "io/sim_fixture.h"

namespace hushgate::io {
namespace {

Task<int> one() { co_return 1; }

Task<int> sum(int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) {
    const int value = co_await one();
    total += value;
  }
  co_return total;
}

Task<void> store(int& into, int count) { into = co_await sum(count); }

TEST(Task, StartsOnlyWhenItIsStarted) {
  int result = 0;
  Task<void> root = store(result, 3);
  EXPECT_FALSE(root.done());
  EXPECT_EQ(result, 0);
  root.start();
  EXPECT_TRUE(root.done());
  EXPECT_EQ(result, 3);
}

// Symmetric transfer: depth is bounded by nesting, not by how often something completes at once.
TEST(Task, AMillionSynchronousCompletionsNeedNoStack) {
  int result = 0;
  Task<void> root = store(result, 1'000'000);
  root.start();
  EXPECT_EQ(result, 1'000'000);
}

TEST(Task, FramesAreUsedAgain) {
  void* first = allocate_frame(200);
  free_frame(first, 200);
  void* second = allocate_frame(193);  // the same class of 64 bytes
  EXPECT_EQ(second, first);
  free_frame(second, 193);
  void* large = allocate_frame(1U << 20U);
  free_frame(large, 1U << 20U);
}

class Sleeper final : public Wakeup {
 public:
  Sleeper(std::unique_ptr<Sleeper>& self, std::string& trace) : self_(self), trace_(trace) {
    root_ = live();
  }
  void begin() {
    root_.start();
    after_run();
  }
  bool wanted = false;

 private:
  Task<void> live() {
    trace_ += "begun ";
    while (!wanted) {
      co_await *this;
      trace_ += "woken ";
    }
    co_await last();
  }
  Task<void> last() {
    co_await *this;
    trace_ += "last ";
  }
  void after_run() override {
    trace_ += root_.done() ? "done" : "asleep ";
    if (root_.done()) self_.reset();
  }

  std::unique_ptr<Sleeper>& self_;
  std::string& trace_;
  Task<void> root_;
};

TEST(Wakeup, ResumesWhoeverWaitsAndEndsInItsOwnersHands) {
  SimLoop sim;
  std::string trace;
  std::unique_ptr<Sleeper> sleeper;
  sleeper = std::make_unique<Sleeper>(sleeper, trace);
  sleeper->begin();
  sim.loop.ready(*sleeper);
  sim.loop.turn(Time::min());
  sleeper->wanted = true;
  sim.loop.ready(*sleeper);
  sim.loop.turn(Time::min());
  sim.loop.ready(*sleeper);
  sim.loop.turn(Time::min());
  EXPECT_EQ(trace, "begun asleep woken asleep woken asleep last done");
  EXPECT_EQ(sleeper, nullptr);
}

}  // namespace
}  // namespace hushgate::io
