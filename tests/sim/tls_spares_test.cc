// Connections made ahead of need (upstream.spare): new ones, however early they were opened.
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

Change spare(unsigned most) {
  return [most](config::Config& config) {
    config.upstreams.front().spare = most;
    config.upstreams.front().protocol = config::Protocol::http1;  // `auto` has to meet it first
  };
}

struct Sparing : TlsWorld {
  explicit Sparing(unsigned most = 1, const Change& change = {})
      : TlsWorld([=](config::Config& config) {
          spare(most)(config);
          if (change) change(config);
        }) {
    upstream.on_bytes = [](Party& party) {
      if (!party.got.ends_with("hello") && !party.got.ends_with("\r\n\r\n")) return;
      party.send(kOk);
      if (party.has("Connection: close\r\n")) party.close();
    };
  }
  // Answered; how long the client waited for it.
  Duration post(Party& client) {
    client.got.clear();
    client.first_byte = Time{};
    const Time from = now();
    client.send(kPost);
    EXPECT_TRUE(run_while_not([&] { return client.has("ok"); }, seconds(30)));
    return client.last_byte - from;
  }
  // Connections that carried something.
  std::size_t used() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        upstream.parties, [](const auto& party) { return !party->got.empty(); }));
  }
  // Connections that are open at the upstream and carried nothing.
  std::size_t unused() const {
    return static_cast<std::size_t>(std::ranges::count_if(upstream.parties, [](const auto& party) {
      return party->got.empty() && !party->saw_end();
    }));
  }
  // No connection carries two requests, whoever made it.
  void expect_single_use() const {
    for (const auto& party : upstream.parties) {
      EXPECT_LE(party->count("POST / HTTP/1.1"), 1U);
    }
  }
};

TEST(TlsSpares, NoneIsMadeBeforeOneIsNeeded) {
  Sparing world;
  world.open();
  world.run_for(seconds(10));
  EXPECT_EQ(world.upstream.count(), 0U);
}

TEST(TlsSpares, PostsInARowUseThemAndDoNotWaitForAHandshake) {
  Sparing world;
  Party& client = world.open();
  const Duration first = world.post(client);
  EXPECT_EQ(first, 8 * kLatency);  // to the gateway, three round trips, and back
  for (int i = 0; i < 10; ++i) {
    world.run_for(Ms{500});
    EXPECT_EQ(world.post(client), 4 * kLatency);
  }
  EXPECT_EQ(world.count(Counter::spares_used), 10U);
  EXPECT_EQ(world.used(), 11U);
  EXPECT_EQ(world.unused(), 1U);
  EXPECT_EQ(world.count(Counter::tls_connects_full), 2U);  // the first two began at once
  world.expect_single_use();
}

