// CONTRACT section 5, "reload": a good configuration serves new exchanges, running ones finish
// undisturbed, and nothing of the old one is left behind.
#include "tests/sim/reload_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

TEST(Reload, NewExchangesAreServedByTheNewSettings) {
  Reloading world;
  Party& kept = world.open();
  world.expect_asked(world.upstream);
  world.reload([](config::Config& config) {
    move_upstream(config);
    config.limits.max_body_bytes = 5;
  });
  world.expect_asked(world.other);
  kept.send(post_head(6));  // also on a connection from before
  world.settle();
  EXPECT_EQ(kept.status(), 413);
  EXPECT_EQ(world.older(), 0U);
}

TEST(Reload, NewRoutesTakeEffectAndOldOnesAreGone) {
  Reloading world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_EQ(client.status(), 200);
  world.reload([](config::Config& config) { config.routes.front().path = "/new"; });
  client.got.clear();
  client.send(kGet);
  world.settle();
  EXPECT_EQ(client.status(), 404);
  client.got.clear();
  client.send("GET /new/x HTTP/1.1\r\nHost: a\r\n\r\n");
  world.settle();
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(world.upstream.count(), 1U);  // and the pool is the same
}

TEST(Reload, ARunningStreamFinishesAndItsConnectionIsNotPooled) {
  Reloading world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n");
  world.settle();
  world.reload(move_upstream);
  for (int i = 0; i < 3; ++i) {
    world.run_for(seconds(60));
    upstream.send("2\r\na2\r\n");
  }
  EXPECT_EQ(world.older(), 1U);
  EXPECT_FALSE(upstream.saw_end());
  upstream.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("2\r\na2\r\n0\r\n\r\n"));
  EXPECT_FALSE(client.saw_end());
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_EQ(world.older(), 0U);
  client.got.clear();
  client.send(kGet);
  world.settle();
  EXPECT_EQ(world.other.count(), 1U);
}

TEST(Reload, AConnectionIsNotPooledEitherWhileOthersStillUseItsUpstream) {
  Reloading world;
  auto [first, one] = world.exchange(kGet);
  auto [second, two] = world.exchange(kGet);
  world.reload(move_upstream);
  one.send(kOk);
  world.settle();
  EXPECT_EQ(first.body(), "ok");
  EXPECT_TRUE(one.saw_reset());
  EXPECT_FALSE(two.saw_end());
  EXPECT_EQ(world.older(), 1U);
}

