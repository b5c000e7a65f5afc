#include "proxy/timers.h"

#include <gtest/gtest.h>

#include "io/sim_fixture.h"

namespace hushgate::proxy {
namespace {

using phase::ClientClock;
using std::chrono::seconds;

constexpr Ms kPeriod{25};

// A timer on a wheel in virtual time, and when its target was made ready.
struct Bench {
  explicit Bench(const Limits& the_limits = {}) : limits(the_limits) { begin(); }
  // Its first request's first byte comes.
  void begin() {
    timer.begin_request(request, now());
    timer.set_upload_rate(limits.min_upload_bytes_per_second);
  }

  Time now() const { return sim.loop.now(); }
  void pass(Duration duration) { sim.run_for(duration); }
  void run(ClientClock clock, std::int64_t acknowledged = 0) {
    timer.run(clock, now(), acknowledged);
  }
  TimerVerdict judge(std::int64_t acknowledged = 0, std::size_t unacknowledged = 0) {
    return timer.judge(now(), acknowledged, unacknowledged);
  }
  // Lets time pass until the deadline has expired, at most an hour; how long that took.
  Duration until_expired() {
    const Time from = now();
    while (!timer.expired() && now() - from < std::chrono::hours(1))
      sim.loop.turn(now() + seconds(1));
    return now() - from;
  }
  // ... until it has expired and is found to have run out.
  Duration until_run_out(std::int64_t acknowledged = 0, std::size_t unacknowledged = 0) {
    const Time from = now();
    for (int i = 0; i < 10'000; ++i) {
      if (until_expired() >= std::chrono::hours(1)) break;
      if (judge(acknowledged, unacknowledged) == TimerVerdict::ran_out) break;
    }
    return now() - from;
  }

