// CONTRACT section 5, "stop", and I12: nothing new is accepted, what was begun ends or is cut when
// the grace ends.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using std::chrono::seconds;

struct Stopping : World {
  using World::World;
  // Its point in time, and when everything had ended.
  void stop() {
    began = now();
    gateway->stop([this] { ended = now(); });
  }
  bool has_ended() const { return ended != Time{}; }
  bool wait() {
    return run_while_not([this] { return has_ended(); });
  }
  Time began{}, ended{};
};

TEST(Stop, AnIdleGatewayStopsAtOnce) {
  Stopping world;
  world.stop();
  world.run_for(kLatency);
  EXPECT_TRUE(world.has_ended());
}

TEST(Stop, NothingNewIsAccepted) {
  Stopping world;
  world.stop();
  world.dial();
  world.settle();
  EXPECT_TRUE(world.clients.back()->saw_reset());  // refused
  EXPECT_EQ(world.clients.back()->opened, Time{});
}

TEST(Stop, WhatTheKernelHadQueuedIsServed) {
  Stopping world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.dial();
  world.network.run_for(2 * kLatency);  // connected, and the gateway has not turned since
  ASSERT_NE(client.opened, Time{});
  client.send(kGet);
  world.stop();
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_TRUE(client.has("Connection: close\r\n"));
}

TEST(Stop, AKeptConnectionStaysASecondAndEndsWithAFin) {
  Stopping world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  Party& fresh = world.open();
  world.settle();
  world.stop();
  ASSERT_TRUE(world.run_while_not([&] { return kept.saw_end() && fresh.saw_end(); }));
  for (const Party* party : {&kept, &fresh}) {
    EXPECT_FALSE(party->saw_reset());
    EXPECT_GE(party->finished - world.began - kLatency, kStopKeptGrace);
    EXPECT_LE(party->finished - world.began - kLatency, kStopKeptGrace + world.period());
  }
  EXPECT_TRUE(world.wait());
  EXPECT_LE(world.ended - world.began, seconds(6));
}

TEST(Stop, ARequestWithinThatSecondIsServedAndToldThatItIsTheLast) {
  Stopping world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  world.settle();
  world.stop();
  world.run_for(Ms{900});
  kept.got.clear();
  kept.send(kGet);
  world.settle();
  EXPECT_EQ(kept.body(), "ok");
  EXPECT_TRUE(kept.has("Connection: close\r\n"));
  EXPECT_TRUE(kept.saw_finish());
  kept.close();
  world.settle();
  EXPECT_TRUE(world.has_ended());
}

TEST(Stop, ARunningExchangeEndsUndisturbed) {
  Stopping world;
  auto [client, upstream] = world.exchange(kPost);
  world.stop();
  world.run_for(seconds(20));
  EXPECT_FALSE(world.has_ended());
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_TRUE(client.has("Connection: close\r\n"));
  EXPECT_TRUE(client.saw_finish());
  client.close();
  world.settle();
  EXPECT_TRUE(world.has_ended());
}

TEST(Stop, AStreamMayEndWithinTheGrace) {
  Stopping world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  world.settle();
  world.stop();
  world.run_for(seconds(25));
  upstream.send("2\r\na2\r\n0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
  // Its head had left before the stop and promised more: it is kept as a kept connection is.
  EXPECT_FALSE(client.saw_end());
  world.run_for(kStopKeptGrace + world.period());
  EXPECT_TRUE(client.saw_finish());
}

TEST(Stop, WhatIsLeftAtTheGracesEndIsCutVisibly) {
  Stopping world;
  auto [stream, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  auto [waiting, silent] = world.exchange(kPost);
  world.stop();
  ASSERT_TRUE(world.wait());
  EXPECT_EQ(world.ended - world.began, world.limits().grace);
  world.settle();
  EXPECT_FALSE(stream.has("0\r\n\r\n"));
  EXPECT_TRUE(stream.saw_end());
  EXPECT_TRUE(waiting.saw_end());
  EXPECT_TRUE(upstream.saw_end());
  EXPECT_TRUE(silent.saw_end());
}

TEST(Stop, ASecondSignalCutsAtOnce) {
  Stopping world;
  auto [client, upstream] = world.exchange(kPost);
  world.stop();
  world.run_for(seconds(1));
  world.gateway->cut();
  const Time cut = world.now();
  ASSERT_TRUE(world.wait());
  EXPECT_LE(world.ended - cut, kLatency);
  world.settle();
  EXPECT_TRUE(client.saw_end());
  EXPECT_TRUE(upstream.saw_end());
}

TEST(Stop, ATunnelIsCutAtTheGracesEnd) {
  Stopping world;
  auto [client, upstream] =
      world.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  world.settle();
  world.stop();
  world.run_for(seconds(29));
  client.send("ping");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("ping"));
  ASSERT_TRUE(world.wait());
  EXPECT_EQ(world.ended - world.began, world.limits().grace);
}

TEST(Stop, TheSweepKeepsNothingAlive) {
  Stopping world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  world.settle();
  client.close();
  world.settle();
  world.stop();  // a pooled connection's deadline is running
  world.run_for(kLatency);
  EXPECT_TRUE(world.has_ended());
}

}  // namespace
}  // namespace hushgate::sim
