// CONTRACT section 1, the table of turns: each row ends neither before its budget nor more than a
// period after it, and what is not the client's turn never ends by the sweeper.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Turns, AClientThatNeverSendsIsClosedSilentlyAtIdleTimeout) {
  World world;
  Party& client = world.open();
  // Accepted when its SYN came, which is when a byte of it would have.
  const Time syn = world.now() - 2 * kLatency;
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  expect_swept(world, syn, client.ended(), world.limits().idle_timeout);
  EXPECT_EQ(client.got, "");
  EXPECT_FALSE(client.saw_reset());
  EXPECT_EQ(world.count(Counter::swept_idle), 1U);
}

TEST(Turns, AKeptOneHasIdleTimeoutFromItsExchangesEnd) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask(kGet);
  world.run_for(seconds(1));
  ASSERT_TRUE(client.has("ok"));
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  expect_swept(world, client.last_byte - 2 * kLatency, client.ended(), world.limits().idle_timeout);
  EXPECT_EQ(client.status(), 200);
}

TEST(Turns, AnUnfinishedHeadIs408AndIsClosedTwoSecondsLater) {
  World world;
  Party& client = world.ask("GET / HTTP/1.1\r\nHost: a\r\n");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  expect_swept(world, world.asked, client.first_byte, world.limits().request_timeout);
  EXPECT_EQ(client.status(), 408);
  EXPECT_TRUE(client.has("Connection: close\r\n"));
  ASSERT_TRUE(world.run_while_not([&] { return world.gateway->session_count() == 0; }));
  EXPECT_GE(world.now() - client.first_byte, Ms{2'000} - kLatency);
  EXPECT_LE(world.now() - client.first_byte, Ms{2'000} + world.period());
  EXPECT_EQ(world.upstream.count(), 0U);
}

TEST(Turns, AHeadsByteEvery300MsBuysNothing) {
  World world;
  Party& client = world.ask("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 400 && client.got.empty(); ++i) {
    world.run_for(Ms{300});
    client.send(i % 10 == 9 ? "\r\n" : (i % 10 == 0 ? "X: a" : "a"));
  }
  expect_swept(world, world.asked, client.first_byte, world.limits().request_timeout);
  EXPECT_EQ(client.status(), 408);
}

TEST(Turns, AHeadNeverGetsMoreThanAMinute) {
  World world([](config::Config& config) {
    config.limits.idle_timeout = config.limits.request_timeout = Ms{600'000};
  });
  Party& client = world.ask("G");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  expect_swept(world, world.asked, client.first_byte, minutes(1));
}

TEST(Turns, AHeadHasIdleTimeoutIfThatIsShorter) {
  World world([](config::Config& config) { config.limits.idle_timeout = Ms{2'000}; });
  Party& client = world.ask("G");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  expect_swept(world, world.asked, client.first_byte, seconds(2));
}

TEST(Turns, AStalledBodyIs408AndTheUpstreamSeesACutRequest) {
  World world([](config::Config& config) { config.limits.min_upload_bytes_per_second = 0; });
  auto [client, upstream] = world.exchange(post_head(1'000) + "partial");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  expect_swept(world, world.asked, client.first_byte, world.limits().request_timeout);
  EXPECT_EQ(client.status(), 408);
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_FALSE(upstream.saw_finish());
  EXPECT_EQ(world.count(Counter::swept_receiving), 1U);
}

TEST(Turns, ABodysByteEvery300MsBuysNothing) {
  World world;
  auto [client, upstream] = world.exchange(post_head(100'000));
  while (client.got.empty() && world.now() - world.asked < minutes(2)) {
    world.run_for(Ms{300});
    client.send("x");
  }
  // 200 bytes at 8 192 a second are 25 ms.
  expect_swept(world, world.asked + Ms{25}, client.first_byte, world.limits().request_timeout);
}

TEST(Turns, BodyBytesLengthenReceivingByTheirAmount) {
  World world;
  auto [client, upstream] = world.exchange(post_head(10'000'000) + std::string(819'200, 'x'));
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  expect_swept(world, world.asked, client.first_byte, seconds(60 + 100));
}

TEST(Turns, AFastEnoughUploadIsNeverSwept) {
  World world;
  auto [client, upstream] = world.exchange(post_head(200 * 8'192));
  for (int i = 0; i < 200; ++i) {
    client.send(std::string(8'192, 'x'));
    world.run_for(seconds(1));
  }
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(upstream.count("x"), 200U * 8'192U);
}

TEST(Turns, NineMinutesOfSilenceSurvive) {
  World world;
  auto [client, upstream] = world.exchange(kPost);
  world.run_for(minutes(9));
  EXPECT_EQ(client.got, "");
  EXPECT_FALSE(client.saw_end());
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.status(), 200);
}

TEST(Turns, AStreamMayPauseNineMinutesBetweenTwoPieces) {
  World world;
  auto [client, upstream] = world.exchange(kPost);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  for (int i = 0; i < 3; ++i) {
    world.run_for(minutes(9));
    upstream.send("2\r\na2\r\n");
  }
  upstream.send("0\r\n\r\n");
  world.settle();
  EXPECT_EQ(client.count("a2"), 3U);
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
  EXPECT_EQ(world.count(Counter::upstream_silent), 0U);
}

TEST(Turns, AnUpstreamThatIsSilentForItsBudgetIs504) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  const Time request_end = upstream.first_byte - 2 * kLatency;
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  EXPECT_EQ(client.status(), 504);
  expect_swept(world, request_end, client.first_byte, world.limits().upstream_timeout);
  world.settle();
  EXPECT_EQ(world.upstream.count(), 1U);  // a timeout is never retried
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_EQ(world.count(Counter::upstream_silent), 1U);
}

TEST(Turns, SilenceInTheMiddleOfABodyCutsVisibly) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  const Time last = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  expect_swept(world, last, client.ended(), world.limits().upstream_timeout);
  EXPECT_TRUE(client.has("a1"));
  EXPECT_FALSE(client.has("0\r\n\r\n"));
}

TEST(Turns, TheUpstreamsBudgetBeginsWithTheLastRequestByte) {
  World world([](config::Config& config) {
    config.limits.upstream_timeout = Ms{10'000};
    config.limits.min_upload_bytes_per_second = 0;
  });
  auto [client, upstream] = world.exchange(post_head(10));
  world.run_for(seconds(50));
  const Time last = world.now();
  client.send("0123456789");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  EXPECT_EQ(client.status(), 504);
  expect_swept(world, last, client.first_byte, seconds(10));
}

// A response that no buffer on its way can hold.
std::string large_response(std::size_t length) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" +
         std::string(length, 'x');
}

TEST(Turns, AClientThatTakesNothingIsCutAtSendTimeout) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  client.reads = false;
  upstream.send(large_response(2'000'000));
  world.settle();
  const Time blocked = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  EXPECT_TRUE(client.saw_reset());
  EXPECT_GE(client.ended() - blocked, world.limits().send_timeout - Ms{30});
  // What it had taken before it stopped counts for the first window.
  EXPECT_LE(client.ended() - blocked, 2 * (world.limits().send_timeout + world.period()));
  EXPECT_TRUE(upstream.saw_end());
  EXPECT_EQ(world.count(Counter::swept_sending), 1U);
}

TEST(Turns, AClientThatTakesJustEnoughIsServedAndTheUpstreamIsNeverBlamed) {
  World world([](config::Config& config) { config.limits.upstream_timeout = Ms{5'000}; });
  auto [client, upstream] = world.exchange(kGet);
  client.reads = false;
  upstream.send(large_response(1'000'000));
  for (int i = 0; i < 20 && !client.saw_end(); ++i) {
    world.run_for(seconds(50));
    client.read(40'000);
  }
  EXPECT_FALSE(client.saw_end());
  client.read_on();
  world.run_for(seconds(3));
  EXPECT_EQ(client.body().size(), 1'000'000U);
  EXPECT_EQ(world.count(Counter::upstream_silent), 0U);
}

TEST(Turns, WhileTheClientIsBlockedTheUpstreamIsNotReadWithoutEnd) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  client.reads = false;
  upstream.send(large_response(5'000'000));
  world.run_for(seconds(5));
  EXPECT_FALSE(upstream.all_sent());
  client.read_on();
  world.run_for(seconds(10));
  EXPECT_EQ(client.body().size(), 5'000'000U);
}

TEST(Turns, ClosingAfterA408HasTwoSecondsInAllWhateverComes) {
  World world([](config::Config& config) { config.limits.request_timeout = Ms{4'000}; });
  Party& client = world.ask("GET / HTTP/1.1\r\n");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  const Time answered = client.first_byte - kLatency;
  while (world.gateway->session_count() > 0 && world.now() - answered < seconds(10)) {
    client.send("x");
    world.run_for(Ms{100});
  }
  EXPECT_GE(world.now() - answered, seconds(2));
  EXPECT_LE(world.now() - answered, seconds(2) + world.period() + Ms{100});
}

TEST(Turns, ClosingEndsAfterTwoSilentSecondsAndThirtyInAll) {
  World world;
  Party& silent = world.ask("nonsense\r\n\r\n");
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return world.gateway->session_count() == 0; }));
  EXPECT_EQ(silent.status(), 400);
  EXPECT_GE(world.now() - from, seconds(2));
  EXPECT_LE(world.now() - from, seconds(2) + world.period());
  Party& talking = world.ask("nonsense\r\n\r\n");
  const Time begun = world.now();
  while (world.gateway->session_count() > 0 && world.now() - begun < minutes(1)) {
    talking.send("x");
    world.run_for(Ms{500});
  }
  EXPECT_GE(world.now() - begun, seconds(30));
  EXPECT_LE(world.now() - begun, seconds(30) + world.period() + Ms{500});
}

TEST(Turns, ClosingTakesNoMoreThanLingerBytes) {
  World world;
  Party& client = world.ask("nonsense\r\n\r\n");
  client.send(std::string(world.limits().linger_bytes + 1, 'x'));
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
  EXPECT_EQ(client.status(), 400);
}

TEST(Turns, ASilentTunnelLivesForHours) {
  World world;
  auto [client, upstream] = world.exchange(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  world.run_for(std::chrono::hours(3));
  client.send("ping");
  upstream.send("pong");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("pong"));
  EXPECT_TRUE(upstream.got.ends_with("ping"));
}

TEST(Turns, ATunnelWithATimeoutEndsWhenBothAreSilent) {
  World world([](config::Config& config) { config.limits.tunnel_idle_timeout = Ms{5'000}; });
  auto [client, upstream] =
      world.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  world.run_for(seconds(4));
  client.send("ping");
  const Time last = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end() && upstream.saw_end(); }));
  expect_swept(world, last, client.ended(), seconds(5));
  EXPECT_EQ(world.count(Counter::swept_tunnel), 1U);
}

TEST(Turns, ABlockedTunnelHasTheSendersBudget) {
  World world;
  auto [client, upstream] =
      world.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  world.settle();
  upstream.reads = false;
  client.send(std::string(2'000'000, 'x'));
  world.settle();
  const Time blocked = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  EXPECT_GE(client.ended() - blocked, world.limits().send_timeout - Ms{30});
  EXPECT_LE(client.ended() - blocked, 2 * (world.limits().send_timeout + world.period()));
}

TEST(Turns, TheShortestBudgetsMakeTheSweepQuicker) {
  World world([](config::Config& config) { config.limits.idle_timeout = Ms{200}; });
  EXPECT_EQ(world.period(), Ms{50});
  Party& client = world.open();
  const Time syn = world.now() - 2 * kLatency;
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  expect_swept(world, syn, client.ended(), Ms{200});
}

}  // namespace
}  // namespace hushgate::sim
