#include "io/alarm.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "io/sim_fixture.h"
#include "io/sim_random.h"

namespace hushgate::io {
namespace {

TEST(Alarm, RingsInTheOrderOfTheirTimesWhateverTheOrderOfSetting) {
  SimLoop sim;
  std::string order;
  Counted targets[3];
  Alarm late(targets[0]);
  Alarm early(targets[1]);
  Alarm middle(targets[2]);
  targets[0].body = [&] { order += "late "; };
  targets[1].body = [&] { order += "early "; };
  targets[2].body = [&] { order += "middle "; };
  const Time start = sim.loop.now();
  sim.loop.set_alarm(late, start + Ms(30));
  sim.loop.set_alarm(early, start + Ms(10));
  sim.loop.set_alarm(middle, start + Ms(20));
  sim.run_for(Ms(40));
  EXPECT_EQ(order, "early middle late ");
}

TEST(Alarm, NeverRingsEarlyAndOnlyOnce) {
  SimLoop sim;
  Counted target;
  Alarm alarm(target);
  const Time due = sim.loop.now() + Ms(10);
  sim.loop.set_alarm(alarm, due);
  sim.run_until(due - Duration(1));
  EXPECT_EQ(target.runs, 0);
  EXPECT_TRUE(alarm.pending());
  sim.run_until(due);
  EXPECT_EQ(target.runs, 1);
  EXPECT_FALSE(alarm.pending());
  sim.run_for(Ms(100));
  EXPECT_EQ(target.runs, 1);
}

TEST(Alarm, CancelledMovedAndDestroyedOnesDoNotRingAtTheOldTime) {
  SimLoop sim;
  Counted cancelled_target;
  Counted moved_target;
  Counted destroyed_target;
  Alarm cancelled(cancelled_target);
  Alarm moved(moved_target);
  auto destroyed = std::make_unique<Alarm>(destroyed_target);
  const Time start = sim.loop.now();
  for (Alarm* alarm : {&cancelled, &moved, destroyed.get()}) {
    sim.loop.set_alarm(*alarm, start + Ms(10));
  }
  cancelled.cancel();
  cancelled.cancel();
  sim.loop.set_alarm(moved, start + Ms(50));
  destroyed.reset();
  sim.run_until(start + Ms(49));
  EXPECT_EQ(cancelled_target.runs + moved_target.runs + destroyed_target.runs, 0);
  sim.run_until(start + Ms(50));
  EXPECT_EQ(moved_target.runs, 1);
}

TEST(Alarm, SeveralForOneTargetInATurnRunItOnce) {
  SimLoop sim;
  Counted target;
  Alarm one(target);
  Alarm two(target);
  const Time due = sim.loop.now() + Ms(5);
  sim.loop.set_alarm(one, due);
  sim.loop.set_alarm(two, due);
  sim.run_until(due);
  EXPECT_EQ(target.runs, 1);
}

TEST(Alarm, OneThatIsAlreadyDueRingsInTheNextTurn) {
  SimLoop sim;
  Counted target;
  Alarm alarm(target);
  sim.loop.set_alarm(alarm, sim.loop.now() - Ms(1));
  sim.loop.turn(kNever);
  EXPECT_EQ(target.runs, 1);
}

TEST(AlarmQueue, MayEndBeforeItsAlarms) {
  Counted target;
  Alarm alarm(target);
  {
    AlarmQueue queue;
    queue.set(alarm, kNever);
    EXPECT_TRUE(alarm.pending());
  }
  EXPECT_FALSE(alarm.pending());
}

TEST(AlarmQueue, AnyOrderOfSettingMovingAndCancellingKeepsTheEarliestOnTop) {
  SimRandom random(7);
  Counted target;
  std::vector<std::unique_ptr<Alarm>> alarms;
  for (int i = 0; i < 60; ++i) alarms.push_back(std::make_unique<Alarm>(target));
  AlarmQueue queue;
  for (int step = 0; step < 5'000; ++step) {
    Alarm& alarm = *alarms[random.below(alarms.size())];
    if (random.percent(40)) {
      alarm.cancel();
    } else {
      queue.set(alarm, Time(Duration(static_cast<std::int64_t>(random.below(1'000)))));
    }
    Time earliest = kNever;
    for (const auto& each : alarms) {
      if (each->pending()) earliest = std::min(earliest, each->due());
    }
    ASSERT_EQ(queue.earliest(), earliest) << "step " << step;
  }
}

}  // namespace
}  // namespace hushgate::io
