// CONTRACT section 2, the pool, over TLS: what a record on an idle connection says.
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

TEST(TlsPool, TicketsThatComeWhileItIsIdleAreNoReasonNotToUseAConnection) {
  TlsWorld world;
  warm(world);
  tls_of(world.upstream.at(0)).send_tickets();
  world.run_for(seconds(1));
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.count(Counter::reuses), 1U);
  EXPECT_EQ(world.count(Counter::pool_stray_bytes), 0U);
}

TEST(TlsPool, NorAreThoseThatComeWithTheRequest) {
  TlsWorld world;
  warm(world);
  Party& client = world.open();
  client.send(kGet);
  tls_of(world.upstream.at(0)).send_tickets();
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsPool, OneOnWhichTheUpstreamSaidThatItClosesIsNotUsed) {
  for (const int how : {0, 1, 2}) {
    TlsWorld world;
    warm(world);
    TlsWire& pooled = tls_of(world.upstream.at(0));
    if (how == 0) pooled.notify();
    if (how == 1) pooled.close();
    if (how == 2) pooled.close_below();
    world.settle();
    Party& client = world.ask(kGet);
    world.settle();
    ASSERT_EQ(world.upstream.count(), 2U) << how;
    EXPECT_EQ(world.upstream.at(0).got, "") << how;
    world.upstream.at(1).send(kOk);
    world.settle();
    EXPECT_EQ(client.body(), "ok") << how;
    EXPECT_EQ(world.count(Counter::replays), 0U) << how;
    EXPECT_EQ(world.count(Counter::pool_closed_early), 1U) << how;
  }
}

TEST(TlsPool, CloseNotifyThatComesInTheTurnOfTheRequestIsSeenBeforeTheReuse) {
  for (const bool with_fin : {false, true}) {
    TlsWorld world;
    warm(world);
    Party& client = world.open();
    if (with_fin) {
      world.upstream.at(0).close();
    } else {
      tls_of(world.upstream.at(0)).notify();
    }
    client.send(kGet);
    world.settle();
    EXPECT_EQ(world.count(Counter::replays), 0U);
    EXPECT_EQ(world.upstream.count(), 2U);
    EXPECT_FALSE(client.saw_end());
  }
}

TEST(TlsPool, DataOnAnIdleConnectionIsNobodysResponse) {
  TlsWorld world;
  warm(world);
  world.upstream.at(0).send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  world.settle();
  EXPECT_EQ(world.count(Counter::pool_stray_bytes), 1U);
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsPool, NorIsDataThatComesInTheTurnOfTheRequest) {
  TlsWorld world;
  warm(world);
  Party& client = world.open();
  world.upstream.at(0).send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  client.send(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsPool, APartOfARecordOnAnIdleConnectionIsReasonEnough) {
  TlsWorld world;
  warm(world);
  tls_of(world.upstream.at(0)).send_below(std::string("\x17\x03\x03\x01\x00", 5) + "abc");
  world.settle();
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsPool, AStaleConnectionIsReplacedByANewOneAndTheClientDoesNotNotice) {
  TlsWorld world;
  warm(world);
  world.upstream.at(0).on_bytes = [](Party& party) { party.close(); };
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.count(Counter::replays), 1U);
  EXPECT_TRUE(tls_of(world.upstream.at(1)).resumed());
}

TEST(TlsPool, AnIdleConnectionIsClosedAtItsTimeout) {
  TlsWorld world;
  warm(world);
  Party& pooled = world.upstream.at(0);
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return pooled.saw_end(); }, seconds(20)));
  EXPECT_LE(pooled.ended() - from, Ms{4'000} + world.period());
  EXPECT_EQ(world.count(Counter::pool_expired), 1U);
}

}  // namespace
}  // namespace hushgate::sim
