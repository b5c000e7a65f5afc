// CONTRACT section 1, "under shortage": who goes first, and what is left to say when nobody can.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

TEST(Shortage, AtMaxConnectionsTheOldestThatNeverSentGoesFirst) {
  World world({}, 3);
  Party& first = world.open();
  Party& second = world.open();
  Party& third = world.open();
  Party& fourth = world.open();
  world.settle();
  EXPECT_TRUE(first.saw_end());
  EXPECT_FALSE(second.saw_end());
  EXPECT_FALSE(third.saw_end());
  EXPECT_FALSE(fourth.saw_end());
  EXPECT_EQ(world.count(Counter::clients_shed), 1U);
  EXPECT_EQ(world.gateway->session_count(), 3U);
}

TEST(Shortage, KeptOnesGoAfterFreshOnesAndBusyOnesNever) {
  World world({}, 3);
  auto [busy, upstream] = world.exchange(kPost);
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  world.settle();
  Party& fresh = world.open();
  Party& one = world.open();
  world.settle();
  EXPECT_TRUE(fresh.saw_end());
  EXPECT_FALSE(kept.saw_end());
  one.send("GET / HT");  // busy from now on
  world.settle();
  Party& two = world.open();
  world.settle();
  EXPECT_TRUE(kept.saw_end());
  EXPECT_FALSE(busy.saw_end());
  EXPECT_FALSE(one.saw_end());
  EXPECT_FALSE(two.saw_end());
}

TEST(Shortage, WhenAllAreBusyAcceptingPausesOnceAndThenNewOnesAreTold) {
  World world({}, 1);
  auto [busy, upstream] = world.exchange(kPost);
  const Time from = world.now();
  Party& late = world.open();
  world.run_for(kAcceptPause + Ms{20});
  EXPECT_EQ(late.status(), 503);
  EXPECT_TRUE(late.has("connection_limit_reached"));
  EXPECT_TRUE(late.has("Retry-After: "));
  EXPECT_TRUE(late.saw_finish());
  EXPECT_GE(late.first_byte - from, kAcceptPause);
  EXPECT_EQ(world.count(Counter::accept_pauses), 1U);
  Party& later = world.open();
  world.settle();
  EXPECT_EQ(later.status(), 503);
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(busy.status(), 200);  // it was served meanwhile, and is kept now
  Party& last = world.open();
  world.settle();
  EXPECT_TRUE(busy.saw_end());
  EXPECT_FALSE(last.saw_end());
}

TEST(Shortage, OneThatCameDuringThePauseIsServedIfThereIsRoomAtItsEnd) {
  World world({}, 1);
  auto [busy, upstream] = world.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  Party& late = world.open();
  late.send(kGet);
  world.run_for(Ms{10});
  upstream.send(kOk);
  upstream.on_bytes = [](Party& party) { party.send(kOk); };
  world.run_for(Ms{10});
  busy.finish();
  world.run_for(kAcceptPause + Ms{20});
  EXPECT_EQ(late.status(), 200);
}

TEST(Shortage, WithoutDescriptorsIdlePooledConnectionsGoFirst) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  world.settle();
  io::SimHost& host = world.network.host(kGate);
  host.descriptor_limit = host.descriptors;
  Party& client = world.open();
  world.settle();
  EXPECT_TRUE(world.upstream.at(0).saw_reset());
  EXPECT_FALSE(kept.saw_end());
  EXPECT_FALSE(client.saw_end());
  Party& another = world.open();
  world.settle();
  EXPECT_FALSE(kept.saw_end());
  EXPECT_TRUE(client.saw_end());  // the only one that never sent anything
  EXPECT_FALSE(another.saw_end());
  host.descriptor_limit = 1'000'000;
}

TEST(Shortage, AcceptNeverSpins) {
  World world;
  auto [busy, upstream] = world.exchange(kPost);
  io::SimHost& host = world.network.host(kGate);
  host.descriptor_limit = host.descriptors;
  world.reserve.release();  // somebody else had the reserve, too
  --host.descriptor_limit;
  for (int i = 0; i < 5; ++i) {
    world.dial();
  }
  world.run_for(seconds(1));
  EXPECT_LE(world.count(Counter::accept_pauses), 11U);
  EXPECT_FALSE(busy.saw_end());
  host.descriptor_limit = 1'000'000;
  world.run_for(seconds(1));
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(busy.status(), 200);
}

}  // namespace
}  // namespace hushgate::sim
