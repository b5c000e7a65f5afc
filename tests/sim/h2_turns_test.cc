// Whose turn it is on a stream and on its connection, who leaves, and what runs out: CONTRACT
// section 1 for HTTP/2.
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

// --- clients that leave

TEST(H2Leaving, AStreamThatIsResetCancelsItsAttemptAndNoOther) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& gone = post(client, "/gone", "hello");
  H2Stream& stays = post(client, "/stays", "hello");
  world.settle();
  const Time from = world.now();
  client.reset(gone.id, Code::cancel);
  world.run_for(2 * kLatency);
  const H2Stream& lost = *world.find("/gone").second;
  EXPECT_EQ(lost.reset, Code::cancel);
  EXPECT_EQ(lost.reset_at - from, 2 * kLatency);  // I9
  EXPECT_EQ(world.count(Counter::clients_gone), 1U);
  auto [up, other] = world.find("/stays");
  EXPECT_FALSE(other->reset);
  up->answer(*other, 200, "ok");
  world.settle();
  EXPECT_EQ(stays.body, "ok");
  EXPECT_EQ(world.upstream.count(), 1U);
}

TEST(H2Leaving, AConnectionThatGoesCancelsAllOfItsStreams) {
  for (const bool rude : {false, true}) {
    H2World world;
    H2Peer& client = world.connect();
    for (int i = 0; i < 10; ++i) post(client, "/" + std::to_string(i), "hello");
    H2Peer& neighbour = world.connect();
    H2Stream& stays = neighbour.ask(get("/stays"));
    world.settle();
    ASSERT_EQ(world.up(0).count(), 11U);
    const Time from = world.now();
    rude ? client.party().reset() : client.party().close();
    world.run_for(2 * kLatency);
    for (auto& [id, stream] : world.up(0).streams()) {
      if (stream.path() == "/stays") continue;
      EXPECT_EQ(stream.reset, Code::cancel);
      EXPECT_EQ(stream.reset_at - from, 2 * kLatency);
    }
    auto [up, other] = world.find("/stays");
    up->answer(*other, 200, "ok");
    world.settle();
    EXPECT_EQ(stays.body, "ok");
    EXPECT_EQ(world.gateway->session_count(), 1U);  // the neighbour
  }
}

TEST(H2Leaving, ARequestThatIsResetInItsMiddleIsNeverAWholeOne) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(request("POST", "/"), Last::no);
  client.data(stream.id, "half", Last::no);
  world.settle();
  client.reset(stream.id, Code::cancel);
  world.settle();
  EXPECT_EQ(world.up(0).nth(0).body, "half");
  EXPECT_FALSE(world.up(0).nth(0).ended);
  EXPECT_EQ(world.up(0).nth(0).reset, Code::cancel);
}

TEST(H2Leaving, OneThatIsResetBeforeItWasReadCostsTheUpstreamNothing) {
  H2World world;
  H2Peer& client = world.connect();
  const std::string block = client.pack(get());
  std::string both;
  both += Frame{FrameType::headers, kEndHeaders | kEndStream, 1, block}.text();
  both += reset_frame(1, Code::cancel);
  client.raw(both);
  world.settle();
  EXPECT_EQ(world.upstream.count(), 0U);
}

// --- budgets of a stream

TEST(H2Turns, ASilentUpstreamIsA504OfItsStreamAlone) {
  H2World world([](config::Config& config) { config.limits.upstream_timeout = seconds(30); });
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      if (stream.path() == "/good") it.answer(stream, 200, "ok");
    };
  };
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/silent", "hello");
  world.run_for(3 * kLatency);
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return stream.ended; }, minutes(2)));
  EXPECT_EQ(stream.status(), 504);
  EXPECT_GE(stream.ended_at - from, seconds(30));
  EXPECT_LE(stream.ended_at - from, seconds(30) + world.period() + Ms{10});
  EXPECT_EQ(world.find("/silent").second->reset, Code::cancel);
  H2Stream& good = client.ask(get("/good"));
  world.settle();
  EXPECT_EQ(good.body, "ok");
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_EQ(world.count(Counter::upstream_silent), 1U);
}