TEST(Reload, AStreamsConnectionIsPooledWhereItsUpstreamHasNotChanged) {
  Reloading world;
  auto [client, upstream] = world.exchange(kGet);
  world.reload([](config::Config& config) { config.limits.idle_timeout = Ms{10'000}; });
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  world.ask(kGet);
  world.settle();
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_EQ(world.count(Counter::reuses), 1U);
}

TEST(Reload, AnUploadGoesOnUnderItsOwnLimits) {
  Reloading world([](config::Config& config) { config.limits.min_upload_bytes_per_second = 0; });
  auto [client, upstream] = world.exchange(post_head(10) + "hello");
  world.reload([](config::Config& config) {
    move_upstream(config);
    config.limits.max_body_bytes = 1;
    config.limits.request_timeout = Ms{1'000};
    config.limits.upstream_timeout = Ms{1'000};
  });
  world.run_for(seconds(30));
  client.send("world");
  world.run_for(seconds(300));
  EXPECT_TRUE(upstream.got.ends_with("helloworld"));
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.older(), 0U);
  EXPECT_EQ(world.ending(), 1U);  // its FIN is awaited, as ever
  EXPECT_FALSE(upstream.saw_end());
  upstream.close();
  world.settle();
  EXPECT_FALSE(upstream.saw_reset());
  EXPECT_EQ(world.ending(), 0U);
}

TEST(Reload, AFinIsAwaitedForCloseWaitAndNoLonger) {
  Reloading world;
  auto [client, upstream] = world.exchange(kPost);
  upstream.send(kOk);
  world.run_for(Ms{10});
  const Time before = world.now();
  world.reload(move_upstream);
  world.run_for(kLatency);
  EXPECT_EQ(world.ending(), 1U);
  ASSERT_TRUE(world.run_while_not([&] { return upstream.saw_end(); }, seconds(10)));
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_GE(upstream.was_reset - before, Ms{980});
  EXPECT_LE(upstream.was_reset - before, Ms{1'010} + world.period());
  EXPECT_EQ(world.ending(), 0U);
}

TEST(Reload, ATunnelGoesOn) {
  Reloading world;
  auto [client, upstream] =
      world.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  world.settle();
  world.reload([](config::Config& config) {
    move_upstream(config);
    config.limits.tunnel_idle_timeout = Ms{1'000};
  });
  world.run_for(seconds(600));
  client.send("ping");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("ping"));
  upstream.send("pong");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("pong"));
  client.finish();
  upstream.finish();
  world.settle();
  EXPECT_TRUE(client.saw_finish());
  EXPECT_EQ(world.older(), 0U);
}

TEST(Reload, PooledConnectionsOfAChangedUpstreamAreResetAtOnce) {
  for (const Change& change :
       {Change(move_upstream),
        Change([](config::Config& config) { config.upstreams.front().name = "renamed"; }),
        Change([](config::Config& config) { config.upstreams.front().max_idle = 1; }),
        Change([](config::Config& config) { config.upstreams.front().idle_timeout = Ms{4'001}; }),
        Change(
            [](config::Config& config) { config.upstreams.front().source_addresses = {kGate}; })}) {
    Reloading world;
    warm(world);
    world.reload(change);
    world.run_for(kLatency);
    EXPECT_TRUE(world.upstream.at(0).saw_reset());
    EXPECT_EQ(world.older(), 0U);
    EXPECT_EQ(world.ending(), 0U);
  }
}

TEST(Reload, PooledConnectionsOfAnUnchangedUpstreamAreUsedOn) {
  Reloading world;
  warm(world);
  world.reload([](config::Config& config) {
    config.upstreams.insert(config.upstreams.begin(), config.upstreams.front());
    config.upstreams.front().name = "new";
    config.routes.front().upstream = 1;
    config.upstreams[1].prefix = "/v2";  // concerns requests only
    config.upstreams[1].authority = "api.test";
  });
  world.ask(kGet);
  world.settle();
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_TRUE(world.upstream.at(0).got.starts_with("GET /v2/ HTTP/1.1\r\nHost: api.test\r\n"));
}

TEST(Reload, AHabitOfTheUpstreamThatWasLearnedIsNotForgotten) {
  Reloading world;
  for (int i = 0; i < 2; ++i) {
    world.upstream.answer_with(std::string(kOk));
    Party& client = world.ask(kGet);
    world.settle();
    ASSERT_EQ(client.body(), "ok");
    world.run_for(Ms{980});
    world.upstream.parties.back()->close();
    world.settle();
  }
  world.reload([](config::Config& config) { config.limits.idle_timeout = Ms{10'000}; });
  world.ask(kGet);
  world.settle();
  Party& pooled = *world.upstream.parties.back();
  const Time idle_since = pooled.first_byte;
  ASSERT_TRUE(world.run_while_not([&] { return pooled.saw_end(); }, seconds(20)));
  EXPECT_LE(pooled.ended() - idle_since, Ms{760} + world.period());
}

TEST(Reload, AReplayGoesWhereTheExchangeBegan) {
  Reloading world;
  warm(world);
  Party& client = world.ask(kGet);
  world.run_for(2 * kLatency);
  world.reload(move_upstream);
  ASSERT_EQ(world.upstream.at(0).count("GET"), 1U);
  world.upstream.at(0).close();  // stale
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.other.count(), 0U);
}

TEST(Reload, ABackoffGoesOnWithTheOldUpstream) {
  Reloading world([](config::Config& config) {
    config.upstreams.front().port = 1;
    config.limits.retry_backoff = Ms{4'000};
  });
  Party& client = world.ask(kPost);
  world.run_for(Ms{5});
  ASSERT_EQ(world.count(Counter::connect_retries), 1U);
  world.reload([](config::Config& config) {
    move_upstream(config);
    config.limits.upstream_retries = 0;
    config.limits.connect_timeout = config.limits.connect_total = Ms{1};
  });
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }, seconds(60)));
  EXPECT_EQ(client.status(), 502);
  EXPECT_EQ(world.count(Counter::connect_retries), 2U);
  EXPECT_EQ(world.other.count(), 0U);
}

TEST(Reload, AWaitForAPortGoesOn) {
  Reloading world;
  world.network.host(kGate).ports = 0;
  Party& client = world.ask(kPost);
  world.run_for(seconds(2));
  ASSERT_EQ(world.count(Counter::port_waits), 1U);
  world.reload([](config::Config& config) {
    move_upstream(config);
    config.limits.connect_timeout = config.limits.connect_total = Ms{1};
  });
  world.run_for(seconds(1));
  world.network.host(kGate).ports = 10;
  world.run_for(Ms{150});
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

// --- a name whose answer is under way

struct Named : Reloading {
  explicit Named() : Reloading(by_name) { names.waits = true; }
  static void by_name(config::Config& config) {
    config.upstreams.front().literal = std::nullopt;
    config.upstreams.front().host = "api.test";
  }
};

TEST(Reload, ANameThatIsBeingLookedUpIsWaitedFor) {
  Named world;
  Party& client = world.ask(kPost);
  ASSERT_EQ(world.names.asked.size(), 1U);
  world.reload(move_upstream);
  world.run_for(seconds(1));
  world.names.asked[0](std::vector<IpAddress>{kUpstream});
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.older(), 0U);
}

TEST(Reload, AnAnswerForWhomNobodyWaitsAnyMoreIsDropped) {
  Named world;
  Party& client = world.ask(kPost);
  world.reload(move_upstream);
  client.reset();
  world.settle();
  EXPECT_EQ(world.older(), 0U);
  world.names.asked[0](std::vector<IpAddress>{kUpstream});
  world.settle();
  EXPECT_EQ(world.upstream.count(), 0U);
}

TEST(Reload, AnAnswerServesTheExchangesOfAllSettingsWithTheSameUpstream) {
  Named world;
  Party& before = world.ask(kPost);
  world.reload([](config::Config& config) {
    Named::by_name(config);
    config.limits.idle_timeout = Ms{10'000};
  });
  Party& behind = world.ask(kPost);
  EXPECT_EQ(world.names.asked.size(), 1U);
  world.names.asked[0](std::vector<IpAddress>{kUpstream});
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  for (const auto& party : world.upstream.parties) party->send(kOk);
  world.settle();
  EXPECT_EQ(before.body(), "ok");
  EXPECT_EQ(behind.body(), "ok");
}

}  // namespace
}  // namespace hushgate::sim
