// CONTRACT section 4, tunnels: bytes both ways, each direction with its own end.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kUpgrade =
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
constexpr std::string_view kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";

TEST(Tunnel, BytesInTheSameReadAsTheHeadsAreNotLost) {
  World world;
  auto [client, upstream] = world.exchange(std::string(kUpgrade) + "early");
  upstream.send(std::string(kSwitch) + "first");
  world.settle();
  EXPECT_EQ(client.status(), 101);
  EXPECT_EQ(client.body(), "first");
  EXPECT_TRUE(upstream.got.ends_with("early"));
}

TEST(Tunnel, AHalfClosePassesThroughAndTheOtherWayGoesOn) {
  for (const bool by_client : {true, false}) {
    World world;
    auto [client, upstream] = world.exchange(kUpgrade);
    upstream.send(kSwitch);
    world.settle();
    Party& one = by_client ? client : upstream;
    Party& other = by_client ? upstream : client;
    one.send("last words");
    one.finish();
    world.settle();
    EXPECT_TRUE(other.got.ends_with("last words"));
    EXPECT_TRUE(other.saw_finish());
    EXPECT_FALSE(one.saw_end());
    world.run_for(minutes(5));
    other.send("answer");
    world.settle();
    EXPECT_TRUE(one.got.ends_with("answer"));
    other.finish();
    world.settle();
    EXPECT_TRUE(one.saw_finish());
    EXPECT_FALSE(one.saw_reset());
    EXPECT_EQ(world.gateway->session_count(), 0U);
  }
}

TEST(Tunnel, AResetOnOneSideEndsTheOtherInTheSameTurn) {
  for (const bool by_client : {true, false}) {
    World world;
    auto [client, upstream] = world.exchange(kUpgrade);
    upstream.send(kSwitch);
    world.run_for(seconds(10));
    Party& one = by_client ? client : upstream;
    Party& other = by_client ? upstream : client;
    const Time left = world.now();
    one.reset();
    world.settle();
    ASSERT_TRUE(other.saw_end());
    EXPECT_EQ(other.ended() - left, 2 * kLatency);
  }
}

TEST(Tunnel, LargeTransfersBothWaysAtOnceArriveWhole) {
  World world;
  auto [client, upstream] = world.exchange(kUpgrade);
  upstream.send(kSwitch);
  world.settle();
  const std::size_t before = upstream.got.size();
  client.send(std::string(3'000'000, 'u'));
  upstream.send(std::string(3'000'000, 'd'));
  world.run_for(seconds(20));
  EXPECT_EQ(upstream.got.size() - before, 3'000'000U);
  EXPECT_EQ(client.body(), std::string(3'000'000, 'd'));
}

TEST(Tunnel, ARefusedUpgradeIsAnOrdinaryResponse) {
  World world;
  auto [client, upstream] = world.exchange(kUpgrade);
  upstream.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  world.settle();
  EXPECT_EQ(client.status(), 403);
  EXPECT_EQ(client.body(), "no");
  EXPECT_FALSE(client.saw_end());
}

}  // namespace
}  // namespace hushgate::sim
