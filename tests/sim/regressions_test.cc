// Faults that were found by people and by fuzzing, each under the name of its disaster.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using std::chrono::seconds;

constexpr std::string_view k101 =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
constexpr std::string_view kUpgrade =
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";

std::pair<Party&, Party&> tunnel(World& world) {
  auto [client, upstream] = world.exchange(kUpgrade);
  upstream.send(k101);
  world.settle();
  EXPECT_EQ(client.status(), 101);
  return {client, upstream};
}

TEST(Regression, AnUpgradeGrantedBeforeTheBodyCameIsA502AndNotTheEndOfTheProcess) {
  World world;
  auto [client, upstream] = world.exchange(
      "POST /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n"
      "Content-Length: 10\r\n\r\n");
  upstream.send(k101);
  world.settle();
  EXPECT_EQ(client.status(), 502);
  EXPECT_TRUE(upstream.saw_end());
}

TEST(Regression, AConnectionWithHalfAHeadOnItIsNeverPooled) {
  World world;
  world.network.host(kUpstream).receive_window_bytes = 1'000;
  world.network.host(kGate).send_buffer_bytes = 1'000;
  world.upstream.reads = false;
  Party& client =
      world.ask("GET /one HTTP/1.1\r\nHost: a\r\nX-Pad: " + std::string(20'000, 'a') + "\r\n\r\n");
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);  // before it has read the head
  world.settle();
  EXPECT_EQ(client.status(), 200);
  world.upstream.reads = true;
  world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  EXPECT_EQ(world.upstream.at(1).got.substr(0, 6), "GET / ");
}

TEST(Regression, AResetOfAHalfClosedClientEndsTheTunnel) {
  World world;
  auto [client, upstream] = tunnel(world);
  client.finish();
  world.settle();
  client.reset();
  world.settle();
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Regression, AResetWhileTheTunnelsBytesAreNotWantedEndsIt) {
  World world([](config::Config& config) { config.limits.send_timeout = Ms{3'600'000}; });
  auto [client, upstream] = tunnel(world);
  upstream.reads = false;
  client.send(std::string(1'000'000, 'x'));
  world.settle();
  EXPECT_FALSE(client.all_sent());
  client.reset();
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Regression, AnUpstreamThatHalfClosedAndThenResetsCutsTheTunnel) {
  World world;
  auto [client, upstream] = tunnel(world);
  upstream.finish();
  world.settle();
  EXPECT_TRUE(client.saw_finish());
  upstream.reset();
  world.settle();
  client.send("into the void");
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Regression, AFinThatCameWithTheLastBodyByteCancelsWhereItIsTold) {
  World world([](config::Config& config) { config.client.half_close = config::HalfClose::cancel; });
  Party& client = world.open();
  client.send(kPost);
  client.finish();
  world.run_for(seconds(1));
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Regression, AFinBehindHalfABodyIsSeenWhileTheUpstreamTakesNothing) {
  World world;
  world.upstream.reads = false;
  Party& client = world.ask(post_head(2'000'000) + std::string(150'000, 'x'));
  world.run_for(seconds(5));
  client.finish();
  world.upstream.at(0).read(65'536);  // room for some of it, not for an end that never came
  world.run_for(seconds(5));
  EXPECT_EQ(world.gateway->session_count(), 0U);
  EXPECT_TRUE(world.upstream.at(0).saw_end());
}

TEST(Regression, AFinishedRequestIsNotTakenForGoneBecauseConnectingTookLong) {
  World world;
  world.network.set_fate(IpPort{kUpstream, kUpstreamPort}, io::SimFate::black_hole);
  Party& client = world.open();
  client.send(kPost);
  client.finish();
  world.run_for(seconds(2));
  EXPECT_EQ(world.gateway->session_count(), 1U);  // half-closed with its request: it waits
}

TEST(Regression, AClientThatLeavesWhileItsPostIsBeingConnectedIsNotServed) {
  World world;
  world.network.set_fate(IpPort{kUpstream, kUpstreamPort}, io::SimFate::black_hole);
  Party& client = world.ask(kPost);
  world.run_for(seconds(2));
  client.close();
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Regression, AnAnswerOfOurOwnIsWrittenToWhoHasSentItsFinUnderCancel) {
  for (const char* request : {"GET /%2e%2e/x HTTP/1.1\r\nHost: a\r\n\r\n",
                              "OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n"}) {
    World world(
        [](config::Config& config) { config.client.half_close = config::HalfClose::cancel; });
    Party& client = world.open();
    client.send(request);
    client.finish();
    world.run_for(seconds(1));
    EXPECT_NE(client.status(), 0);
    client.close();
    world.run_for(seconds(3));
    EXPECT_EQ(world.gateway->session_count(), 0U);
  }
}

TEST(Regression, TheRestOfAnOvertakenUploadIsReadAlthoughItHasLongBeenHere) {
  for (const std::size_t size : {150'000U, 250'000U}) {
    World world;
    world.upstream.reads = false;
    auto [client, upstream] = world.exchange(post_head(size) + std::string(size, 'x'));
    world.run_for(seconds(1));
    upstream.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno");
    world.settle();
    EXPECT_EQ(client.status(), 401);
    client.got.clear();
    world.upstream.reads = true;
    world.upstream.answer_with(std::string(kOk));
    client.send(kGet);
    world.run_for(seconds(1));
    EXPECT_EQ(client.status(), 200) << size;
  }
}

}  // namespace
}  // namespace hushgate::sim
