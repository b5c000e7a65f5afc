// CONTRACT section 1, "clients that leave", and I9: a client that is seen to be gone ends its
// attempt in that turn.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

// A client's packet is seen by the gateway one way later; what it does in that turn reaches the
// upstream another way later.
constexpr Duration kSameTurn = 2 * kLatency;

TEST(Leaving, AResetEndsTheAttemptInTheSameTurn) {
  World world;
  auto [client, upstream] = world.exchange(kPost);
  world.run_for(seconds(30));
  const Time left = world.now();
  client.reset();
  world.run_for(seconds(1));
  ASSERT_TRUE(upstream.saw_end());
  EXPECT_EQ(upstream.ended() - left, kSameTurn);
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_EQ(upstream.was_reset - left, kSameTurn);
  EXPECT_EQ(world.count(Counter::exchanges_failed), 0U);
}

TEST(Leaving, ALaterFinEndsTheAttemptInTheSameTurn) {
  World world;
  auto [client, upstream] = world.exchange(kPost);
  world.run_for(seconds(30));
  const Time left = world.now();
  client.finish();
  world.run_for(seconds(1));
  ASSERT_TRUE(upstream.saw_end());
  EXPECT_EQ(upstream.ended() - left, kSameTurn);
}

TEST(Leaving, AlsoInTheMiddleOfAStream) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  world.run_for(seconds(60));
  const Time left = world.now();
  client.close();
  world.run_for(seconds(1));
  ASSERT_TRUE(upstream.saw_end());
  EXPECT_EQ(upstream.ended() - left, kSameTurn);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Leaving, AlsoWhileItIsStillBeingConnected) {
  World world;
  world.network.set_fate(IpPort{kUpstream, kUpstreamPort}, io::SimFate::black_hole);
  Party& client = world.ask(kGet);
  world.run_for(seconds(1));
  const std::size_t before = world.network.host(kGate).descriptors;
  client.reset();
  world.run_for(kLatency);
  EXPECT_EQ(world.network.host(kGate).descriptors, before - 2);  // its own and the connect's
}

TEST(Leaving, ALateFinWhileConnectingCancelsBeforeAnythingIsSubmitted) {
  World world;
  world.network.set_fate(IpPort{kUpstream, kUpstreamPort}, io::SimFate::black_hole);
  Party& client = world.ask(kPost);
  world.run_for(seconds(1));
  const std::size_t before = world.network.host(kGate).descriptors;
  client.finish();
  world.run_for(kLatency);
  EXPECT_EQ(world.network.host(kGate).descriptors, before - 2);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Leaving, AnEarlyFinWhileConnectingWaitsForItsAnswer) {
  World world([](config::Config& config) {
    config.upstreams.front().port = 1;
    config.limits.retry_backoff = Ms{1};
  });
  Party& client = world.open();
  client.send(kPost);
  client.finish();
  world.run_for(seconds(1));
  EXPECT_EQ(client.status(), 502);
  EXPECT_TRUE(client.has("connection_refused"));
}

