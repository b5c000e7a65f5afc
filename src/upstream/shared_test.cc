#include "upstream/shared.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "upstream/testing_http2.h"

namespace hushgate::upstream {
namespace {

using stats::Counter;
using std::chrono::seconds;
using testing::Dial;
using testing::Http2Peer;
using testing::Http2Server;
using testing::kLatency;
using testing::kPeriod;
using testing::kServer;

constexpr Duration kRoundTrip = 2 * kLatency;

struct SharedBench : testing::Bench {
  SharedBench() {
    use_literal();
    config.protocol = config::Protocol::h2c;
    limits.connect_timeout = Ms{2'000};
  }
  // One that asks for a connection, and what it does with it.
  Dial& ask(Dialer::Purpose purpose = Dialer::Purpose::request) {
    dials.push_back(std::make_unique<Dial>(*this));
    dials.back()->start(purpose);
    return *dials.back();
  }
  void settle() { run_for(Ms{20}); }
  // Writes a request's head on the leg; the peer sees the stream then.
  void send(Dial& dial, std::string_view method = "GET") {
    ASSERT_TRUE(dial.connection);
    const std::string head = std::string(method) + " / HTTP/1.1\r\nHost: api.test\r\n\r\n";
    const std::array<Bytes, 1> pieces{as_bytes(head)};
    ASSERT_TRUE(dial.connection->stream().write(pieces));
    settle();
  }
  // Closes the leg of an exchange that is complete.
  void finish(Dial& dial) {
    endpoint().finish(std::move(dial.connection));
    settle();
  }
  void exchange(Dial& dial) {
    send(dial);
    peer().respond(peer().streams.back());
    settle();
    finish(dial);
  }
  Dial& ask_and_settle(Dialer::Purpose purpose = Dialer::Purpose::request) {
    Dial& dial = ask(purpose);
    settle();
    return dial;
  }
  std::size_t granted() const {
    std::size_t count = 0;
    for (const auto& dial : dials) count += dial->connection != nullptr;
    return count;
  }
  Http2Peer& peer(std::size_t index = 0) { return *server.peers.at(index); }
  Shared& shared() { return *endpoint().shared(); }

  Http2Server server{network, IpPort{kServer, 80}};
  std::vector<std::unique_ptr<Dial>> dials;
};

TEST(Shared, TheFirstRequestOpensAConnectionAndTheNextGoesOnItAtOnce) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  ASSERT_TRUE(first.connection);
  EXPECT_TRUE(first.connection->multiplexed());
  EXPECT_EQ(first.connection->stream().peer(), SocketAddress(IpPort{kServer, 80}));
  Dial& second = bench.ask();
  ASSERT_TRUE(second.connection);
  EXPECT_EQ(second.connection->ordinal, 1U);
  bench.send(first);
  bench.send(second, "DELETE");
  EXPECT_EQ(bench.server.peers.size(), 1U);
  EXPECT_EQ(bench.peer().streams, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(bench.count(Counter::links_opened), 1U);
  EXPECT_EQ(bench.count(Counter::link_streams), 2U);
}

TEST(Shared, AWaveOfRequestsWaitsForOneConnectionAndItsSettings) {
  SharedBench bench;
  for (int i = 0; i < 50; ++i) bench.ask();
  bench.settle();
  EXPECT_EQ(bench.granted(), 50U);
  EXPECT_EQ(bench.server.peers.size(), 1U);
}

TEST(Shared, MoreThanOneConnectionIsExpectedToCarryGetTwo) {
  SharedBench bench;
  for (std::size_t i = 0; i <= kStreamsExpected; ++i) bench.ask();
  bench.settle();
  EXPECT_EQ(bench.granted(), kStreamsExpected + 1);
  EXPECT_EQ(bench.server.peers.size(), 2U);
}

TEST(Shared, AStreamThatLastsMakesNobodyWait) {
  SharedBench bench;
  bench.server.manners.max_streams = 1;
  bench.send(bench.ask_and_settle());
  Dial& next = bench.ask();
  bench.run_for(kRoundTrip);
  EXPECT_TRUE(next.connection);
  bench.settle();
  EXPECT_EQ(bench.server.peers.size(), 2U);
}

TEST(Shared, WhatOnePeerAllowsIsExpectedOfItsNextConnections) {
  SharedBench bench;
  bench.server.manners.max_streams = 3;
  for (int i = 0; i < 12; ++i) bench.ask();
  bench.run_for(Ms{100});
  EXPECT_EQ(bench.granted(), 12U);
  EXPECT_LE(bench.server.peers.size(), 5U);
  // None is more than its connection carries.
  for (const auto& dial : bench.dials) {
    if (dial->connection) bench.send(*dial);
  }
  for (const auto& peer : bench.server.peers) EXPECT_LE(peer->streams.size(), 3U);
}

TEST(Shared, APeerThatAllowsNoStreamYetIsWaitedForAndNotMetAgainAndAgain) {
  SharedBench bench;
  bench.server.manners.max_streams = 0;
  for (int i = 0; i < 3; ++i) bench.ask_and_settle();
  EXPECT_EQ(bench.granted(), 0U);
  EXPECT_EQ(bench.server.peers.size(), 1U);
  bench.peer().send_settings({.max_streams = 10});
  bench.settle();
  EXPECT_EQ(bench.granted(), 3U);
}

TEST(Shared, WhenAStreamEndsOnAFullConnectionWhoWaitsGetsItsPlace) {
  SharedBench bench;
  bench.server.manners.max_streams = 1;
  Dial& first = bench.ask_and_settle();
  bench.send(first);
  bench.network.set_fate(IpPort{kServer, 80}, io::SimFate::black_hole);
  Dial& next = bench.ask_and_settle();
  EXPECT_FALSE(next.connection);
  bench.peer().respond(1);
  bench.settle();
  bench.finish(first);
  EXPECT_TRUE(next.connection);
}

TEST(Shared, ARequestThatIsSentAgainGoesOnAConnectionThatWasNotThereBefore) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  bench.send(first);
  Dial& again = bench.ask_and_settle(Dialer::Purpose::replay);
  ASSERT_TRUE(again.connection);
  bench.send(again);
  ASSERT_EQ(bench.server.peers.size(), 2U);
  EXPECT_EQ(bench.peer(0).streams.size(), 1U);
  EXPECT_EQ(bench.peer(1).streams.size(), 1U);
}

TEST(Shared, ASilentConnectionIsAskedWhetherItIsThereBeforeItGetsAStream) {
  SharedBench bench;
  bench.config.idle_timeout = Ms{60'000};
  bench.exchange(bench.ask_and_settle());
  bench.run_for(kPingSilence + kLatency);
  Dial& next = bench.ask();
  EXPECT_FALSE(next.connection);
  bench.run_for(kRoundTrip);
  EXPECT_TRUE(next.connection);
  EXPECT_EQ(bench.peer().pings, 1);
  EXPECT_EQ(bench.server.peers.size(), 1U);
}

TEST(Shared, WhatHasComeOnAConnectionWithoutAStreamIsLookedAtBeforeItGetsOne) {
  SharedBench bench;
  bench.exchange(bench.ask_and_settle());
  bench.peer().go_away(1);
  bench.network_for(Ms{10});
  Dial& next = bench.ask();
  EXPECT_FALSE(next.connection);
  bench.settle();
  bench.send(next, "POST");
  EXPECT_EQ(bench.server.peers.size(), 2U);
  EXPECT_EQ(bench.peer(0).streams.size(), 1U);
  EXPECT_EQ(bench.peer(1).streams.size(), 1U);
}

TEST(Shared, OneThatDoesNotAnswerGetsNoStreamsAndKeepsThoseThatItHas) {
  SharedBench bench;
  Dial& thinking = bench.ask_and_settle();
  bench.send(thinking, "POST");
  bench.peer().deaf = true;
  bench.run_for(kPingSilence);
  Dial& next = bench.ask();
  bench.run_for(bench.limits.connect_timeout - kLatency);
  EXPECT_FALSE(next.connection);
  bench.run_for(kPeriod + kRoundTrip + 2 * kLatency);
  ASSERT_TRUE(next.connection);
  bench.send(next);
  EXPECT_EQ(bench.server.peers.size(), 2U);
  EXPECT_EQ(bench.count(Counter::pings_unanswered), 1U);
  EXPECT_FALSE(thinking.connection->stream().failed());
  bench.log.flush();
  EXPECT_NE(bench.lines.text.find("upstream_ping_unanswered"), std::string::npos);
}

TEST(Shared, OneThatIsHeardOfAgainServesAgain) {
  SharedBench bench;
  bench.send(bench.ask_and_settle());
  bench.peer().deaf = true;
  bench.run_for(kPingSilence);
  Dial& second = bench.ask();
  bench.run_for(bench.limits.connect_timeout + kPeriod + Ms{50});
  ASSERT_TRUE(second.connection);
  bench.peer().deaf = false;
  bench.peer().look();
  bench.settle();
  bench.send(bench.ask());
  EXPECT_EQ(bench.peer(0).streams.size(), 2U);
}

TEST(Shared, OneWithoutAStreamThatDoesNotAnswerIsReset) {
  SharedBench bench;
  bench.config.idle_timeout = Ms{60'000};
  bench.exchange(bench.ask_and_settle());
  bench.peer().deaf = true;
  bench.run_for(kPingSilence);
  Dial& next = bench.ask();
  bench.run_for(bench.limits.connect_timeout + kPeriod + Ms{50});
  EXPECT_TRUE(next.connection);
  EXPECT_EQ(bench.shared().count(), 1U);
  bench.peer().deaf = false;
  bench.peer().look();
  EXPECT_TRUE(bench.peer().failed);
}

// gRPC's servers end a connection with too_many_pings.
TEST(Shared, OnePeerIsAskedTwiceInARowAndNoMore) {
  SharedBench bench;
  for (unsigned i = 0; i <= kMaxPingsInARow; ++i) {
    bench.send(bench.ask_and_settle());
    bench.run_for(kPingSilence);
  }
  EXPECT_EQ(bench.server.peers.size(), 1U);
  bench.send(bench.ask_and_settle());
  EXPECT_EQ(bench.server.peers.size(), 2U);
  EXPECT_EQ(bench.peer(0).pings, static_cast<int>(kMaxPingsInARow));
  // Whatever else it says makes it as good as new.
  bench.peer(0).respond(1);
  bench.settle();
  bench.finish(*bench.dials.front());
  bench.run_for(kPingSilence);
  bench.send(bench.ask_and_settle());
  EXPECT_EQ(bench.server.peers.size(), 2U);
}

TEST(Shared, AConnectionWithoutAStreamEndsInOrderAfterItsIdleTimeout) {
  SharedBench bench;
  bench.exchange(bench.ask_and_settle());
  bench.run_for(bench.config.idle_timeout - Ms{40});
  EXPECT_EQ(bench.peer().goaways, 0);
  bench.run_for(Ms{40} + kPeriod + kRoundTrip);
  EXPECT_EQ(bench.peer().goaways, 1);
  bench.run_for(bench.config.close_wait + kPeriod);
  EXPECT_TRUE(bench.peer().finished);
  EXPECT_EQ(bench.shared().count(), 0U);
  EXPECT_EQ(bench.count(Counter::pool_expired), 1U);
  EXPECT_EQ(bench.count(Counter::links_drained), 0U);
}

TEST(Shared, AConnectionThatCarriesASilentStreamDoesNotIdle) {
  SharedBench bench;
  Dial& thinking = bench.ask_and_settle();
  bench.send(thinking);
  bench.run_for(seconds(3'600));
  EXPECT_FALSE(thinking.connection->stream().failed());
  EXPECT_EQ(bench.peer().goaways, 0);
}

TEST(Shared, WhoSaysGoawayGetsNoNewStreamsAndEndsWithItsLast) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  bench.send(first);
  bench.peer().go_away(1);
  bench.settle();
  Dial& next = bench.ask_and_settle();
  ASSERT_TRUE(next.connection);
  bench.send(next);
  EXPECT_EQ(bench.server.peers.size(), 2U);
  EXPECT_FALSE(first.connection->stream().failed());
  bench.peer().respond(1);
  bench.settle();
  bench.finish(first);
  EXPECT_TRUE(bench.peer(0).finished);
  bench.run_for(bench.config.close_wait + kPeriod);
  EXPECT_EQ(bench.shared().count(), 1U);
  EXPECT_EQ(bench.count(Counter::links_drained), 1U);
}

TEST(Shared, WhatLiesAboveTheLastStreamOfAGoawayIsUnprocessed) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  Dial& second = bench.ask();
  bench.send(first);
  bench.send(second, "POST");
  bench.peer().go_away(1);
  bench.settle();
  EXPECT_FALSE(first.connection->stream().failed());
  EXPECT_TRUE(second.connection->stream().failed());
  EXPECT_TRUE(second.connection->unprocessed());
}

TEST(Shared, AnAbandonedStreamIsResetAndTheConnectionGoesOn) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  bench.send(first);
  bench.endpoint().drop(std::move(first.connection));
  bench.settle();
  EXPECT_EQ(bench.peer().resets, (std::map<std::int32_t, std::uint32_t>{{1, NGHTTP2_CANCEL}}));
  bench.send(bench.ask());
  EXPECT_EQ(bench.peer().streams.size(), 2U);
}

TEST(Shared, WhenNobodyListensAllWhoWaitAreToldSo) {
  SharedBench bench;
  bench.config.port = 81;
  for (int i = 0; i < 3; ++i) bench.ask();
  bench.settle();
  for (const auto& dial : bench.dials) {
    ASSERT_TRUE(dial->failed());
    EXPECT_EQ(dial->dialer.error(), (Error{ErrorKind::connection_refused, ECONNREFUSED}));
    EXPECT_EQ(dial->dialer.failed_address(), SocketAddress(IpPort{kServer, 81}));
  }
  EXPECT_EQ(bench.count(Counter::connects), 1U);
}

TEST(Shared, AFailedConnectFailsOnlyThoseForWhomNothingElseComes) {
  SharedBench bench;
  bench.config.idle_timeout = Ms{60'000};
  bench.exchange(bench.ask_and_settle());
  bench.run_for(kPingSilence);
  bench.server.stop_listening();
  Dial& any = bench.ask();
  Dial& again = bench.ask(Dialer::Purpose::replay);
  bench.settle();
  EXPECT_TRUE(any.connection);
  EXPECT_TRUE(again.failed());
}

TEST(Shared, WhoWaitsTooLongFailsAlone) {
  SharedBench bench;
  bench.limits.connect_total = Ms{1'500};
  bench.network.set_fate(IpPort{kServer, 80}, io::SimFate::black_hole);
  Dial& first = bench.ask();
  bench.run_for(Ms{1'000});
  Dial& second = bench.ask();
  bench.run_for(Ms{600});
  EXPECT_TRUE(first.failed());
  EXPECT_EQ(first.dialer.error().kind, ErrorKind::connection_timeout);
  EXPECT_TRUE(second.failed());  // what it waited for has failed
}

TEST(Shared, WhoLeavesTheLineTakesNothing) {
  SharedBench bench;
  Dial& first = bench.ask();
  Dial& second = bench.ask();
  first.dialer.cancel();
  bench.settle();
  EXPECT_FALSE(first.connection);
  EXPECT_TRUE(second.connection);
}

TEST(Shared, ALegThatWasLostBeforeItWasTakenIsAskedForAgain) {
  SharedBench bench;
  bench.exchange(bench.ask_and_settle());
  Dialer dialer{bench.dials.front()->owner};
  dialer.start(bench.endpoint(), bench.limits, bench.now());
  bench.peer().close();
  bench.network_for(Ms{10});
  bench.dials.front()->owner.body = [&] { dialer.step(bench.now()); };
  bench.run_for(Ms{5});
  dialer.step(bench.now());
  bench.settle();
  ASSERT_EQ(dialer.step(bench.now()), Dialer::State::connected);
  const ConnectionPtr connection = dialer.take(bench.now());
  EXPECT_FALSE(connection->stream().failed());
  EXPECT_EQ(bench.server.peers.size(), 2U);
}

TEST(Shared, AnUpgradeBecomesAnExtendedConnectWhereThePeerAllowsIt) {
  SharedBench bench;
  bench.server.manners.extended_connect = true;
  Dial& tunnel = bench.ask_and_settle(Dialer::Purpose::upgrade);
  ASSERT_TRUE(tunnel.connection);
  EXPECT_TRUE(tunnel.connection->multiplexed());
}

TEST(Shared, AnUpgradeWaitsForTheSettingsAndFailsWhereTheyDoNotAllowIt) {
  SharedBench bench;
  Dial& first = bench.ask();
  Dial& tunnel = bench.ask(Dialer::Purpose::upgrade);
  bench.settle();
  EXPECT_TRUE(first.connection);
  ASSERT_TRUE(tunnel.failed());
  EXPECT_EQ(tunnel.dialer.error(), (Error{ErrorKind::http_protocol_error, 0}));
  Dial& late = bench.ask(Dialer::Purpose::upgrade);
  EXPECT_TRUE(late.failed());
}

TEST(Shared, AConnectionWithoutAStreamGivesWayWhenRoomIsNeeded) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  EXPECT_EQ(bench.endpoint().shed_idle(1), 0U);
  bench.exchange(first);
  EXPECT_EQ(bench.endpoint().shed_idle(1), 1U);
  bench.settle();
  EXPECT_TRUE(bench.peer().failed);
  EXPECT_EQ(bench.shared().count(), 0U);
}

TEST(Shared, OfARetiredEndpointConnectionsEndWithTheirLastStream) {
  SharedBench bench;
  Dial& first = bench.ask_and_settle();
  bench.send(first);
  testing::Owner at_rest;
  bench.endpoint().retire(at_rest);
  bench.settle();
  EXPECT_EQ(bench.peer().goaways, 1);
  EXPECT_FALSE(first.connection->stream().failed());
  bench.peer().respond(1);
  bench.settle();
  bench.finish(first);
  bench.run_for(bench.config.close_wait + kPeriod);
  EXPECT_EQ(bench.shared().count(), 0U);
}

TEST(Shared, AnUpstreamThatSpeaksNoHttp2FailsAsIfItCouldNotBeConnectedTo) {
  SharedBench bench;
  bench.config.port = 82;
  io::SimPeerListener listener(bench.network, bench.network.host(kServer), IpPort{kServer, 82}, 9);
  std::vector<std::unique_ptr<io::SimPeer>> peers;
  listener.on_connection = [&] {
    while (auto peer = listener.accept()) {
      peer->send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      peers.push_back(std::move(peer));
    }
  };
  Dial& dial = bench.ask_and_settle();
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_failed);
  EXPECT_EQ(dial.dialer.failed_address(), SocketAddress(IpPort{kServer, 82}));
  EXPECT_EQ(peers.size(), 1U);
  bench.log.flush();
  EXPECT_NE(bench.lines.text.find("upstream_http2_ended"), std::string::npos) << bench.lines.text;
}

TEST(Shared, AnEndpointThatGoesTakesItsConnectionsWithIt) {
  SharedBench bench;
  bench.exchange(bench.ask_and_settle());
  bench.dials.clear();
  bench.end_endpoint();
  bench.network_for(Ms{10});
  EXPECT_TRUE(bench.peer().failed);
}

}  // namespace
}  // namespace hushgate::upstream