TEST(H2Turns, ABodyThatDoesNotComeIsA408AndTheConnectionGoesOn) {
  H2World world([](config::Config& config) { config.limits.request_timeout = seconds(10); });
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, "ok"); };
  };
  H2Peer& client = world.connect();
  H2Stream& slow = client.ask(request("POST", "/slow"), Last::no);
  client.data(slow.id, "x", Last::no);
  world.run_for(kLatency);
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return slow.ended || slow.reset; }, minutes(2)));
  EXPECT_EQ(slow.status(), 408);
  EXPECT_GE(world.now() - from, seconds(10));
  EXPECT_LE(world.now() - from, seconds(10) + world.period() + Ms{10});
  H2Stream& good = post(client, "/good", "hello");
  world.settle();
  EXPECT_EQ(good.body, "ok");
  EXPECT_TRUE(client.goaways().empty());
  EXPECT_EQ(world.count(Counter::swept_receiving), 1U);
}

TEST(H2Turns, AStreamWhoseWindowStaysShutIsResetAndNobodyIsBlamed) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.answer(stream, 200, std::string(900'000, 'x'));
    };
  };
  H2Peer& client = world.connect();
  H2Stream& shut = client.ask(get("/shut"));
  shut.takes = false;
  world.run_for(seconds(1));
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return shut.reset.has_value(); }, minutes(5)));
  EXPECT_GE(world.now() - from, world.limits().send_timeout - seconds(1));
  EXPECT_LE(world.now() - from, 2 * world.limits().send_timeout + world.period());
  EXPECT_EQ(world.count(Counter::swept_sending), 1U);
  EXPECT_EQ(world.count(Counter::upstream_silent), 0U);
  EXPECT_TRUE(client.goaways().empty());
  H2Stream& good = client.ask(get("/good"));
  world.run_for(seconds(2));
  EXPECT_EQ(good.body.size(), 900'000U);
}

// --- of the connection

TEST(H2Turns, AConnectionWithoutAStreamIsClosedWhenItHasIdled) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  world.settle();
  EXPECT_TRUE(stream.ended);
  ASSERT_TRUE(world.run_while_not([&] { return client.party().saw_end(); }, minutes(3)));
  const Duration idled = client.party().ended() - stream.ended_at;
  EXPECT_GE(idled, world.limits().idle_timeout - 2 * kLatency);
  EXPECT_LE(idled, world.limits().idle_timeout + world.period() + 2 * kLatency);
  EXPECT_FALSE(client.party().saw_reset());
  ASSERT_EQ(client.goaways().size(), 1U);
  EXPECT_EQ(client.goaways()[0].code, Code::no_error);
  EXPECT_EQ(client.goaways()[0].last, 1U);
}

TEST(H2Turns, ByteForByteNoiseDoesNotKeepAnIdleConnection) {
  H2World world;
  H2Peer& client = world.connect();
  const Time from = world.now();
  while (!client.party().saw_end() && world.now() - from < minutes(3)) {
    client.ping();
    world.run_for(seconds(5));
  }
  EXPECT_TRUE(client.party().saw_end());
  EXPECT_GT(client.pongs(), 5U);
  EXPECT_LE(world.now() - from, world.limits().idle_timeout + world.period() + seconds(6));
}

