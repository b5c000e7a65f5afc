// Stop, reload and shortage with TLS on both sides (CONTRACT sections 1 and 5).
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n";

// --- reload

TEST(TlsReload, ANewCertificateServesNewConnectionsAndOldOnesFinish) {
  TlsWorld world;
  auto [stream, upstream] = world.exchange(kGet);
  upstream.send(kChunked);
  Party& kept = world.open();
  world.gate.listener.certificates = {tls::source_of(tls::leaf({"new.example.com"}))};
  world.reload({}, true, false);
  world.upstream.answer_with(std::string(kOk));
  Party& fresh = world.ask(kGet);
  kept.send(kGet);
  world.settle();
  EXPECT_EQ(tls_of(fresh).peer_name(), "new.example.com");
  EXPECT_EQ(fresh.body(), "ok");
  EXPECT_EQ(tls_of(kept).peer_name(), "api.example.com");
  EXPECT_EQ(kept.body(), "ok");
  world.run_for(seconds(2));
  upstream.send("2\r\na2\r\n0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(stream.got.ends_with("2\r\na2\r\n0\r\n\r\n"));
  EXPECT_FALSE(stream.saw_end());
  EXPECT_EQ(world.upstream.count(), 3U);
  EXPECT_FALSE(world.upstream.at(1).saw_reset());  // nothing has changed for the pool
}

TEST(TlsReload, AHandshakeThatHadBegunEndsAsItBegan) {
  TlsWorld world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.dial();
  world.run_for(kLatency);  // accepted
  world.gate.listener.certificates = {tls::source_of(tls::leaf({"new.example.com"}))};
  world.reload({}, true, false);
  client.send(kGet);
  world.settle();
  EXPECT_EQ(tls_of(client).peer_name(), "api.example.com");
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsReload, ATicketFromBeforeItStillResumes) {
  TlsWorld world;
  Party& before = world.open();
  world.settle();
  world.spoken->session.reset(SSL_get1_session(tls_of(before).ssl()));
  before.close();
  world.gate.listener.certificates = {tls::source_of(tls::leaf({"new.example.com"}))};
  world.reload({}, true, false);
  Party& after = world.open();
  world.settle();
  EXPECT_TRUE(tls_of(after).resumed());
  EXPECT_EQ(world.count(Counter::tls_accepts_resumed), 1U);
}

TEST(TlsReload, AChangedUpstreamCaIsANewEndpointWithAPoolAndTicketsOfItsOwn) {
  static tls::Files files;
  TlsWorld world;
  auto [stream, running] = world.exchange(kGet);
  running.send(kChunked);
  world.upstream.answer_with(std::string(kOk));
  world.ask(kGet);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  // The new one trusts somebody else, and the upstream shows that.
  world.gate.upstream.ca_file = files.write("other.pem", tls::other_authority().certificate);
  world.reload({}, false, true);
  world.settle();
  EXPECT_TRUE(world.upstream.at(1).saw_reset());
  EXPECT_FALSE(running.saw_end());
  Party& refused = world.ask(kGet);
  world.run_for(seconds(2));
  EXPECT_EQ(refused.status(), 502);
  EXPECT_TRUE(refused.has("tls_certificate_error"));
  EXPECT_FALSE(tls_of(world.upstream.at(2)).resumed());
  world.spoken->upstream = world.spoken->upstream_context(tls::made(
      {.common_name = "x", .names = {"api.example.com"}, .issuer = &tls::other_authority()}));
  Party& served = world.ask(kGet);
  world.settle();
  EXPECT_EQ(served.body(), "ok");
  running.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(stream.got.ends_with("0\r\n\r\n"));
  EXPECT_TRUE(running.saw_reset());  // its endpoint is retired
}

TEST(TlsReload, AnUnchangedUpstreamIsUsedOn) {
  TlsWorld world;
  warm(world);
  world.reload([](config::Config& config) { config.limits.idle_timeout = Ms{10'000}; }, true,
               false);
  world.ask(kGet);
  world.settle();
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_EQ(world.count(Counter::reuses), 1U);
}

TEST(TlsReload, AHandshakeWithTheOldUpstreamGoesOn) {
  static tls::Files files;
  TlsWorld world;
  world.spoken->upstream_holds = true;
  Party& client = world.ask(kPost);
  world.run_for(seconds(1));
  world.gate.upstream.ca_file = files.write("again.pem", tls::other_authority().certificate);
  world.reload({}, false, true);
  world.run_for(seconds(1));
  tls_of(world.upstream.at(0)).let_go();
  world.settle();
  world.upstream.at(0).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_EQ(world.gateway->generations().older(), 0U);
}

// --- stop

struct Stopping : TlsWorld {
  using TlsWorld::TlsWorld;
  void stop() {
    began = now();
    gateway->stop([this] { ended = now(); });
  }
  bool wait() {
    return run_while_not([this] { return ended != Time{}; });
  }
  Time began{}, ended{};
};

TEST(TlsStop, AKeptConnectionStaysASecondAndEndsWithCloseNotify) {
  Stopping world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  Party& fresh = world.open();
  Party& halfway = world.dial();
  tls_of(halfway).hold();
  world.settle();
  world.stop();
  ASSERT_TRUE(
      world.run_while_not([&] { return kept.saw_end() && fresh.saw_end() && halfway.saw_end(); }));
  for (Party* party : {&kept, &fresh, &halfway}) {
    EXPECT_FALSE(party->saw_reset());
    EXPECT_GE(party->finished - world.began - kLatency, kStopKeptGrace);
    EXPECT_LE(party->finished - world.began - kLatency, kStopKeptGrace + world.period());
  }
  EXPECT_TRUE(tls_of(kept).notified());
  EXPECT_TRUE(tls_of(fresh).notified());
  EXPECT_TRUE(world.wait());
}

TEST(TlsStop, AHandshakeAndARequestWithinThatSecondAreServed) {
  Stopping world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.dial();
  world.run_for(kLatency);
  world.stop();
  client.send(kGet);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_TRUE(client.has("Connection: close\r\n"));
  EXPECT_TRUE(client.saw_finish());
  EXPECT_TRUE(tls_of(client).notified());
}

TEST(TlsStop, ARunningExchangeEndsUndisturbed) {
  Stopping world;
  auto [client, upstream] = world.exchange(kPost);
  world.stop();
  world.run_for(seconds(20));
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
  EXPECT_TRUE(tls_of(client).notified());
  client.close();
  world.settle();
  EXPECT_NE(world.ended, Time{});
}

TEST(TlsStop, WhatIsLeftAtTheGracesEndIsCutVisibly) {
  Stopping world;
  auto [stream, upstream] = world.exchange(kGet);
  upstream.send(kChunked);
  world.spoken->upstream_holds = true;
  Party& waiting = world.ask(kPost);
  world.settle();
  world.stop();
  ASSERT_TRUE(world.wait());
  EXPECT_LE(world.ended - world.began, world.limits().grace);
  world.settle();
  EXPECT_FALSE(stream.has("0\r\n\r\n"));
  EXPECT_TRUE(stream.saw_end());
  EXPECT_TRUE(waiting.saw_end());
  EXPECT_TRUE(upstream.saw_end());
}

// --- shortage

TEST(TlsShortage, TheOldestThatNeverSentGoesFirst) {
  TlsWorld world({}, {}, 3);
  Party& first = world.open();
  Party& second = world.open();
  Party& third = world.open();
  Party& fourth = world.open();
  world.settle();
  EXPECT_TRUE(first.saw_end());
  EXPECT_FALSE(second.saw_end());
  EXPECT_FALSE(third.saw_end());
  EXPECT_FALSE(fourth.saw_end());
  EXPECT_EQ(world.count(Counter::clients_shed), 1U);
}

TEST(TlsShortage, OneWhoseHandshakeHasNotEndedGoesToo) {
  TlsWorld world({}, {}, 1);
  Party& halfway = world.dial();
  tls_of(halfway).hold();
  world.settle();
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask(kGet);
  world.settle();
  EXPECT_TRUE(halfway.saw_end());
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsShortage, OneWhoseRequestIsOnItsWayIsNotShed) {
  TlsWorld world({}, {}, 1);
  world.upstream.answer_with(std::string(kOk));
  Party& first = world.open();
  Party& second = world.dial();
  first.send(kGet);  // comes in the turn in which the second one is accepted
  world.settle();
  EXPECT_EQ(first.body(), "ok");
  EXPECT_EQ(second.opened, Time{});
}

TEST(TlsShortage, WhoCannotBeLetInIsReset) {
  TlsWorld world({}, {}, 1);
  auto [busy, upstream] = world.exchange(kPost);
  Party& late = world.dial();
  world.run_for(kAcceptPause + Ms{20});
  EXPECT_TRUE(late.saw_reset());
  EXPECT_EQ(late.got, "");
  EXPECT_EQ(lines_with(world, "turned_away").size(), 1U);
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(busy.status(), 200);
}

TEST(TlsShortage, WithoutDescriptorsIdlePooledConnectionsGoFirst) {
  TlsWorld world;
  world.upstream.answer_with(std::string(kOk));
  Party& kept = world.ask(kGet);
  world.settle();
  io::SimHost& host = world.network.host(kGate);
  host.descriptor_limit = host.descriptors;
  Party& client = world.open();
  world.settle();
  EXPECT_TRUE(world.upstream.at(0).saw_reset());
  EXPECT_FALSE(kept.saw_end());
  EXPECT_FALSE(client.saw_end());
  host.descriptor_limit = 1'000'000;
}

}  // namespace
}  // namespace hushgate::sim
