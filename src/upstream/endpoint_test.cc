#include "upstream/endpoint.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "upstream/testing.h"

namespace hushgate::upstream {
namespace {

using stats::Counter;
using std::chrono::seconds;
using testing::kLatency;
using testing::kPeriod;
using testing::kServer;
using testing::Server;

struct PoolBench : testing::Bench {
  PoolBench() { use_literal(); }

  // Opens one and pools it; the server's end of it is `server.peers.back()`.
  Connection* pool_one(std::optional<std::uint32_t> hint_s = std::nullopt) {
    ConnectionPtr connection = open();
    EXPECT_TRUE(connection);
    Connection* const raw = connection.get();
    endpoint().put_idle(std::move(connection), hint_s);
    return raw;
  }
  // How long until the server sees its `index`th connection reset; at most a minute.
  Duration until_reset(std::size_t index) {
    const Time from = now();
    while (!server.resets[index] && now() - from < seconds(60)) run_for(kLatency);
    return now() - from;
  }

  Server server{network, IpPort{kServer, 80}};
};

void expect_in_time(Duration found, Duration budget) {
  EXPECT_GE(found, budget) << to_ms(found);
  EXPECT_LE(found, budget + kPeriod + 2 * kLatency) << to_ms(found);
}

// CONTRACT section 1: probes after 45 s, four of them, 15 s apart.
void expect_found_dead(PoolBench& bench, io::Stream& stream) {
  const Time from = bench.now();
  bench.network.vanish(bench.server.peers.back()->socket());
  while (!stream.failed() && bench.now() - from < seconds(200)) bench.run_for(kLatency);
  EXPECT_EQ(stream.error(), ETIMEDOUT);
  EXPECT_GE(bench.now() - from, seconds(45 + 4 * 15) - 2 * kLatency);
  EXPECT_LE(bench.now() - from, seconds(45 + 4 * 15) + kPeriod + 2 * kLatency);
}

TEST(Connection, OnWhichAnUpstreamIsSilentIsProbedAndFoundDead) {
  PoolBench bench;
  const ConnectionPtr connection = bench.open();
  expect_found_dead(bench, connection->stream());
}

TEST(Connection, ThatWasPooledIsProbedToo) {
  PoolBench bench;
  bench.pool_one();
  const ConnectionPtr connection = bench.endpoint().take_idle();
  ASSERT_TRUE(connection);
  expect_found_dead(bench, connection->stream());
}

TEST(Pool, GivesTheMostRecentlyUsedFirst) {
  PoolBench bench;
  Connection* const first = bench.pool_one();
  Connection* const second = bench.pool_one();
  EXPECT_EQ(bench.endpoint().idle_count(), 2U);
  const ConnectionPtr a = bench.endpoint().take_idle();
  const ConnectionPtr b = bench.endpoint().take_idle();
  EXPECT_EQ(a.get(), second);
  EXPECT_EQ(b.get(), first);
  EXPECT_EQ(bench.endpoint().take_idle(), nullptr);
  EXPECT_EQ(bench.count(Counter::reuses), 2U);
}

TEST(Pool, HoldsNoMoreThanMaxIdleAndLetsTheOldestGo) {
  PoolBench bench;
  bench.config.max_idle = 2;
  for (int i = 0; i < 3; ++i) bench.pool_one();
  EXPECT_EQ(bench.endpoint().idle_count(), 2U);
  EXPECT_EQ(bench.count(Counter::pool_shed), 1U);
  bench.run_for(2 * kLatency);
  EXPECT_EQ(bench.server.resets, (std::vector<bool>{true, false, false}));
}

TEST(Pool, AMaxIdleOfZeroKeepsNone) {
  PoolBench bench;
  bench.config.max_idle = 0;
  bench.pool_one();
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  bench.run_for(2 * kLatency);
  EXPECT_TRUE(bench.server.resets[0]);
}

TEST(Pool, AnIdleOneIsResetAtItsTimeoutAndAtMostOnePeriodLater) {
  PoolBench bench;
  bench.pool_one();
  expect_in_time(bench.until_reset(0), bench.config.idle_timeout);
  EXPECT_EQ(bench.count(Counter::pool_expired), 1U);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  bench.run_for(seconds(1));
  EXPECT_EQ(bench.network.connections(), 0U);
}

TEST(Pool, UseStartsTheTimeoutAnew) {
  PoolBench bench;
  bench.pool_one();
  bench.run_for(seconds(3));
  bench.endpoint().put_idle(bench.endpoint().take_idle(), std::nullopt);
  expect_in_time(bench.until_reset(0), bench.config.idle_timeout);
}

TEST(Pool, TheUpstreamsOwnTimeoutLessASecondCountsIfItIsSooner) {
  struct Row {
    std::uint32_t hint_s;
    Ms timeout;
  };
  for (const Row& row : {Row{2, Ms{1'000}}, Row{3, Ms{2'000}}, Row{5, Ms{4'000}}, Row{6, Ms{4'000}},
                         Row{4'294'967'295U, Ms{4'000}}}) {
    PoolBench bench;
    bench.pool_one(row.hint_s);
    expect_in_time(bench.until_reset(0), row.timeout);
  }
  for (const std::uint32_t hint_s : {0U, 1U}) {
    PoolBench bench;
    bench.pool_one(hint_s);
    EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  }
}

TEST(Pool, OneThatIsOverdueButNotSweptYetIsNotGivenOut) {
  PoolBench bench;
  bench.config.idle_timeout = Ms{10};
  bench.pool_one();
  bench.run_for(Ms{10});
  EXPECT_EQ(bench.endpoint().take_idle(), nullptr);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
}

TEST(Pool, AStrayByteThrowsItAway) {
  PoolBench bench;
  bench.pool_one();
  bench.server.peers[0]->send("x");
  bench.run_for(3 * kLatency);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  EXPECT_EQ(bench.count(Counter::pool_stray_bytes), 1U);
  EXPECT_TRUE(bench.server.resets[0]);
}

TEST(Pool, BytesThatLayBehindTheLastResponseThrowItAwayToo) {
  PoolBench bench;
  ConnectionPtr connection = bench.open();
  bench.server.peers[0]->send("x");
  bench.run_for(2 * kLatency);
  ASSERT_TRUE(connection->stream().readable());
  bench.endpoint().put_idle(std::move(connection), std::nullopt);
  bench.run_for(3 * kLatency);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  EXPECT_TRUE(bench.server.resets[0]);
}

TEST(Pool, AByteAfterAReadThatFoundNoEndIsSeen) {
  PoolBench bench;
  ConnectionPtr connection = bench.open();
  bench.server.peers[0]->send("response");
  bench.run_for(2 * kLatency);
  EXPECT_EQ(connection->stream().take().kind, io::Take::Kind::data);
  bench.endpoint().put_idle(std::move(connection), std::nullopt);
  bench.run_for(kLatency);
  bench.server.peers[0]->send("x");
  bench.run_for(3 * kLatency);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  EXPECT_EQ(bench.count(Counter::pool_stray_bytes), 1U);
}

TEST(Pool, AFinThrowsItAway) {
  PoolBench bench;
  bench.pool_one();
  bench.run_for(seconds(1));
  bench.server.peers[0]->close();
  bench.run_for(5 * kLatency);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  EXPECT_EQ(bench.count(Counter::pool_closed_early), 1U);
  EXPECT_EQ(bench.network.connections(), 0U);
}

TEST(Pool, AResetThrowsItAway) {
  PoolBench bench;
  bench.pool_one();
  bench.server.peers[0]->reset();
  bench.run_for(3 * kLatency);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
}

TEST(Pool, WhatTheKernelHasAlreadyDeliveredIsLookedAtRightBeforeAReuse) {
  for (const int what : {0, 1, 2}) {
    PoolBench bench;
    Connection* const quiet = bench.pool_one();
    bench.pool_one();
    io::SimPeer& newest = *bench.server.peers[1];
    if (what == 0) newest.close();
    if (what == 1) newest.reset();
    if (what == 2) newest.send("stray");
    bench.network_for(kLatency);  // has come, and this worker has not turned since
    const ConnectionPtr taken = bench.endpoint().take_idle();
    EXPECT_EQ(taken.get(), quiet) << what;
    EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  }
}

TEST(Pool, ADeadOneIsNotPooled) {
  PoolBench bench;
  ConnectionPtr connection = bench.open();
  bench.server.peers[0]->close();
  bench.run_for(2 * kLatency);
  bench.endpoint().put_idle(std::move(connection), std::nullopt);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
}

TEST(Pool, SheddingTakesTheOldestFirst) {
  PoolBench bench;
  for (int i = 0; i < 4; ++i) bench.pool_one();
  EXPECT_EQ(bench.endpoint().shed_idle(2), 2U);
  bench.run_for(2 * kLatency);
  EXPECT_EQ(bench.server.resets, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(bench.endpoint().shed_idle(10), 2U);
  EXPECT_EQ(bench.endpoint().shed_idle(10), 0U);
  EXPECT_EQ(bench.count(Counter::pool_shed), 4U);
}

TEST(Pool, AHabitOfClosingEarlierShortensTheTimeout) {
  PoolBench bench;
  for (std::size_t i = 0; i < 2; ++i) {
    bench.pool_one();
    bench.run_for(seconds(1));
    bench.server.peers[i]->close();
    bench.run_for(5 * kLatency);
  }
  EXPECT_EQ(bench.count(Counter::pool_closed_early), 2U);
  bench.log.flush();
  EXPECT_NE(bench.lines.text.find("upstream_closes_early"), std::string::npos);
  bench.pool_one();
  const Duration found = bench.until_reset(2);
  EXPECT_LT(found, seconds(1));
  EXPECT_GT(found, Ms{600});
}

TEST(Pool, ARestartOfTheUpstreamShortensNothing) {
  PoolBench bench;
  for (int i = 0; i < 5; ++i) bench.pool_one();
  bench.run_for(seconds(1));
  for (const auto& peer : bench.server.peers) peer->close();
  bench.run_for(seconds(1));
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  bench.pool_one();
  expect_in_time(bench.until_reset(5), bench.config.idle_timeout);
}

TEST(CloseWait, TheUpstreamsFinEndsItWithoutAReset) {
  PoolBench bench;
  bench.endpoint().end(bench.open());
  bench.run_for(Ms{500});
  EXPECT_EQ(bench.endpoint().ending_count(), 1U);
  bench.server.peers[0]->finish();
  bench.run_for(3 * kLatency);
  EXPECT_EQ(bench.endpoint().ending_count(), 0U);
  EXPECT_FALSE(bench.server.resets[0]);
  EXPECT_TRUE(bench.server.peers[0]->peer_finished());
  EXPECT_EQ(bench.count(Counter::close_wait_reset), 0U);
}

TEST(CloseWait, AFinThatIsThereAlreadyEndsItAtOnce) {
  PoolBench bench;
  ConnectionPtr connection = bench.open();
  bench.server.peers[0]->finish();
  bench.run_for(2 * kLatency);
  bench.endpoint().end(std::move(connection));
  EXPECT_EQ(bench.endpoint().ending_count(), 0U);
  bench.run_for(2 * kLatency);
  EXPECT_FALSE(bench.server.resets[0]);
}

TEST(CloseWait, AnUpstreamThatDoesNotCloseIsResetInTime) {
  PoolBench bench;
  bench.endpoint().end(bench.open());
  expect_in_time(bench.until_reset(0), bench.config.close_wait);
  EXPECT_EQ(bench.count(Counter::close_wait_reset), 1U);
  EXPECT_EQ(bench.endpoint().ending_count(), 0U);
}

TEST(CloseWait, BytesOrAResetEndItAtOnce) {
  for (const bool bytes : {true, false}) {
    PoolBench bench;
    bench.endpoint().end(bench.open());
    if (bytes) {
      bench.server.peers[0]->send("more");
    } else {
      bench.server.peers[0]->reset();
    }
    bench.run_for(4 * kLatency);
    EXPECT_EQ(bench.endpoint().ending_count(), 0U);
    EXPECT_EQ(bench.server.resets[0], bytes);
  }
}

TEST(Retired, ResetsWhatIsIdlePoolsNothingAndTellsWhenNoFinIsAwaited) {
  PoolBench bench;
  testing::Owner at_rest;
  ConnectionPtr held = bench.open();
  bench.pool_one();
  bench.endpoint().end(bench.open());
  bench.endpoint().retire(at_rest);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  bench.endpoint().put_idle(std::move(held), std::nullopt);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  bench.run_for(2 * kLatency);
  EXPECT_EQ(bench.server.resets, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(at_rest.runs, 0);
  bench.server.peers[2]->finish();
  bench.run_for(2 * kLatency);
  EXPECT_EQ(at_rest.runs, 1);
  EXPECT_FALSE(bench.server.resets[2]);
}

TEST(Endpoint, ServesAnUpstreamThatDiffersInWhatIsWrittenIntoRequestsOnly) {
  testing::Bench bench;
  config::Upstream other = bench.config;
  other.url = "http://api.test/v2";
  other.prefix = "/v2";
  other.authority = "api.test:80";
  other.host_policy = config::HostPolicy::client;
  EXPECT_TRUE(bench.endpoint().serves(other, nullptr));
  const std::vector<std::function<void(config::Upstream&)>> changes{
      [](config::Upstream& upstream) { upstream.name = "other"; },
      [](config::Upstream& upstream) { upstream.scheme = config::Scheme::unix_socket; },
      [](config::Upstream& upstream) { upstream.host = "b.test"; },
      [](config::Upstream& upstream) { upstream.literal = kServer; },
      [](config::Upstream& upstream) { upstream.port = 81; },
      [](config::Upstream& upstream) { upstream.unix_path = "/a"; },
      [](config::Upstream& upstream) { upstream.protocol = config::Protocol::http1; },
      [](config::Upstream& upstream) { upstream.idle_timeout += Ms{1}; },
      [](config::Upstream& upstream) { upstream.max_idle += 1; },
      [](config::Upstream& upstream) { upstream.close_wait += Ms{1}; },
      [](config::Upstream& upstream) { upstream.source_addresses = {kServer}; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    config::Upstream changed = bench.config;
    changes[i](changed);
    EXPECT_FALSE(bench.endpoint().serves(changed, nullptr)) << i;
  }
}

TEST(Endpoint, TakesEverythingWithIt) {
  PoolBench bench;
  bench.pool_one();
  bench.endpoint().end(bench.open());
  bench.end_endpoint();
  bench.run_for(3 * kLatency);
  EXPECT_EQ(bench.server.resets, (std::vector<bool>{true, true}));
  EXPECT_EQ(bench.network.connections(), 0U);
}

TEST(Endpoint, SpreadsOverItsSourceAddressesOfTheRightFamily) {
  testing::Bench bench;
  const IpAddress six = *IpAddress::parse("fd00::9");
  const IpAddress one = IpAddress::v4(10, 0, 0, 11), two = IpAddress::v4(10, 0, 0, 12);
  bench.config.source_addresses = {one, six, two};
  std::vector<IpAddress> given;
  for (int i = 0; i < 4; ++i) given.push_back(*bench.endpoint().next_source(kServer));
  EXPECT_EQ(std::ranges::count(given, one), 2);
  EXPECT_EQ(std::ranges::count(given, two), 2);
  EXPECT_EQ(bench.endpoint().next_source(*IpAddress::parse("fd00::1")), six);
  bench.end_endpoint();
  bench.config.source_addresses = {one};
  EXPECT_EQ(bench.endpoint().next_source(*IpAddress::parse("fd00::1")), std::nullopt);
  bench.end_endpoint();
  bench.config.source_addresses = {};
  EXPECT_EQ(bench.endpoint().next_source(kServer), std::nullopt);
}

TEST(PortQueue, IsBounded) {
  PoolBench bench;
  testing::Owner owner;
  std::vector<std::unique_ptr<PortWait>> waits;
  for (std::size_t i = 0; i < kMaxPortWaits; ++i) {
    waits.push_back(std::make_unique<PortWait>(owner));
    ASSERT_TRUE(bench.endpoint().wait_for_port(*waits.back()));
  }
  PortWait behind(owner);
  EXPECT_FALSE(bench.endpoint().wait_for_port(behind));
  EXPECT_TRUE(bench.endpoint().wait_for_port(*waits.front()));  // it stands there already
  bench.endpoint().stop_waiting(*waits.back());
  EXPECT_TRUE(bench.endpoint().wait_for_port(behind));
  for (const auto& wait : waits) bench.endpoint().stop_waiting(*wait);
  EXPECT_TRUE(bench.endpoint().is_next(behind));
  bench.endpoint().stop_waiting(behind);
}

TEST(PortQueue, APortThatIsFreedWakesOnlyTheFirst) {
  PoolBench bench;
  testing::Owner first, second;
  PortWait a(first), b(second);
  ConnectionPtr connection = bench.open();
  bench.endpoint().wait_for_port(a);
  bench.endpoint().wait_for_port(b);
  EXPECT_TRUE(bench.endpoint().is_next(a));
  EXPECT_FALSE(bench.endpoint().is_next(b));
  bench.endpoint().drop(std::move(connection));
  bench.run_for(kLatency);
  EXPECT_EQ(first.runs, 1);
  EXPECT_EQ(second.runs, 0);
  bench.endpoint().stop_waiting(a);
  bench.run_for(kLatency);
  EXPECT_EQ(second.runs, 1);
  bench.endpoint().stop_waiting(b);
}

}  // namespace
}  // namespace hushgate::upstream
