// CONTRACT section 2, the pool: how long its connections live, and what never becomes anybody's
// response.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

TEST(PoolLife, AnIdleConnectionIsResetAtItsTimeoutAndAtMostAPeriodLater) {
  World world;
  warm(world);
  Party& pooled = world.upstream.at(0);
  const Time idle_since = pooled.first_byte + kLatency;  // its answer had come back
  ASSERT_TRUE(world.run_while_not([&] { return pooled.saw_end(); }, seconds(20)));
  EXPECT_TRUE(pooled.saw_reset());
  EXPECT_GE(pooled.was_reset - idle_since - kLatency, Ms{4'000});
  EXPECT_LE(pooled.was_reset - idle_since - kLatency, Ms{4'000} + world.period());
  EXPECT_EQ(world.count(Counter::pool_expired), 1U);
}

TEST(PoolLife, AnIdleConnectionThatTheUpstreamClosesIsNotUsed) {
  World world;
  warm(world);
  world.upstream.at(0).close();
  world.settle();
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(world.count(Counter::replays), 0U);
  EXPECT_EQ(world.upstream.at(0).got, "");
}

TEST(PoolLife, AFinThatComesInTheTurnOfTheRequestIsSeenBeforeTheReuse) {
  World world;
  warm(world);
  Party& client = world.open();
  // Both arrive at the same instant.
  world.upstream.at(0).close();
  client.send(kGet);
  world.settle();
  EXPECT_EQ(world.count(Counter::replays), 0U);
  EXPECT_EQ(world.upstream.count(), 2U);
  EXPECT_FALSE(client.saw_end());
}

TEST(PoolLife, BytesBehindAResponseAreNobodysResponse) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send(std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  Party& next = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(next.body(), "ok");
}

TEST(PoolLife, AnUnsolicitedResponseIsNobodysResponse) {
  World world;
  warm(world);
  world.upstream.at(0).send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  world.settle();
  Party& next = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(next.body(), "ok");
  EXPECT_EQ(world.count(Counter::pool_stray_bytes), 1U);
}

TEST(PoolLife, ConnectionCloseHttp10AndAShortKeepAliveAreNotPooled) {
  for (const std::string_view head :
       {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok"}) {
    World world;
    auto [client, upstream] = world.exchange(kGet);
    upstream.send(head);
    world.settle();
    EXPECT_EQ(client.body(), "ok");
    world.ask(kGet);
    world.settle();
    EXPECT_EQ(world.upstream.count(), 2U) << head;
  }
}

TEST(PoolLife, AfterAnUnsafeExchangeTheUpstreamHasASecondToClose) {
  World world;
  auto [client, upstream] = world.exchange(kPost);
  upstream.send(kOk);
  const Time end = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return upstream.saw_end(); }, seconds(20)));
  EXPECT_TRUE(upstream.saw_reset());
  expect_swept(world, end, upstream.was_reset, Ms{1'000});
  EXPECT_EQ(client.status(), 200);  // it did not wait for that
  EXPECT_EQ(world.count(Counter::close_wait_reset), 1U);
}

TEST(PoolLife, AnUpstreamThatClosesAfterAnUnsafeExchangeSeesAFin) {
  World world;
  auto [client, upstream] = world.exchange(kPost);
  upstream.send(kOk);
  upstream.finish();
  world.settle();
  EXPECT_TRUE(upstream.saw_finish());
  EXPECT_FALSE(upstream.saw_reset());
  EXPECT_EQ(client.body(), "ok");
}

TEST(PoolLife, ALongStreamMakesNobodyWait) {
  World world;
  auto [stream, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  world.upstream.answer_with(std::string(kOk));
  for (int i = 0; i < 50; ++i) {
    Party& client = world.ask(kGet);
    world.run_for(5 * kLatency);
    EXPECT_EQ(client.body(), "ok");
  }
  EXPECT_FALSE(stream.saw_end());
}

}  // namespace
}  // namespace hushgate::sim
