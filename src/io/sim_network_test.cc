// What a kernel does when links fail, peers leave and nobody answers.
#include "io/sim_network.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "io/sim_fixture.h"
#include "io/sim_peer.h"

namespace hushgate::io {
namespace {

constexpr IpAddress kServer = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress kClient = IpAddress::v4(10, 0, 0, 2);
constexpr Ms kLatency{1};
constexpr KeepAlive kKeepAlive{.idle = Ms(45'000), .interval = Ms(15'000), .probes = 4};
constexpr Duration kPatience = Ms(45'000 + 4 * 15'000);
constexpr Duration kDay = std::chrono::hours(24);

// Two scripts with a connection. One way always takes kLatency.
struct Two {
  explicit Two(unsigned reset_drops_percent = 0)
      : network({.latency_min = kLatency,
                 .latency_max = kLatency,
                 .reset_drops_unread_percent = reset_drops_percent}) {
    listener.on_connection = [this] { server = listener.accept(); };
    client = std::make_unique<SimPeer>(network, network.host(kClient), IpPort{kServer, 80});
    network.run_for(Ms(5));
    EXPECT_TRUE(client->open() && server && server->open());
  }
  SimEnd& of(const std::unique_ptr<SimPeer>& peer) { return network.end(peer->socket()); }
  void run_until(Time time) {
    while (network.step(time)) {
    }
  }