TEST(H2Turns, AnUnfinishedHeaderBlockHasTheHeadsBudget) {
  for (const bool drips : {false, true}) {
    H2World world;
    H2Peer& client = world.connect();
    world.settle();  // SETTINGS are acknowledged: nothing may stand within the block
    const std::string block = client.pack(get());
    const Time from = world.now();
    client.raw(Frame{FrameType::headers, kEndStream, 1, block}.text());
    std::size_t dripped = 0;
    std::string fields;
    while (fields.size() < 10'000) fields += std::string_view("\0\1a\1b", 5);  // a: b
    const std::string more = Frame{FrameType::continuation, 0, 1, fields}.text();
    while (!client.party().saw_end() && world.now() - from < minutes(3)) {
      if (drips) client.raw(more.substr(dripped++, 1));
      world.run_for(Ms{300});
    }
    EXPECT_TRUE(client.party().saw_end());
    const Duration lived = client.party().ended() - from;
    EXPECT_LE(lived, seconds(60) + world.period() + seconds(3));
    EXPECT_FALSE(client.goaways().empty());
    // nghttp2 takes a frame's head that comes in nine pieces for a flood of CONTINUATION.
    if (!drips) EXPECT_EQ(world.count(Counter::swept_head), 1U);
    EXPECT_EQ(world.upstream.count(), 0U);
  }
}

TEST(H2Turns, SoHasThePreface) {
  H2World world;
  Party& party = world.open();
  const Time from = world.now();
  party.send(kPreface.substr(0, 20));
  ASSERT_TRUE(world.run_while_not([&] { return party.saw_end(); }, minutes(3)));
  EXPECT_LE(party.ended() - from, seconds(60) + world.period() + seconds(3));
}

TEST(H2Turns, AClientThatReadsNothingIsCut) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.answer(stream, 200, std::string(60'000, 'x'));
    };
  };
  H2Peer& client = world.connect({.window = 10'000'000});
  client.grant(0, 10'000'000);
  world.settle();
  client.party().reads = false;
  for (int i = 0; i < 100; ++i) client.ask(get("/" + std::to_string(i)));
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.party().saw_end(); }, minutes(5)));
  EXPECT_LE(client.party().ended() - from, 2 * world.limits().send_timeout + 2 * world.period());
  EXPECT_EQ(world.count(Counter::upstream_silent), 0U);
  for (auto& [id, stream] : world.up(0).streams()) EXPECT_TRUE(stream.ended);
}

// A client that has not heard yet how many it may open. One that has, and opens more, has broken
// the protocol.
TEST(H2Turns, StreamsBeyondWhatIsAllowedAreRefusedAndTheOthersServed) {
  H2World world([](config::Config& config) { config.limits.max_streams = 10; });
  H2Peer& client = world.connect();
  for (int i = 0; i < 15; ++i) client.ask(get("/" + std::to_string(i)));
  world.settle();
  EXPECT_EQ(client.max_streams(), 10U);
  std::size_t refused = 0;
  for (const auto& [id, stream] : client.streams()) {
    if (stream.reset == Code::refused_stream) ++refused;
  }
  EXPECT_EQ(refused, 5U);
  EXPECT_EQ(world.up(0).count(), 10U);
  for (auto& [id, stream] : world.up(0).streams()) world.up(0).answer(stream, 200, "ok");
  world.settle();
  H2Stream& later = client.ask(get("/later"));
  world.settle();
  EXPECT_FALSE(later.reset);
}

// --- stop (I12)

TEST(H2Stop, StreamsThatRunAreFinishedAndThoseUnderWayStillServed) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& running = client.ask(get("/running"));
  world.settle();
  world.gateway->stop([] {});
  world.run_for(2 * kLatency);
  ASSERT_EQ(client.goaways().size(), 1U);
  EXPECT_EQ(client.goaways()[0].last, 0x7fff'ffffU);
  EXPECT_EQ(client.goaways()[0].code, Code::no_error);
  // It was under way.
  H2Stream& late = client.ask(get("/late"));
  world.run_for(seconds(2));
  ASSERT_EQ(client.goaways().size(), 2U);
  EXPECT_EQ(client.goaways()[1].last, late.id);
  for (const std::string path : {"/running", "/late"}) {
    auto [up, stream] = world.find(path);
    ASSERT_NE(up, nullptr);
    up->answer(*stream, 200, "ok");
  }
  world.run_for(seconds(5));
  EXPECT_EQ(running.body, "ok");
  EXPECT_EQ(late.body, "ok");
  EXPECT_TRUE(client.party().saw_end());
  EXPECT_FALSE(client.party().saw_reset());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(H2Stop, WhatIsLeftAtTheEndOfTheGraceIsCut) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  world.settle();
  world.gateway->stop([] {});
  world.run_for(world.limits().grace + seconds(3));
  world.gateway->cut();
  world.settle();
  EXPECT_FALSE(stream.ended);
  EXPECT_TRUE(client.party().saw_end());
  EXPECT_TRUE(world.up(0).nth(0).reset || world.upstream.at(0).saw_end());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

}  // namespace
}  // namespace hushgate::sim
