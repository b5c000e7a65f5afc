#include "io/wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "io/sim_fixture.h"
#include "io/sim_random.h"

namespace hushgate::io {
namespace {

constexpr Ms kPeriod{100};
constexpr Duration kRound = std::chrono::milliseconds(25) * 4096;

// Remembers when it was told that its deadline had expired.
class Budget final : public Runnable {
 public:
  explicit Budget(Loop& loop) : deadline(*this), loop_(loop) {}
  void run() override {
    if (!deadline.expired() || expired_at != Time{}) return;
    expired_at = loop_.now();
  }
  Deadline deadline;
  Time expired_at{};

 private:
  Loop& loop_;
};

struct Case {
  SimLoop sim;
  Wheel wheel{sim.loop, kPeriod};
  Budget budget{sim.loop};
};

TEST(Wheel, NothingExpiresEarlyAndNothingLaterThanOnePeriod) {
  for (const Duration length :
       {Duration(1), Duration(Ms(1)), Duration(Ms(24)), Duration(Ms(25)), Duration(Ms(99)),
        Duration(Ms(100)), Duration(Ms(101)), Duration(Ms(12'345)), kRound - Ms(1), kRound,
        kRound + Ms(1), 3 * kRound + Ms(7)}) {
    Case c;
    c.sim.run_for(Ms(13));
    const Time due = c.sim.loop.now() + length;
    c.wheel.set(c.budget.deadline, due);
    c.sim.run_until(due - Duration(1));
    EXPECT_EQ(c.budget.expired_at, Time{}) << length.count();
    EXPECT_TRUE(c.budget.deadline.running());
    c.sim.run_until(due + kPeriod);
    EXPECT_GE(c.budget.expired_at, due) << length.count();
    EXPECT_LE(c.budget.expired_at, due + kPeriod) << length.count();
    EXPECT_FALSE(c.budget.deadline.running());
  }
}

TEST(Wheel, ADeadlineInTheCurrentTickExpires) {
  Case c;
  Budget other(c.sim.loop);
  c.wheel.set(other.deadline, c.sim.loop.now() + std::chrono::hours(1));
  // Shortly after a sweep, so that the tick has been looked at already.
  c.sim.run_for(kPeriod + std::chrono::microseconds(100));
  const Time due = c.sim.loop.now() + std::chrono::microseconds(50);
  c.wheel.set(c.budget.deadline, due);
  c.sim.run_until(due + kPeriod);
  EXPECT_GE(c.budget.expired_at, due);
  other.deadline.clear();
}

TEST(Wheel, ADeadlineThatHasPassedExpiresWithinAPeriod) {
  Case c;
  c.sim.run_for(std::chrono::minutes(5));
  c.wheel.set(c.budget.deadline, c.sim.loop.now() - std::chrono::minutes(3));
  c.sim.run_for(kPeriod);
  EXPECT_NE(c.budget.expired_at, Time{});
}

TEST(Wheel, ClearedAndMovedDeadlinesDoNotExpireAtTheOldTime) {
  Case c;
  Budget moved(c.sim.loop);
  const Time start = c.sim.loop.now();
  c.wheel.set(c.budget.deadline, start + Ms(500));
  c.wheel.set(moved.deadline, start + Ms(500));
  c.budget.deadline.clear();
  c.wheel.set(moved.deadline, start + Ms(2'000));
  c.sim.run_until(start + Ms(1'999));
  EXPECT_EQ(moved.expired_at, Time{});
  c.sim.run_until(start + Ms(2'100));
  EXPECT_NE(moved.expired_at, Time{});
  EXPECT_EQ(c.budget.expired_at, Time{});
}

TEST(Wheel, ClearForgetsAnExpiryThatNobodyLookedAt) {
  SimLoop sim;
  Wheel wheel(sim.loop, kPeriod);
  Counted target;
  Deadline deadline(target);
  wheel.set(deadline, sim.loop.now() + Ms(10));
  sim.run_for(Ms(200));
  EXPECT_TRUE(deadline.expired());
  deadline.clear();
  EXPECT_FALSE(deadline.expired());
  wheel.set(deadline, kNever);
  EXPECT_FALSE(deadline.running());
}

TEST(Wheel, SweepsOnlyWhileSomethingIsOnIt) {
  Case c;
  c.sim.run_for(std::chrono::seconds(10));
  EXPECT_EQ(c.wheel.sweeps(), 0U);
  c.wheel.set(c.budget.deadline, c.sim.loop.now() + Ms(1'000));
  c.sim.run_for(std::chrono::seconds(10));
  EXPECT_LE(c.wheel.sweeps(), 11U);
  EXPECT_GE(c.wheel.sweeps(), 10U);
}

TEST(Wheel, StopsSweepingWhenAllThatWasOnItHasLeft) {
  Case c;
  Budget far(c.sim.loop);
  Budget twin(c.sim.loop);
  const Time due = c.sim.loop.now() + std::chrono::minutes(1);
  c.wheel.set(c.budget.deadline, due);
  c.wheel.set(twin.deadline, due);  // in the same slot
  c.wheel.set(far.deadline, due + 3 * kRound);
  far.deadline.clear();
  c.budget.deadline.clear();
  c.sim.run_for(std::chrono::seconds(10));
  EXPECT_GE(c.wheel.sweeps(), 99U);
  twin.deadline.clear();
  const std::uint64_t sweeps = c.wheel.sweeps();
  c.sim.run_for(std::chrono::seconds(10));
  EXPECT_EQ(c.wheel.sweeps(), sweeps + 1);
  c.wheel.set(far.deadline, c.sim.loop.now() + Ms(50));
  c.sim.run_for(kPeriod);
  EXPECT_NE(far.expired_at, Time{});
}

TEST(Wheel, AShorterPeriodTakesEffectAtOnce) {
  Case c;
  Budget other(c.sim.loop);
  c.wheel.set(other.deadline, c.sim.loop.now() + std::chrono::hours(1));
  c.wheel.set_period(Ms(25));
  const Time due = c.sim.loop.now() + Ms(10);
  c.wheel.set(c.budget.deadline, due);
  c.sim.run_until(due + Ms(25));
  EXPECT_NE(c.budget.expired_at, Time{});
  other.deadline.clear();
}

TEST(Wheel, ALongerPeriodPutsOffNoSweepThatIsDue) {
  Case c;
  c.wheel.set(c.budget.deadline, c.sim.loop.now() + Ms(10));
  c.wheel.set_period(Ms(1'000));
  c.sim.run_for(kPeriod);
  EXPECT_NE(c.budget.expired_at, Time{});
}

TEST(Wheel, ADestroyedDeadlineLeavesTheWheel) {
  Case c;
  auto budget = std::make_unique<Budget>(c.sim.loop);
  c.wheel.set(budget->deadline, c.sim.loop.now() + Ms(10));
  budget.reset();
  c.sim.run_for(std::chrono::seconds(1));
}

// Thousands of deadlines, set, moved and cleared at random times: every one keeps the promise.
TEST(Wheel, ManyDeadlinesAtRandomKeepThePromise) {
  SimLoop sim;
  Wheel wheel(sim.loop, kPeriod);
  SimRandom random(11);
  std::vector<std::unique_ptr<Budget>> budgets;
  for (int i = 0; i < 3'000; ++i) {
    budgets.push_back(std::make_unique<Budget>(sim.loop));
    const auto ms = static_cast<std::int64_t>(random.below(400'000));
    wheel.set(budgets.back()->deadline, sim.loop.now() + Ms(ms));
    if (random.percent(20)) budgets[random.below(budgets.size())]->deadline.clear();
    if (random.percent(30)) {
      sim.run_for(std::chrono::microseconds(static_cast<std::int64_t>(random.below(90'000))));
    }
  }
  sim.run_for(Ms(400'000) + kPeriod);
  for (const auto& budget : budgets) {
    EXPECT_FALSE(budget->deadline.running());
    if (budget->expired_at == Time{}) continue;
    EXPECT_GE(budget->expired_at, budget->deadline.due());
    EXPECT_LE(budget->expired_at, budget->deadline.due() + kPeriod);
  }
}

}  // namespace
}  // namespace hushgate::io