  SimNetwork network;
  SimPeerListener listener{network, network.host(kServer), IpPort{kServer, 80}, 8};
  std::unique_ptr<SimPeer> client;
  std::unique_ptr<SimPeer> server;
};

// Until then the peer has not failed, and then it has.
void expect_failure_at(Two& two, const std::unique_ptr<SimPeer>& peer, Time time, int error) {
  two.run_until(time - Duration(1));
  EXPECT_FALSE(peer->failed());
  two.run_until(time);
  EXPECT_TRUE(peer->failed());
  EXPECT_EQ(two.of(peer).error(), error);
}

TEST(SimSilence, AVanishedPeerIsMissedWhenItsProbesGoUnanswered) {
  Two two;
  two.of(two.server).set_keep_alive(kKeepAlive);
  two.client->send("the last that is heard");
  two.network.run_for(kLatency);
  const Time heard = two.network.now();
  two.network.run_for(Ms(20'000));
  two.network.vanish(two.client->socket());
  expect_failure_at(two, two.server, heard + kPatience, ETIMEDOUT);
  EXPECT_EQ(two.server->receive(100), "the last that is heard");
}

TEST(SimSilence, WithoutKeepAliveAVanishedPeerIsNeverMissed) {
  Two two;
  two.client->vanish();
  two.network.run_for(kDay);
  EXPECT_TRUE(two.server->open());
  EXPECT_FALSE(two.network.step(kNever));
}

TEST(SimSilence, KeepAliveMayBeSetWhenThePeerHasVanishedAlready) {
  Two two;
  two.client->vanish();
  two.network.run_for(std::chrono::hours(1));
  two.of(two.server).set_keep_alive(kKeepAlive);
  const Time set = two.network.now();
  two.network.run_for(Ms(1'000));
  // The first probe of shorter ones is due at once.
  two.of(two.server).set_keep_alive({.idle = Ms(5'000), .interval = Ms(5'000), .probes = 4});
  expect_failure_at(two, two.server, set + Ms(1'000) + Ms(20'000), ETIMEDOUT);
}

TEST(SimSilence, ALongerKeepAliveCountsFromWhatWasHeardLast) {
  Two two;
  const Time heard = two.network.now() - Ms(5) + 2 * kLatency;  // the answer to the SYN
  two.of(two.client).set_keep_alive({.idle = Ms(5'000), .interval = Ms(5'000), .probes = 4});
  two.network.vanish(two.server->socket());
  two.network.run_for(Ms(10'000));
  two.of(two.client).set_keep_alive(kKeepAlive);
  expect_failure_at(two, two.client, heard + kPatience, ETIMEDOUT);
}

TEST(SimSilence, WhatStaysUnacknowledgedIsRepeatedForALongTimeAndNoProbeIsSentMeanwhile) {
  Two two;
  two.of(two.server).set_keep_alive(kKeepAlive);
  two.network.run_for(Ms(30'000));
  two.client->vanish();
  two.network.run_for(Ms(1'000));
  two.server->send("is anybody there?");
  const Time sent = two.network.now();
  two.network.run_for(Ms(5'000));
  two.server->send("hello?");
  expect_failure_at(two, two.server, sent + kSimRetransmissionTimeout, ETIMEDOUT);
}

TEST(SimSilence, AnUnacknowledgedFinIsRepeatedToo) {
  Two two;
  two.client->vanish();
  two.server->finish();
  const Time sent = two.network.now();
  expect_failure_at(two, two.server, sent + kSimRetransmissionTimeout, ETIMEDOUT);
}

TEST(SimSilence, WhatIsUnderWayWhenTheCableIsPulledIsLost) {
  Two two;
  two.client->send("never read");
  two.client->close();
  two.server->send("never read either");
  two.network.vanish(two.client->socket());
  two.network.run_for(Ms(100));
  EXPECT_EQ(two.server->receive(100), "");
  EXPECT_FALSE(two.server->peer_finished() || two.server->failed());
  EXPECT_EQ(two.of(two.server).unacknowledged(), 17U);
}

TEST(SimSilence, NothingIsLeftOfAVanishedConnectionWhenBothEndsHaveGivenUp) {
  Two two;
  two.client->send("unread");
  two.client->vanish();
  EXPECT_EQ(two.network.host(kClient).descriptors, 0U);
  two.server->send("lost");
  two.server->close();
  EXPECT_EQ(two.network.host(kServer).descriptors, 1U);  // the listener's
  EXPECT_EQ(two.network.connections(), 1U);
  two.network.run_for(kSimOrphanTimeout + Ms(1));
  EXPECT_EQ(two.network.connections(), 0U);
}

TEST(SimSilence, AConnectionThatVanishesOnItsWayStaysConnecting) {
  Two two;
  SimPeer late(two.network, two.network.host(kClient), IpPort{kServer, 80});
  two.network.vanish(late.socket());
  two.network.run_for(kDay);
  EXPECT_FALSE(late.open() || late.failed());
  late.close();
  two.network.run_for(Ms(10));
  EXPECT_EQ(two.network.connections(), 1U);
  EXPECT_EQ(two.network.find(late.socket()), nullptr);
}

TEST(SimSilence, KeepAliveCostsNoEventWhileBothEndsAreThere) {
  Two two;
  two.of(two.server).set_keep_alive(kKeepAlive);
  two.of(two.client).set_keep_alive(kKeepAlive);
  const Time start = two.network.now();
  EXPECT_FALSE(two.network.step(kNever));
  EXPECT_EQ(two.network.now(), start);
  two.network.run_for(kDay);
  EXPECT_TRUE(two.server->open() && two.client->open());
}

constexpr KeepAlive kHalfCloseProbes{.idle = Ms(5'000), .interval = Ms(5'000), .probes = 4};

TEST(SimSilence, AProbeFindsAClosedEndThatIsForgotten) {
  Two two;
  two.of(two.server).set_keep_alive(kHalfCloseProbes);
  two.client->close();
  const Time closed = two.network.now();
  // FIN after one latency, its acknowledgement after two. Probes go 5 s, 10 s... after the FIN.
  const Time forgotten = closed + 2 * kLatency + kSimFinTimeout;
  const Time probe = closed + kLatency + Ms(65'000);
  ASSERT_GE(probe, forgotten);
  expect_failure_at(two, two.server, probe + 2 * kLatency, EPIPE);
  two.server->close();
  two.network.run_for(Ms(1));
  EXPECT_EQ(two.network.connections(), 0U);
}

TEST(SimSilence, AClosedEndIsFoundAlsoByProbesThatBeginWhenItIsForgotten) {
  Two two;
  two.client->close();
  two.network.run_for(kDay);
  EXPECT_FALSE(two.server->failed());
  two.of(two.server).set_keep_alive(kHalfCloseProbes);
  expect_failure_at(two, two.server, two.network.now() + 2 * kLatency, EPIPE);
}

TEST(SimSilence, AnEndThatOnlyHalfClosedIsNotForgotten) {
  Two two;
  two.of(two.server).set_keep_alive(kHalfCloseProbes);
  two.client->finish();
  two.network.run_for(kDay);
  EXPECT_TRUE(two.server->open());
  two.client->close();
  const Time closed = two.network.now();
  two.network.run_for(kSimFinTimeout - Ms(1));
  EXPECT_FALSE(two.server->failed());
  two.run_until(closed + kSimFinTimeout + Ms(5'000) + 2 * kLatency);
  EXPECT_TRUE(two.server->failed());
}

TEST(SimSilence, AFinForAForgottenEndIsAnsweredWithAReset) {
  Two two;
  two.client->close();
  two.network.run_for(kSimFinTimeout + Ms(10));
  two.server->finish();
  two.network.run_for(2 * kLatency);
  EXPECT_TRUE(two.server->failed());
  EXPECT_EQ(two.of(two.server).error(), ECONNRESET);
}

TEST(SimStall, NothingArrivesWhileItLastsAndAllOfItInOrderThen) {
  Two two;
  std::string got;
  std::vector<Time> times;
  two.server->on_change = [&] {
    const std::string bytes = two.server->receive(100);
    if (bytes.empty()) return;
    got += bytes;
    times.push_back(two.network.now());
  };
  two.client->send("one ");  // under way when it begins
  two.network.stall(two.client->socket(), Ms(300));
  const Time end = two.network.now() + Ms(300);
  two.network.run_for(Ms(100));
  two.client->send("two ");
  two.server->send("back");
  two.network.run_for(Ms(199));
  two.client->send("three");
  two.client->finish();
  two.network.run_for(Ms(1) - Duration(1));
  EXPECT_EQ(got, "");
  EXPECT_EQ(two.client->receive(100), "");
  two.network.run_for(Duration(1));
  EXPECT_EQ(got, "one two three");
  EXPECT_EQ(two.client->receive(100), "back");
  for (const Time time : times) EXPECT_EQ(time, end);
  EXPECT_TRUE(two.server->peer_finished());
}

TEST(SimStall, OtherConnectionsGoOn) {
  Two two;
  SimPeer other(two.network, two.network.host(kClient), IpPort{kServer, 80});
  two.network.stall(two.client->socket(), Ms(300));
  two.network.run_for(Ms(5));
  EXPECT_TRUE(other.open());
}

TEST(SimFinishDelay, IsExact) {
  Two two;
  EXPECT_EQ(two.of(two.server).finish_delay(), Duration::max());
  two.client->send("a request");
  two.network.run_for(Ms(70));
  two.client->finish();
  two.network.run_for(Ms(500));
  EXPECT_EQ(two.of(two.server).finish_delay(), Ms(70));
  // Without a byte: behind the establishment. The answer to the SYN came 3 ms before the fixture
  // was done.
  two.server->finish();
  two.network.run_for(Ms(500));
  EXPECT_EQ(two.of(two.client).finish_delay(), Ms(3 + 70 + 500) + kLatency);
}

struct Acceptance final : AcceptHandler {
  StreamPtr stream;
  void accepted(StreamPtr accepted) override { stream = std::move(accepted); }
  bool out_of_descriptors() override { return false; }
};

TEST(SimFinishDelay, AStreamTellsItHoweverLateItLooks) {
  SimLoop sim(3);
  SimNetwork& network = sim.network;
  const IpPort here{IpAddress::v4(10, 9, 9, 9), 80};
  Acceptance acceptance;
  const auto listener = sim.loop.backend().listen(here, {}, acceptance);
  ASSERT_TRUE(listener.has_value());
  SimPeer client(network, network.host(kClient), here);
  sim.run_for(Ms(10));
  ASSERT_TRUE(acceptance.stream);
  client.send("x");
  client.finish();
  network.run_for(Ms(700));
  EXPECT_EQ(acceptance.stream->finish_delay(), Duration::max());  // it has not seen the FIN
  sim.run_for(Ms(1));
  ASSERT_TRUE(acceptance.stream->peer_finished());
  EXPECT_LE(acceptance.stream->finish_delay(), Ms(2));
  // As on every connection of a real backend, keep-alive is on.
  client.vanish();
  sim.run_for(kPatience);
  EXPECT_TRUE(acceptance.stream->failed());
  EXPECT_EQ(acceptance.stream->error(), ETIMEDOUT);
}

TEST(SimReset, WhatArrivedBeforeItCanStillBeRead) {
  Two two;
  two.client->send("last words");
  two.client->reset();
  two.network.run_for(Ms(5));
  EXPECT_TRUE(two.server->failed());
  EXPECT_EQ(two.of(two.server).error(), ECONNRESET);
  EXPECT_EQ(two.server->receive(100), "last words");
  Two forgetful(100);
  forgetful.client->send("last words");
  forgetful.client->reset();
  forgetful.network.run_for(Ms(5));
  EXPECT_EQ(forgetful.server->receive(100), "");
}

TEST(SimReset, ItTakesWhatWasNotSentYetWithIt) {
  Two two;
  two.network.host(kServer).receive_window_bytes = 4'096;
  SimPeer client(two.network, two.network.host(kClient), IpPort{kServer, 80});
  two.network.run_for(Ms(5));
  EXPECT_EQ(client.send(std::string(10'000, 'x')), 10'000U);
  client.reset();
  two.network.run_for(Ms(5));
  EXPECT_EQ(two.server->receive(100'000).size(), 4'096U);
  EXPECT_TRUE(two.server->failed());
}

TEST(SimReset, ClosingWithUnreadBytesResets) {
  Two two;
  two.client->send("unread");
  two.network.run_for(Ms(5));
  two.server->send("an answer that arrives");
  two.server->close();
  two.network.run_for(Ms(5));
  EXPECT_TRUE(two.client->failed());
  EXPECT_FALSE(two.client->peer_finished());
  EXPECT_EQ(two.client->receive(100), "an answer that arrives");
}

TEST(SimReset, BytesForAClosedEndAreAnsweredWithOne) {
  Two two;
  two.client->close();
  two.network.run_for(Ms(5));
  two.server->send("too late");
  two.network.run_for(Ms(5));
  EXPECT_TRUE(two.server->failed());
  EXPECT_EQ(two.of(two.server).error(), EPIPE);
}

TEST(SimReset, WhereBothHaveFinishedNobodyIsReset) {
  Two two;
  two.client->finish();
  two.server->finish();
  two.network.run_for(Ms(5));
  two.client->reset();
  two.network.run_for(Ms(5));
  EXPECT_TRUE(two.server->peer_finished());
  EXPECT_FALSE(two.server->failed());
  two.server->close();
  two.network.run_for(Ms(5));
  EXPECT_EQ(two.network.connections(), 0U);
}

TEST(SimNetwork, ManyGoneConnectionsTakeNoRoomBetweenTwoThatStay) {
  Two two;
  for (int i = 0; i < 1'000; ++i) {
    auto peer =
        std::make_unique<SimPeer>(two.network, two.network.host(kClient), IpPort{kServer, 9});
    two.network.run_for(Ms(5));
    EXPECT_TRUE(peer->failed());
    peer.reset();
    two.network.run_for(Ms(5));
  }
  EXPECT_EQ(two.network.connections(), 1U);
  two.client->send("still here");
  two.network.run_for(Ms(5));
  EXPECT_EQ(two.server->receive(100), "still here");
}

}  // namespace
}  // namespace hushgate::io