  Limits limits;
  io::SimLoop sim;
  io::Wheel wheel{sim.loop, kPeriod};
  io::Counted target;
  RequestClock request;
  ClientTimer timer{wheel, target, limits};
};

void expect_within_a_period(Duration found, Duration budget) {
  EXPECT_GE(found, budget) << to_ms(found);
  EXPECT_LE(found, budget + kPeriod) << to_ms(found);
}

Limits with_rate(std::uint64_t bytes_per_second) {
  Limits limits;
  limits.min_upload_bytes_per_second = bytes_per_second;
  return limits;
}

TEST(ClientTimer, IdleRunsFromItsBegin) {
  Bench bench;
  bench.run(ClientClock::idle);
  expect_within_a_period(bench.until_run_out(), bench.limits.idle_timeout);
}

TEST(ClientTimer, AnIdleClockFollowsNewLimitsFromItsBegin) {
  for (const Ms next : {Ms{40'000}, Ms{90'000}}) {
    Bench bench;
    Limits other;
    other.idle_timeout = next;
    bench.run(ClientClock::idle);
    bench.pass(seconds(10));
    bench.timer.adopt(other);
    expect_within_a_period(bench.until_run_out(), next - seconds(10));
  }
}

TEST(ClientTimer, AnIdleClockThatHasExpiredGoesOnUnderLongerLimits) {
  Bench bench;
  Limits other;
  other.idle_timeout = Ms{90'000};
  bench.run(ClientClock::idle);
  const Duration passed = bench.until_expired();
  bench.timer.adopt(other);
  EXPECT_FALSE(bench.timer.expired());
  expect_within_a_period(bench.until_run_out(), Ms{90'000} - passed);
}

TEST(ClientTimer, AHeadHasTheLeastOfThreeBudgetsFromItsFirstByte) {
  struct Row {
    Ms idle, request, budget;
  };
  for (const Row& row : {Row{Ms{2'000}, Ms{5'000}, Ms{2'000}}, Row{Ms{5'000}, Ms{3'000}, Ms{3'000}},
                         Row{Ms{600'000}, Ms{600'000}, Ms{60'000}}}) {
    Limits limits;
    limits.idle_timeout = row.idle;
    limits.request_timeout = row.request;
    Bench bench(limits);
    bench.begin();
    bench.run(ClientClock::head);
    expect_within_a_period(bench.until_run_out(), row.budget);
  }
}

TEST(ClientTimer, ReceivingGoesOnFromTheHeadsFirstByte) {
  Bench bench(with_rate(0));
  bench.begin();
  bench.run(ClientClock::head);
  bench.pass(seconds(20));
  bench.run(ClientClock::receive);
  expect_within_a_period(bench.until_run_out(), seconds(40));
}

TEST(ClientTimer, BodyBytesLengthenReceivingByTheirAmountOnly) {
  Bench bench(with_rate(1'000));
  bench.begin();
  bench.run(ClientClock::head);
  bench.run(ClientClock::receive);
  bench.timer.count_body(30'000);
  expect_within_a_period(bench.until_run_out(), seconds(90));
}

TEST(ClientTimer, ADripBuysNothingBeyondItsBytes) {
  Bench bench(with_rate(8'192));
  bench.begin();
  bench.run(ClientClock::head);
  bench.run(ClientClock::receive);
  const Time from = bench.now();
  for (bool over = false; !over;) {
    bench.pass(Ms{300});
    bench.timer.count_body(1);
    over = bench.timer.expired() && bench.judge() == TimerVerdict::ran_out;
    ASSERT_LT(bench.now() - from, seconds(70));
  }
  EXPECT_GE(bench.now() - from, seconds(60));
  EXPECT_LT(bench.now() - from, Ms{60'400});
}

TEST(ClientTimer, WithoutARateTheBudgetIsExact) {
  Bench bench(with_rate(0));
  bench.begin();
  bench.run(ClientClock::head);
  bench.run(ClientClock::receive);
  bench.timer.count_body(1'000'000'000);
  expect_within_a_period(bench.until_run_out(), seconds(60));
}

TEST(ClientTimer, APauseKeepsTheRemainder) {
  Bench bench(with_rate(0));
  bench.begin();
  bench.run(ClientClock::head);
  bench.pass(seconds(10));
  bench.run(ClientClock::receive);
  for (int i = 0; i < 3; ++i) {
    bench.pass(seconds(10));
    bench.run(ClientClock::none);
    EXPECT_GE(bench.until_expired(), std::chrono::hours(1));
    bench.run(ClientClock::receive);
  }
  expect_within_a_period(bench.until_run_out(), seconds(20));
}

TEST(ClientTimer, ANewRequestHasAWholeBudget) {
  Bench bench(with_rate(1'000));
  bench.begin();
  bench.run(ClientClock::head);
  bench.run(ClientClock::receive);
  bench.timer.count_body(50'000);
  bench.pass(seconds(50));
  bench.run(ClientClock::none);
  bench.run(ClientClock::idle);
  bench.pass(seconds(5));
  bench.begin();
  bench.run(ClientClock::head);
  bench.run(ClientClock::receive);
  expect_within_a_period(bench.until_run_out(), seconds(60));
}

TEST(ClientTimer, AHugeBodyDoesNotOverflowTheBudget) {
  Bench bench(with_rate(1));
  bench.begin();
  bench.run(ClientClock::head);
  bench.run(ClientClock::receive);
  bench.timer.count_body(~std::uint64_t{0} / 2);
  bench.pass(seconds(61));
  ASSERT_TRUE(bench.timer.expired());
  EXPECT_EQ(bench.judge(), TimerVerdict::goes_on);
}

TEST(ClientTimer, SendingMustTakeItsBytesInEachWindow) {
  struct Row {
    std::int64_t taken;
    TimerVerdict verdict;
  };
  for (const Row& row : {Row{0, TimerVerdict::ran_out}, Row{16'383, TimerVerdict::ran_out},
                         Row{16'384, TimerVerdict::goes_on}, Row{16'385, TimerVerdict::goes_on}}) {
    Bench bench;
    bench.run(ClientClock::send, 1'000'000);
    expect_within_a_period(bench.until_expired(), bench.limits.send_timeout);
    EXPECT_EQ(bench.judge(1'000'000 + row.taken), row.verdict) << row.taken;
  }
}

TEST(ClientTimer, TheNextSendWindowBeginsWhereProgressWasFound) {
  Bench bench;
  bench.run(ClientClock::send, 0);
  bench.until_expired();
  EXPECT_EQ(bench.judge(500'000), TimerVerdict::goes_on);
  expect_within_a_period(bench.until_expired(), bench.limits.send_timeout);
  EXPECT_EQ(bench.judge(500'000), TimerVerdict::ran_out);
}

TEST(ClientTimer, ATunnelMayBeSilentForeverUnlessItIsTold) {
  Bench off;
  off.run(ClientClock::tunnel);
  EXPECT_GE(off.until_expired(), std::chrono::hours(1));
  Limits limits;
  limits.tunnel_idle_timeout = Ms{5'000};
  Bench on(limits);
  on.run(ClientClock::tunnel);
  on.pass(seconds(4));
  on.timer.note_activity(on.now());
  expect_within_a_period(on.until_run_out(), seconds(5));
}

TEST(ClientTimer, ClosingWaitsTwoSecondsOfSilence) {
  Bench bench;
  bench.run(ClientClock::linger);
  bench.pass(Ms{1'500});
  bench.timer.note_activity(bench.now());
  expect_within_a_period(bench.until_run_out(), seconds(2));
}

TEST(ClientTimer, SilenceCountsOnlyOnceEverythingIsAcknowledged) {
  Bench bench;
  bench.run(ClientClock::linger);
  const Time from = bench.now();
  while (bench.now() - from < seconds(10)) {
    if (bench.until_expired() >= std::chrono::hours(1)) break;
    EXPECT_EQ(bench.judge(0, 100), TimerVerdict::goes_on);
  }
  const Duration silence = bench.until_run_out(0, 0);
  EXPECT_GE(silence, Ms{1'700});
  EXPECT_LE(silence, Ms{2'300});
}

TEST(ClientTimer, ClosingEndsAfterThirtySecondsInAllWhateverComes) {
  Bench talking;
  talking.run(ClientClock::linger);
  const Time from = talking.now();
  for (bool over = false; !over;) {
    talking.pass(Ms{100});
    talking.timer.note_activity(talking.now());
    over = talking.timer.expired() && talking.judge() == TimerVerdict::ran_out;
    ASSERT_LT(talking.now() - from, seconds(40));
  }
  EXPECT_GE(talking.now() - from, seconds(30));
  EXPECT_LE(talking.now() - from, Ms{30'200});
  Bench stuck;
  stuck.run(ClientClock::linger);
  expect_within_a_period(stuck.until_run_out(0, 100), seconds(30));
}

TEST(ClientTimer, ClosingAfterA408HasTwoSecondsInAll) {
  Bench talking;
  talking.timer.shorten_linger();
  talking.run(ClientClock::linger);
  talking.pass(Ms{1'900});
  talking.timer.note_activity(talking.now());
  expect_within_a_period(talking.until_run_out(), Ms{100});
  Bench stuck;
  stuck.timer.shorten_linger();
  stuck.run(ClientClock::linger);
  expect_within_a_period(stuck.until_run_out(0, 100), seconds(2));
}

TEST(ClientTimer, AStopShortensIdlingAndNeverLengthensIt) {
  Bench bench;
  bench.run(ClientClock::idle);
  bench.timer.cap_idle(bench.now() + seconds(1));
  bench.timer.cap_idle(bench.now() + seconds(100));
  expect_within_a_period(bench.until_run_out(), seconds(1));
  Bench receiving(with_rate(0));
  receiving.begin();
  receiving.run(ClientClock::head);
  receiving.timer.cap_idle(receiving.now() + seconds(1));
  expect_within_a_period(receiving.until_run_out(), seconds(60));
}

TEST(ClientTimer, NoClockNeverRunsOut) {
  Bench bench;
  bench.run(ClientClock::idle);
  bench.run(ClientClock::none);
  EXPECT_GE(bench.until_expired(), std::chrono::hours(1));
  EXPECT_EQ(bench.judge(), TimerVerdict::goes_on);
}

TEST(ClientTimer, AgeIsToldFromTheClocksFirstEvent) {
  Bench bench;
  bench.begin();
  bench.run(ClientClock::head);
  bench.pass(seconds(3));
  bench.run(ClientClock::receive);
  bench.pass(seconds(4));
  EXPECT_EQ(bench.timer.age(bench.now()), seconds(7));
  bench.run(ClientClock::linger);
  EXPECT_EQ(bench.timer.age(bench.now()), Duration::zero());
}

struct UpstreamBench : Bench {
  UpstreamTimer upstream{wheel, target};
  Duration until_silent() {
    const Time from = now();
    while (now() - from < std::chrono::hours(1)) {
      sim.loop.turn(now() + seconds(1));
      if (upstream.expired() && upstream.judge_silence(now()) == TimerVerdict::ran_out) break;
    }
    return now() - from;
  }
};

TEST(UpstreamTimer, SilenceIsMeasuredFromTheLastProgress) {
  UpstreamBench bench;
  bench.upstream.run_silence(Ms{10'000}, bench.now());
  for (int i = 0; i < 10; ++i) {
    bench.pass(seconds(9));
    if (bench.upstream.expired())
      EXPECT_EQ(bench.upstream.judge_silence(bench.now()), TimerVerdict::goes_on);
    bench.upstream.note_progress(bench.now());
  }
  expect_within_a_period(bench.until_silent(), seconds(10));
}

TEST(UpstreamTimer, AStoppedOneNeverExpires) {
  UpstreamBench bench;
  bench.upstream.run_silence(Ms{1'000}, bench.now());
  bench.upstream.stop();
  bench.pass(seconds(10));
  EXPECT_FALSE(bench.upstream.expired());
}

TEST(UpstreamTimer, ABlockedTunnelHasTheSendersBudget) {
  UpstreamBench bench;
  bench.upstream.run_send(100, bench.now(), bench.limits);
  bench.pass(bench.limits.send_timeout + kPeriod);
  ASSERT_TRUE(bench.upstream.expired());
  EXPECT_EQ(bench.upstream.judge_send(bench.now(), 100 + 16'384, bench.limits),
            TimerVerdict::goes_on);
  bench.pass(bench.limits.send_timeout + kPeriod);
  ASSERT_TRUE(bench.upstream.expired());
  EXPECT_EQ(bench.upstream.judge_send(bench.now(), 100 + 16'384, bench.limits),
            TimerVerdict::ran_out);
}

}  // namespace
}  // namespace hushgate::proxy