TEST(Leaving, AlsoDuringABackoff) {
  World world([](config::Config& config) {
    config.limits.retry_backoff = Ms{20'000};
    config.upstreams.front().port = 1;  // nobody listens
  });
  Party& client = world.ask(kGet);
  world.run_for(Ms{5});
  ASSERT_EQ(world.count(Counter::connect_retries), 1U);
  client.reset();
  world.run_for(kLatency);
  EXPECT_EQ(world.gateway->session_count(), 0U);
  world.run_for(seconds(30));
  EXPECT_EQ(world.count(Counter::connects), 1U);
}

// The gateway sees both at the same distance as they were sent.
struct Window {
  Ms after;
  bool served;
};

TEST(Leaving, AFinWithin100MsOfTheRequestIsAHalfCloseAndALaterOneCancels) {
  for (const Window& row :
       {Window{Ms{0}, true}, Window{Ms{1}, true}, Window{Ms{99}, true}, Window{Ms{100}, true},
        Window{Ms{101}, false}, Window{Ms{5'000}, false}}) {
    World world;
    Party& client = world.open();
    const Time sent = world.now();
    client.send(kPost);
    world.network.at(sent + row.after, [&] { client.finish(); });
    world.run_until(sent + row.after + seconds(1));
    ASSERT_EQ(world.upstream.count(), 1U);
    Party& upstream = world.upstream.at(0);
    EXPECT_EQ(upstream.saw_end(), !row.served) << to_ms(row.after);
    upstream.send(kOk);
    world.settle();
    EXPECT_EQ(client.has("ok"), row.served) << to_ms(row.after);
    EXPECT_TRUE(client.saw_end());
    EXPECT_FALSE(client.saw_reset()) << to_ms(row.after);
  }
}

TEST(Leaving, TheWindowIsCountedFromTheRequestsLastByte) {
  World world;
  auto [client, upstream] = world.exchange(post_head(5));
  world.run_for(seconds(10));
  const Time last = world.now();
  client.send("hello");
  world.network.at(last + Ms{99}, [&c = client] { c.finish(); });
  world.run_for(seconds(1));
  EXPECT_FALSE(upstream.saw_end());
  upstream.send(kOk);
  world.settle();
  EXPECT_TRUE(client.has("ok"));
}

TEST(Leaving, ThePolicyMayBeForcedEitherWay) {
  for (const bool serve : {true, false}) {
    World world([&](config::Config& config) {
      config.client.half_close = serve ? config::HalfClose::serve : config::HalfClose::cancel;
    });
    Party& client = world.open();
    client.send(kGet);
    const Ms after = serve ? Ms{5'000} : Ms{1};
    world.network.at(world.now() + after, [&] { client.finish(); });
    world.run_for(seconds(6));
    ASSERT_GE(world.upstream.count(), serve ? 1U : 0U);
    if (serve) world.upstream.at(0).send(kOk);
    world.settle();
    EXPECT_EQ(client.has("ok"), serve);
  }
}

TEST(Leaving, AFinBeforeTheRequestIsCompleteAbortsIt) {
  World world;
  auto [client, upstream] = world.exchange(post_head(10) + "hello");
  const Time left = world.now();
  client.finish();
  world.run_for(seconds(1));
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_FALSE(upstream.saw_finish());  // nothing that could be taken for the request's end
  EXPECT_EQ(upstream.was_reset - left, kSameTurn);
  EXPECT_EQ(client.got, "");
}

TEST(Leaving, AChunkedRequestThatIsCutHasNoLastChunk) {
  World world;
  auto [client, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  client.finish();
  world.run_for(seconds(1));
  EXPECT_TRUE(upstream.has("hello"));
  EXPECT_FALSE(upstream.has("0\r\n\r\n"));
  EXPECT_TRUE(upstream.saw_reset());
}

TEST(Leaving, AFinWithAnUnfinishedHeadIsNoRequest) {
  World world;
  Party& client = world.ask("GET / HTTP/1.1\r\n");
  client.finish();
  world.settle();
  EXPECT_EQ(client.got, "");
  EXPECT_TRUE(client.saw_finish());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Leaving, AHalfClosedClientThatSentNonsenseIsStillTold) {
  World world;
  Party& client = world.open();
  client.send("nonsense\r\n\r\n");
  client.finish();
  world.settle();
  EXPECT_EQ(client.status(), 400);
  EXPECT_TRUE(client.saw_finish());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Leaving, AKeptClientMayLeaveAsItLikes) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  Party& politely = world.ask(kGet);
  Party& rudely = world.ask(kGet);
  world.settle();
  politely.finish();
  rudely.reset();
  world.settle();
  EXPECT_TRUE(politely.saw_finish());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(Leaving, APipelinedRequestBehindAHalfCloseIsServedToo) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.open();
  client.send(std::string(kGet) + std::string(kGet));
  client.finish();
  world.settle();
  EXPECT_EQ(client.count("200 OK"), 2U);
  EXPECT_TRUE(client.saw_finish());
}

TEST(Leaving, AClientThatLeavesBetweenConnectAndAcceptIsForgotten) {
  World world;
  Party& client = world.open();
  client.reset();
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
  EXPECT_EQ(world.shared.clients.load(), 0U);
}

}  // namespace
}  // namespace hushgate::sim
