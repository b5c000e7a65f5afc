// Reloads and time: which budgets follow them, what is left of thousands, and stops.
#include "tests/sim/reload_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

Change idle_of(Ms idle) {
  return [idle](config::Config& config) { config.limits.idle_timeout = idle; };
}

TEST(ReloadBudgets, AShorterIdleTimeoutHoldsForConnectionsThatIdleNow) {
  Reloading world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  Party& fresh = world.open();
  world.run_for(seconds(10));
  world.reload(idle_of(Ms{20'000}));
  ASSERT_TRUE(world.run_while_not([&] { return kept.saw_end() && fresh.saw_end(); }));
  expect_swept(world, kept.last_byte - 2 * kLatency, kept.ended(), Ms{20'000});
  expect_swept(world, fresh.opened - 2 * kLatency, fresh.ended(), Ms{20'000});
}

TEST(ReloadBudgets, WhoHasUsedUpAShorterOneAlreadyGoesInTheNextSweepOfItsPeriod) {
  Reloading world;
  Party& client = world.open();
  world.run_for(seconds(10));
  const Time before = world.now();
  world.reload(idle_of(Ms{200}));
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  EXPECT_LE(client.ended() - before, Ms{50} + kLatency);
}

TEST(ReloadBudgets, ALongerIdleTimeoutHoldsForConnectionsThatIdleNow) {
  Reloading world(idle_of(Ms{5'000}));
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask(kGet);
  world.run_for(Ms{4'900});
  world.reload(idle_of(Ms{30'000}));
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  expect_swept(world, client.last_byte - 2 * kLatency, client.ended(), Ms{30'000});
}

TEST(ReloadBudgets, AnIdleTimeBehindAnExchangeFromBeforeIsOfTheNewLength) {
  Reloading world(idle_of(Ms{5'000}));
  auto [client, upstream] = world.exchange(kGet);
  world.reload(idle_of(Ms{30'000}));
  upstream.send(kOk);
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  expect_swept(world, client.last_byte - 2 * kLatency, client.ended(), Ms{30'000});
}

TEST(ReloadBudgets, AHeadThatHasBegunKeepsItsBudget) {
  Reloading world;
  Party& client = world.ask("GET / HT");
  world.reload([](config::Config& config) {
    config.limits.request_timeout = config.limits.idle_timeout = Ms{1'000};
  });
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  EXPECT_EQ(client.status(), 408);
  expect_swept(world, world.asked, client.first_byte, Ms{60'000});
}

TEST(ReloadBudgets, TheSweepIsAsFrequentAsTheOldestExchangeNeedsIt) {
  const auto timeout_of = [](Ms timeout) {
    return [timeout](config::Config& config) {
      config.limits.request_timeout = timeout;
      config.limits.min_upload_bytes_per_second = 0;
    };
  };
  Reloading world(timeout_of(Ms{400}));
  auto [client, upstream] = world.exchange(post_head(10));
  const Time asked = world.asked;
  world.reload(timeout_of(Ms{60'000}));
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  EXPECT_EQ(client.status(), 408);
  EXPECT_GE(client.first_byte - asked - 2 * kLatency, Ms{400});
  EXPECT_LE(client.first_byte - asked - 2 * kLatency, Ms{500});
}

// --- many reloads, and the end

TEST(ReloadLife, AfterThousandsNothingIsLeft) {
  Reloading world;
  world.upstream.answer_with(std::string(kOk));
  world.other.answer_with(std::string(kOk));
  for (int i = 0; i < 1'000; ++i) {
    Party& client = world.ask(kGet);
    world.reload(i % 2 == 0 ? Change(move_upstream) : Change());
    world.settle();
    ASSERT_EQ(client.body(), "ok");
    client.close();
    world.run_for(Ms{2});
    world.clients.clear();
    ASSERT_EQ(world.older(), 0U);
    ASSERT_EQ(world.ending(), 0U);
  }
  world.run_for(seconds(10));
  EXPECT_EQ(world.network.connections(), 0U);
  EXPECT_EQ(world.count(Counter::exchanges_failed), 0U);
}

TEST(ReloadLife, ThousandsWhileOneStreamRunsKeepItsSettingsOnly) {
  Reloading world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  const std::weak_ptr<const proxy::Setup> first = world.setup;
  for (int i = 0; i < 1'000; ++i) {
    world.reload(i % 2 == 0 ? Change(move_upstream) : Change());
    world.run_for(kLatency);
    ASSERT_EQ(world.older(), 1U);
  }
  EXPECT_FALSE(first.expired());
  upstream.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
  EXPECT_EQ(world.older(), 0U);
  EXPECT_TRUE(first.expired());
}

TEST(ReloadLife, ThousandsInOneTurnAreOne) {
  Reloading world;
  warm(world);
  for (int i = 0; i < 1'000; ++i) world.reload(i % 2 == 0 ? Change(move_upstream) : Change());
  world.settle();
  EXPECT_EQ(world.older(), 0U);
  world.expect_asked(world.upstream);
}

TEST(ReloadLife, WhileStoppingItHasNoEffect) {
  Reloading world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  world.settle();
  Time ended{};
  const Time began = world.now();
  world.gateway->stop([&] { ended = world.now(); });
  world.reload([](config::Config& config) {
    move_upstream(config);
    config.limits.idle_timeout = Ms{120'000};
  });
  kept.got.clear();
  kept.send(kGet);
  world.settle();
  EXPECT_EQ(kept.body(), "ok");
  EXPECT_EQ(world.other.count(), 0U);
  ASSERT_TRUE(world.run_while_not([&] { return ended != Time{}; }));
  EXPECT_LE(ended - began, seconds(6));
}

TEST(ReloadLife, AStopBehindItWaitsForTheExchangesOfAllSettings) {
  Reloading world;
  auto [first, old_end] = world.exchange(kPost);
  world.reload(move_upstream);
  Party& second = world.ask(kPost);
  world.settle();
  ASSERT_EQ(world.other.count(), 1U);
  Time ended{};
  world.gateway->stop([&] { ended = world.now(); });
  world.run_for(seconds(10));
  old_end.send(kOk);
  world.other.at(0).send(kOk);
  world.settle();
  EXPECT_EQ(first.body(), "ok");
  EXPECT_EQ(second.body(), "ok");
  EXPECT_EQ(ended, Time{});
  first.close();
  second.close();
  world.settle();
  EXPECT_NE(ended, Time{});
}

TEST(ReloadLife, AGatewayThatEndsWithAFinAwaitedLeavesNothing) {
  Reloading world;
  auto [client, upstream] = world.exchange(kPost);
  upstream.send(kOk);
  world.settle();
  world.reload(move_upstream);
  world.run_for(kLatency);
  EXPECT_EQ(world.ending(), 1U);  // ~World looks
}

}  // namespace
}  // namespace hushgate::sim
