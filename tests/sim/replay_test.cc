// CONTRACT section 2: what takes which connection, what may be sent again, and how often anything
// reaches an upstream.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

std::string head_of(std::string_view method) {
  return std::string(method) + " /x HTTP/1.1\r\nHost: a\r\n\r\n";
}

TEST(Reuse, ASafeBodylessRequestTakesThePooledConnection) {
  for (const std::string_view method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    World world;
    warm(world);
    world.ask(head_of(method));
    world.settle();
    EXPECT_EQ(world.upstream.count(), 1U) << method;
    EXPECT_TRUE(world.upstream.at(0).has("/x")) << method;
    EXPECT_EQ(world.count(Counter::reuses), 1U);
  }
}

TEST(Reuse, EverythingElseTakesANewConnectionAndSaysThatItCloses) {
  const std::vector<std::string> requests{
      head_of("POST"),
      head_of("PUT"),
      head_of("DELETE"),
      head_of("PATCH"),
      head_of("PURGE"),
      "GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
      "DELETE /x HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n\r\n",
      "GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"};
  for (const std::string& request : requests) {
    World world;
    warm(world);
    world.ask(request);
    world.settle();
    ASSERT_EQ(world.upstream.count(), 2U) << request;
    EXPECT_EQ(world.upstream.at(0).got, "") << request;
    EXPECT_TRUE(world.upstream.at(1).has("Connection: close\r\n")) << request;
    world.upstream.at(1).send(kOk);
    world.settle();
    world.ask(kGet);
    world.settle();
    EXPECT_EQ(world.upstream.at(1).count("HTTP/1.1"), 1U) << "it entered the pool: " << request;
  }
}

TEST(Reuse, AnUpgradeTakesANewConnectionAndIsNotPooledWhenItIsRefused) {
  World world;
  warm(world);
  Party& client =
      world.ask("GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.status(), 200);
  world.ask(kGet);
  world.settle();
  EXPECT_EQ(world.upstream.at(1).count("HTTP/1.1"), 1U);
}

TEST(Replay, AStaleConnectionCostsTheClientNothing) {
  for (const bool reset : {false, true}) {
    World world;
    warm(world);
    Party& client = world.ask(kGet);
    Party& stale = world.upstream.at(0);
    world.run_for(kLatency);
    ASSERT_TRUE(stale.has("GET /"));  // it reads the request whole and closes without a byte
    if (reset) {
      stale.reset();
    } else {
      stale.close();
    }
    world.settle();
    ASSERT_EQ(world.upstream.count(), 2U);
    EXPECT_TRUE(world.upstream.at(1).has("GET /"));
    world.upstream.at(1).send(kOk);
    world.settle();
    EXPECT_EQ(client.status(), 200);
    EXPECT_EQ(world.count(Counter::replays), 1U);
  }
}

TEST(Replay, HappensOnceAndTheSecondFailureIs502) {
  World world;
  warm(world);
  world.upstream.on_bytes = [](Party& party) { party.close(); };
  Party& client = world.ask(kGet);
  world.run_for(kLatency);
  world.upstream.at(0).close();
  world.run_for(seconds(5));
  EXPECT_EQ(world.upstream.count(), 2U);
  EXPECT_EQ(client.status(), 502);
  EXPECT_TRUE(client.has("connection_terminated"));
  EXPECT_EQ(world.count(Counter::replays), 1U);
}

TEST(Replay, AlsoAFirstAttemptOnANewConnectionIsRepeatedOnce) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.close();
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.status(), 200);
}

TEST(Replay, TheSecondConnectionIsANewOneEvenIfAnotherIsPooled) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  world.ask(kGet);
  world.ask(kGet);  // before the first one's answer: two connections
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  for (const auto& party : world.upstream.parties) {
    party->got.clear();
    party->on_bytes = [](Party& self) { self.close(); };
  }
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 3U);
  EXPECT_EQ(world.upstream.at(0).count("GET") + world.upstream.at(1).count("GET"), 1U);
  EXPECT_EQ(client.status(), 200);
}

TEST(Replay, NothingIsRepeatedAfterAByteOfItsResponse) {
  for (const std::string_view byte :
       {"H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n", "nonsense"}) {
    World world;
    warm(world);
    Party& client = world.ask(kGet);
    world.run_for(kLatency);
    world.upstream.at(0).send(byte);
    world.upstream.at(0).finish();
    world.settle();
    EXPECT_EQ(world.upstream.count(), 1U) << byte;
    EXPECT_TRUE(client.has("HTTP/1.1 502 ")) << client.got;
    EXPECT_EQ(world.count(Counter::replays), 0U);
  }
}

TEST(Replay, AnUnsafeRequestReachesOneConnectionOnceWhateverHappens) {
  const std::vector<std::string> requests{
      std::string(kPost), head_of("DELETE"),
      "POST /x HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n"};
  for (const std::string& request : requests) {
    for (const bool reset : {false, true}) {
      World world;
      warm(world);
      Party& client = world.ask(request);
      world.run_for(3 * kLatency);
      ASSERT_EQ(world.upstream.count(), 2U);
      if (reset) {
        world.upstream.at(1).reset();
      } else {
        world.upstream.at(1).close();
      }
      world.run_for(seconds(5));
      EXPECT_EQ(world.upstream.count(), 2U);
      EXPECT_EQ(client.status(), 502);
      EXPECT_TRUE(client.has("x-should-retry: false\r\n"));
    }
  }
}