TEST(TlsSpares, OneIsNeverOlderThanTwoSeconds) {
  Sparing world;
  Party& client = world.open();
  world.post(client);
  world.run_for(Ms{100});
  ASSERT_EQ(world.unused(), 1U);
  const auto unused = std::ranges::find_if(world.upstream.parties,
                                           [](const auto& party) { return party->got.empty(); });
  const Time opened = (*unused)->opened;
  world.run_until(opened + Ms{1'999} - 2 * kLatency);  // both ways to the gateway
  EXPECT_EQ(world.post(client), 4 * kLatency);
  EXPECT_EQ(world.count(Counter::spares_used), 1U);
  world.run_for(Ms{2'001});
  EXPECT_GT(world.post(client), 4 * kLatency);
  EXPECT_EQ(world.count(Counter::spares_used), 1U);
  // Whoever asks for none any more has none.
  world.run_for(Ms{2'010} + world.period());
  EXPECT_EQ(world.unused(), 0U);
  for (const auto& party : world.upstream.parties) {
    if (party->got.empty()) EXPECT_TRUE(party->saw_reset());
  }
  const std::size_t all = world.upstream.count();
  world.run_for(seconds(30));
  EXPECT_EQ(world.upstream.count(), all);
}

TEST(TlsSpares, TwoPostsAtTheSameInstantDoNotShareOne) {
  Sparing world;
  Party& one = world.open();
  Party& two = world.open();
  world.post(one);
  world.run_for(Ms{100});
  one.got.clear();
  one.send(kPost);
  two.send(kPost);
  world.settle();
  EXPECT_EQ(one.body(), "ok");
  EXPECT_EQ(two.body(), "ok");
  EXPECT_EQ(world.count(Counter::spares_used), 1U);
  EXPECT_EQ(world.used(), 3U);
  world.expect_single_use();
}

TEST(TlsSpares, AsManyAsAreSetAreMadeAndNoMore) {
  Sparing world(4);
  Party& client = world.open();
  world.post(client);
  world.run_for(Ms{100});
  EXPECT_EQ(world.unused(), 4U);
  world.post(client);
  world.run_for(Ms{100});
  EXPECT_EQ(world.unused(), 4U);
}

TEST(TlsSpares, OneThatTheUpstreamClosesIsNotUsed) {
  for (const int how : {0, 1, 2, 3, 4}) {
    Sparing world;
    Party& client = world.open();
    world.post(client);
    world.run_for(Ms{100});
    ASSERT_EQ(world.unused(), 1U);
    Party& spare = **std::ranges::find_if(world.upstream.parties,
                                          [](const auto& party) { return party->got.empty(); });
    const bool at_once = how == 4;  // it arrives together with the request
    if (how == 0 || at_once) spare.close();
    if (how == 1) tls_of(spare).close_below();
    if (how == 2) spare.reset();
    if (how == 3) spare.send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
    if (!at_once) world.settle();
    world.post(client);
    EXPECT_EQ(spare.got, "") << how;
    EXPECT_EQ(client.status(), 200) << how;
    EXPECT_EQ(world.count(Counter::spares_used), 0U) << how;
  }
}

TEST(TlsSpares, TicketsOnOneAreNoReasonNotToUseIt) {
  Sparing world;
  Party& client = world.open();
  world.post(client);
  world.run_for(Ms{100});
  Party& spare = **std::ranges::find_if(world.upstream.parties,
                                        [](const auto& party) { return party->got.empty(); });
  tls_of(spare).send_tickets();
  world.settle();
  EXPECT_EQ(world.post(client), 4 * kLatency);
  EXPECT_EQ(world.count(Counter::spares_used), 1U);
}

TEST(TlsSpares, AReplayNeverUsesOne) {
  Sparing world;
  Party& client = world.open();
  client.send(kGet);
  world.settle();
  ASSERT_EQ(client.body(), "ok");
  world.post(client);
  world.run_for(Ms{100});
  ASSERT_EQ(world.unused(), 1U);
  Party* pooled = nullptr;
  Party* spare = nullptr;
  for (const auto& party : world.upstream.parties) {
    if (party->has("GET")) pooled = party.get();
    if (party->got.empty() && !party->saw_end()) spare = party.get();
  }
  ASSERT_NE(pooled, nullptr);
  pooled->on_bytes = [](Party& party) { party.close(); };
  const std::size_t before = world.upstream.count();
  client.got.clear();
  client.send(kGet);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.count(Counter::replays), 1U);
  EXPECT_EQ(spare->got, "");
  EXPECT_EQ(world.upstream.count(), before + 1);
}

TEST(TlsSpares, ARequestThatFailsOnOneIsNotSentAgain) {
  Sparing world;
  Party& client = world.open();
  world.post(client);
  world.run_for(Ms{100});
  Party& spare = **std::ranges::find_if(world.upstream.parties,
                                        [](const auto& party) { return party->got.empty(); });
  spare.on_bytes = [](Party& party) { party.close(); };
  client.got.clear();
  client.send(kPost);
  world.settle();
  EXPECT_EQ(client.status(), 502);
  EXPECT_TRUE(spare.has("hello"));
  EXPECT_EQ(world.used(), 2U);
}

TEST(TlsSpares, TheyGoWhenTheirUpstreamIsRetired) {
  Sparing world(3);
  Party& client = world.open();
  world.post(client);
  world.run_for(Ms{100});
  ASSERT_EQ(world.unused(), 3U);
  world.reload([](config::Config& config) { config.upstreams.front().spare = 0; }, false, false);
  world.run_for(kLatency);
  EXPECT_EQ(world.unused(), 0U);
  world.post(client);
  world.settle();
  EXPECT_EQ(world.unused(), 0U);
  EXPECT_EQ(world.gateway->generations().older(), 0U);
}

TEST(TlsSpares, NoneIsMadeForAnUpstreamThatWasRetiredByAnExchangeOfBefore) {
  Sparing world(2);
  world.spoken->upstream_holds = true;
  Party& client = world.ask(kPost);
  world.run_for(Ms{100});
  EXPECT_EQ(world.upstream.count(), 3U);
  world.reload([](config::Config& config) { config.upstreams.front().spare = 0; }, false, false);
  world.run_for(Ms{100});
  std::size_t open = 0;
  for (const auto& party : world.upstream.parties) open += !party->saw_end();
  EXPECT_EQ(open, 1U);  // that of the exchange
  for (const auto& party : world.upstream.parties) {
    if (!party->saw_end()) tls_of(*party).let_go();
  }
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.unused(), 0U);
  EXPECT_EQ(world.gateway->generations().older(), 0U);
}

TEST(TlsSpares, NorByAHeadThatHadBegunBefore) {
  Sparing world(2);
  Party& client = world.ask(kPost.substr(0, 10));
  world.reload([](config::Config& config) { config.upstreams.front().spare = 0; }, false, false);
  client.send(kPost.substr(10));
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.upstream.count(), 1U);
}

TEST(TlsSpares, TheyGoWhenRoomIsShort) {
  Sparing world(2);
  Party& client = world.open();
  world.post(client);
  world.run_for(Ms{100});
  ASSERT_EQ(world.unused(), 2U);
  io::SimHost& host = world.network.host(kGate);
  host.descriptor_limit = host.descriptors;
  Party& another = world.open();
  world.settle();
  EXPECT_LT(world.unused(), 2U);
  EXPECT_FALSE(client.saw_end());
  EXPECT_FALSE(another.saw_end());
  host.descriptor_limit = 1'000'000;
}

TEST(TlsSpares, OneIsNotMadeAtAnybodysExpense) {
  for (const bool ports : {true, false}) {
    Sparing world;
    io::SimHost& host = world.network.host(kGate);
    if (ports) host.ports = 2;
    Party& client = world.open();
    client.send(kGet);
    world.settle();
    ASSERT_EQ(client.body(), "ok");
    ASSERT_EQ(world.upstream.count(), 2U);  // one is pooled now, and there is a spare
    if (!ports) host.descriptor_limit = host.descriptors;
    EXPECT_EQ(world.post(client), 4 * kLatency);
    EXPECT_EQ(world.upstream.count(), 2U);
    EXPECT_FALSE(world.upstream.at(0).saw_end());
    EXPECT_EQ(world.count(Counter::spares_made), 1U);
    EXPECT_EQ(world.count(Counter::port_waits), 0U);
    EXPECT_EQ(world.count(Counter::pool_shed), 0U);
    host.descriptor_limit = 1'000'000;
  }
}

TEST(TlsSpares, ARequestTakesTheRoomOfThoseUnderWay) {
  for (const bool ports : {true, false}) {
    Sparing world;
    io::SimHost& host = world.network.host(kGate);
    if (ports) host.ports = 2;
    world.spoken->upstream_holds = true;
    Party& first = world.ask(kPost);
    world.settle();
    ASSERT_EQ(world.upstream.count(), 2U);
    world.spoken->upstream_holds = false;
    Party& second = world.open();
    if (!ports) host.descriptor_limit = host.descriptors;
    second.send(kPost);
    world.run_for(Ms{150});  // the network gives a port back a moment later
    EXPECT_EQ(second.body(), "ok");
    EXPECT_TRUE(world.upstream.at(1).saw_reset());
    EXPECT_FALSE(first.saw_end());
    host.descriptor_limit = 1'000'000;
  }
}

TEST(TlsSpares, AStopWaitsForNoneOfThem) {
  Sparing world(2);
  Party& client = world.open();
  world.post(client);
  client.close();
  world.run_for(Ms{100});
  ASSERT_EQ(world.unused(), 2U);
  bool stopped = false;
  world.gateway->stop([&] { stopped = true; });
  world.run_for(kLatency);
  EXPECT_TRUE(stopped);
}

TEST(TlsSpares, AnUpstreamThatIsDownIsNotAskedAgainAndAgain) {
  Sparing world(2, [](config::Config& config) {
    config.upstreams.front().port = 1;
    config.limits.upstream_retries = 0;
  });
  Party& client = world.ask(kPost);
  world.run_for(seconds(10));
  EXPECT_EQ(client.status(), 502);
  EXPECT_EQ(world.count(Counter::connects), 3U);
}

TEST(TlsSpares, TheyServeCleartextUpstreamsToo) {
  World world(spare(1));
  world.upstream.on_bytes = [](Party& party) {
    if (!party.got.ends_with("hello")) return;
    party.send(kOk);
    party.close();
  };
  Party& client = world.open();
  for (int i = 0; i < 5; ++i) {
    client.got.clear();
    client.send(kPost);
    world.run_for(Ms{300});
    EXPECT_EQ(client.body(), "ok");
  }
  EXPECT_EQ(world.count(Counter::spares_used), 4U);
  for (const auto& party : world.upstream.parties) EXPECT_LE(party->count("POST"), 1U);
}

}  // namespace
}  // namespace hushgate::sim
