// Faults that the simulation of whole lives found (tests/swarm), each as a script of its own.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

constexpr std::string_view kHead = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";

// A client whose connection the gateway has not looked at yet.
Party& connect(World& world) {
  world.dial();
  return *world.clients.back();
}

TEST(Found, The101IsWholeWhenTheTunnelsFirstBytesComeWithIt) {
  World world;
  auto [client, upstream] =
      world.exchange("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n"
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n" +
      std::string(200, '#'));
  world.settle();
  EXPECT_TRUE(client.got.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_TRUE(client.has("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_EQ(client.body(), std::string(200, '#'));
}

TEST(Found, AHeadRequestThatIsTurnedAwayIsToldWithoutABody) {
  World world({}, 1);
  world.exchange(kPost);
  Party& late = world.ask(kHead);
  world.run_for(kAcceptPause + Ms{20});
  EXPECT_EQ(late.status(), 503);
  EXPECT_EQ(late.body(), "");
}

TEST(Found, AConnectionThatWasPromisedToStayIsNotClosedSilentlyByAStop) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
  world.settle();
  world.gateway->stop([] {});
  upstream.send("cd");
  world.settle();
  ASSERT_TRUE(client.has("abcd"));
  EXPECT_FALSE(client.has("Connection: close"));
  world.upstream.answer_with(std::string(kOk));
  upstream.on_bytes = world.upstream.on_bytes;
  client.send(kGet);
  world.settle();
  EXPECT_EQ(client.count("HTTP/1.1 200"), 2U);
  EXPECT_EQ(client.count("Connection: close\r\n"), 1U);
}

TEST(Found, AnErrorBeforeABodyThatWillNotBeReadSaysClose) {
  for (const std::size_t length : {100'000U, 262'145U}) {
    World world([](config::Config& config) { config.limits.upstream_retries = 0; });
    world.network.set_fate(IpPort{kUpstream, kUpstreamPort}, io::SimFate::black_hole);
    Party& client = world.ask(post_head(length));
    world.run_for(std::chrono::seconds(20));
    EXPECT_EQ(client.status(), 504);
    const bool too_much = length > world.limits().linger_bytes;
    EXPECT_EQ(client.has("Connection: close\r\n"), too_much) << length;
    EXPECT_EQ(client.saw_finish(), too_much) << length;
  }
}

TEST(Found, AClientWhoseRequestLiesWithTheKernelIsNotShed) {
  World world({}, 2);
  world.upstream.answer_with(std::string(kOk));
  std::vector<Party*> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(&connect(world));
  world.network.run_for(2 * kLatency);
  for (Party* client : clients) client->send(kGet);
  world.network.run_for(kLatency);  // all have asked, and the gateway has not turned since
  world.run_for(kAcceptPause + Ms{50});
  for (Party* client : clients) EXPECT_NE(client->status(), 0);
}

TEST(Found, AFinBehindAPipelinedRequestIsTimedFromWhenItsBytesCame) {
  World world;
  Party& client = world.ask(std::string(kGet) + std::string(kGet));
  world.run_for(Ms{500});
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);  // the second one's turn comes now
  world.settle();
  client.finish();
  world.settle();
  EXPECT_TRUE(world.upstream.at(0).saw_end());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Found, ACutRequestBehindAHalfCloseIsMetAtOnceAlsoWhileNothingIsRead) {
  World world;
  world.network.host(kUpstream).receive_window_bytes = 100;
  world.network.host(kGate).send_buffer_bytes = 100;
  Party& client = world.ask(std::string(kGet) +
                            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "3\r\nabc\r\n");
  client.finish();
  world.settle();
  world.upstream.reads = false;
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);
  world.run_for(Ms{50});
  EXPECT_TRUE(client.has("ok"));
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Found, WhoIsInTheQueueOfAStoppingGatewayIsToldAndNotHeld) {
  World world({}, 1);
  Party& kept = world.open();
  std::vector<Party*> late;
  for (int i = 0; i < 3; ++i) late.push_back(&connect(world));
  world.network.run_for(2 * kLatency);
  world.gateway->stop([] {});
  world.run_for(kStopKeptGrace + kLingerSilence + 2 * world.period());
  EXPECT_TRUE(kept.saw_end());
  for (Party* client : late) EXPECT_FALSE(client->saw_reset());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Found, ATunnelThatDrainsIsNotIdle) {
  World world([](config::Config& config) {
    config.limits.tunnel_idle_timeout = Ms{2'000};
    config.limits.send_timeout = Ms{60'000};
  });
  world.network.host(kUpstream).receive_window_bytes = 2'000;
  world.network.host(kGate).send_buffer_bytes = 2'000;
  auto [client, upstream] =
      world.exchange("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  world.settle();
  upstream.reads = false;
  client.send(std::string(20'000, '#'));
  for (int i = 0; i < 13; ++i) {  // all that waits has left the gateway after about 6 s
    world.run_for(Ms{600});
    upstream.read(1'500);
  }
  EXPECT_FALSE(client.saw_end());
  world.run_for(Ms{4'000});
  EXPECT_TRUE(client.saw_end());
}

}  // namespace
}  // namespace hushgate::sim