TEST(Replay, A408ThatClosesAReusedConnectionIsAStaleConnection) {
  constexpr std::string_view kStale =
      "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  World world;
  warm(world);
  Party& client = world.ask(kGet);
  world.run_for(kLatency);
  world.upstream.at(0).send(kStale);
  world.upstream.at(0).finish();
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kStale);  // on a new connection it is an answer
  world.settle();
  EXPECT_EQ(client.status(), 408);
  EXPECT_EQ(world.count(Counter::replays), 1U);
}

TEST(Replay, AResponseIsNeverRetriedWhateverItsStatus) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504}) {
    World world;
    warm(world);
    Party& client = world.ask(kGet);
    world.run_for(kLatency);
    world.upstream.at(0).send("HTTP/1.1 " + std::to_string(status) +
                              " X\r\nContent-Length: 0\r\n\r\n");
    world.settle();
    EXPECT_EQ(client.status(), status);
    EXPECT_EQ(world.upstream.count(), 1U);
  }
}

TEST(Retry, ARefusedConnectIsTriedAgainWithinItsBackoffAndThenSaidToBeHarmless) {
  World world([](config::Config& config) { config.upstreams.front().port = 1; });
  Party& client = world.ask(kPost);
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }, seconds(20)));
  EXPECT_EQ(client.status(), 502);
  EXPECT_TRUE(client.has("error=connection_refused"));
  EXPECT_TRUE(client.has("x-should-retry: true\r\n"));
  EXPECT_EQ(world.count(Counter::connects), 3U);
  EXPECT_EQ(world.count(Counter::connect_retries), 2U);
  EXPECT_LE(client.first_byte - world.asked, Ms{250 + 500 + 20});
}

TEST(Retry, AnUpstreamThatComesUpMeanwhileIsReachedAlsoByAPost) {
  World world([](config::Config& config) {
    config.upstreams.front().port = 1;
    config.limits.retry_backoff = Ms{4'000};
  });
  Party& client = world.ask(kPost);
  world.run_for(Ms{5});
  ASSERT_EQ(world.count(Counter::connect_retries), 1U);
  io::SimPeerListener late(world.network, world.network.host(kUpstream), IpPort{kUpstream, 1}, 10);
  std::unique_ptr<Party> party;
  late.on_connection = [&] {
    party = std::make_unique<Party>(world.network, Speech::bare(late.accept()));
    party->on_bytes = [](Party& self) {
      if (self.has("hello")) self.send(kOk);
    };
  };
  world.run_for(seconds(13));
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(party->count("POST"), 1U);
}

TEST(Retry, ASilentConnectIsATimeoutAndNotRepeated) {
  World world;
  world.network.set_fate(IpPort{kUpstream, kUpstreamPort}, io::SimFate::black_hole);
  Party& client = world.ask(kGet);
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }, seconds(60)));
  EXPECT_EQ(client.status(), 504);
  EXPECT_TRUE(client.has("error=connection_timeout"));
  EXPECT_EQ(client.first_byte - world.asked, world.limits().connect_timeout + 2 * kLatency);
  EXPECT_EQ(world.count(Counter::connects), 1U);
}

TEST(Retry, NoPortForConnectTimeoutIs503OfItsOwnType) {
  World world;
  world.network.host(kGate).ports = 0;
  Party& client = world.ask(kPost);
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }, seconds(60)));
  EXPECT_EQ(client.status(), 503);
  EXPECT_TRUE(client.has("error=connection_limit_reached; details=\"no local port\""));
  EXPECT_TRUE(client.has("Retry-After: "));
  EXPECT_TRUE(client.has("x-should-retry: true\r\n"));
  EXPECT_EQ(client.first_byte - world.asked, world.limits().connect_timeout + 2 * kLatency);
  EXPECT_EQ(world.count(Counter::ports_exhausted), 1U);
}

TEST(Retry, AWaitForAPortEndsWhenOneIsFree) {
  World world;
  warm(world);
  world.network.host(kGate).ports = 0;
  Party& client = world.ask(kPost);
  world.run_for(seconds(2));
  world.network.host(kGate).ports = 10;
  world.run_for(Ms{150});
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.status(), 200);
}

TEST(Retry, AnUnknownNameIs502) {
  World world([](config::Config& config) {
    config.upstreams.front().literal = std::nullopt;
    config.upstreams.front().host = "nowhere.test";
    config.limits.upstream_retries = 0;
  });
  Party& client = world.ask(kGet);
  world.settle();
  EXPECT_EQ(client.status(), 502);
  EXPECT_TRUE(client.has("error=dns_error"));
}

}  // namespace
}  // namespace hushgate::sim
