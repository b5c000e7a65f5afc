// Frames that cost their sender nothing: each kind is bounded, counted, and ends its connection; a
// client beside it notices nothing (issue 7, show 4).
#include "h2/floods.h"
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

struct Attack {
  const char* name;
  std::function<void(H2Peer&)> once;
};

std::string empty_frame(FrameType type, std::uint8_t flags, std::uint32_t stream) {
  return Frame{.type = type, .flags = flags, .stream = stream}.text();
}

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> all{
      {"rapid reset",
       [](H2Peer& it) {
         H2Stream& stream = it.ask(get());
         it.reset(stream.id, Code::cancel);
       }},
      {"made you reset",
       [](H2Peer& it) {
         H2Stream& stream = it.ask(request("POST", "/"), Last::no);
         it.raw(window_frame(stream.id, 0));  // an error of the stream
         stream.reset_by_us = true;
       }},
      {"settings", [](H2Peer& it) { it.raw(settings_frame({})); }},
      {"pings", [](H2Peer& it) { it.ping(); }},
      {"priorities",
       [](H2Peer& it) {
         it.raw(Frame{FrameType::priority, 0, 1, number(0, 4) + number(15, 1)}.text());
       }},
      {"unknown frames", [](H2Peer& it) { it.raw(empty_frame(FrameType{0xbb}, 0, 0)); }},
      {"empty data",
       [](H2Peer& it) {
         if (it.count() == 0) it.ask(request("POST", "/"), Last::no);
         it.raw(empty_frame(FrameType::data, 0, 1));
       }},
      {"window updates", [](H2Peer& it) { it.raw(window_frame(0, 1)); }},
      {"continuations",
       [](H2Peer& it) {
         if (it.count() == 0) {
           it.ask(get());
           it.raw(empty_frame(FrameType::headers, kEndStream, 3));
         }
         it.raw(empty_frame(FrameType::continuation, 0, 3));
       }},
  };
  return all;
}

TEST(H2Floods, EachEndsItsConnectionAndNobodyElseNotices) {
  for (const Attack& attack : attacks()) {
    SCOPED_TRACE(attack.name);
    H2World world;
    world.answer_all();
    H2Peer& normal = world.connect();
    H2Peer& attacker = world.connect();
    std::size_t frames = 0;
    for (; frames < 20'000 && attacker.goaways().empty() && !attacker.party().saw_end(); ++frames) {
      attack.once(attacker);
      if (frames % 20 != 0) continue;
      world.run_for(kLatency);
      if (frames % 100 == 0) normal.ask(get("/normal"));
    }
    world.run_for(seconds(5));
    EXPECT_LT(frames, 20'000U);
    EXPECT_GT(frames, 20U);
    EXPECT_TRUE(attacker.party().saw_end());
    EXPECT_FALSE(attacker.goaways().empty());
    EXPECT_GT(normal.count(), 0U);
    for (const auto& [id, stream] : normal.streams()) EXPECT_EQ(stream.body, "ok");
    EXPECT_TRUE(normal.goaways().empty());
    EXPECT_EQ(world.gateway->session_count(), 1U);
  }
}

TEST(H2Floods, TheyAreCountedAndSaid) {
  for (const bool at_once : {false, true}) {
    SCOPED_TRACE(at_once);
    H2World world;
    world.answer_all();
    H2Peer& attacker = world.connect();
    for (std::uint32_t i = 0; i < 2 * h2::flood_budget(h2::Flood::pings); ++i) {
      attacker.ping();
      if (!at_once && i % 10 == 0) world.run_for(kLatency);
    }
    world.run_for(seconds(5));
    EXPECT_TRUE(attacker.told_to_calm());
    EXPECT_TRUE(attacker.party().saw_end());
    EXPECT_EQ(world.count(Counter::h2_floods), 1U);
    EXPECT_EQ(lines_with(world, "\"h2_flood\"").size(), 1U);
    if (!at_once) EXPECT_EQ(lines_with(world, "\"kind\":\"pings\"").size(), 1U);
  }
}

// One less than a flood.
TEST(H2Floods, UpToTheBudgetNothingHappens) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  world.settle();
  for (std::uint32_t i = 0; i + 2 < h2::flood_budget(h2::Flood::pings); ++i) client.ping();
  world.settle();
  EXPECT_EQ(client.pongs(), h2::flood_budget(h2::Flood::pings) - 2);
  for (std::uint32_t i = 0; i + 3 < h2::flood_budget(h2::Flood::settings); ++i) {
    client.raw(settings_frame({}));
  }
  world.settle();
  H2Stream& stream = client.ask(get());
  world.settle();
  EXPECT_EQ(stream.body, "ok");
  EXPECT_EQ(world.count(Counter::h2_floods), 0U);
}

// What a flood has begun at the upstream does not go on there.
TEST(H2Floods, WhatARapidResetHasBegunIsCancelled) {
  H2World world;
  H2Peer& attacker = world.connect();
  for (int i = 0; i < 2'000 && !attacker.party().saw_end(); ++i) {
    H2Stream& stream = attacker.ask(get());
    if (i % 2 == 0) world.run_for(Ms{2});
    attacker.reset(stream.id, Code::cancel);
  }
  world.run_for(seconds(5));
  EXPECT_TRUE(attacker.told_to_calm());
  std::size_t begun = 0;
  for (H2Peer* const up : world.ups) {
    for (const auto& [id, stream] : up->streams()) {
      ++begun;
      EXPECT_EQ(stream.reset, Code::cancel);
    }
  }
  EXPECT_LE(begun, h2::flood_budget(h2::Flood::resets) + 200);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

// A browser that loses interest in all that it has asked for, again and again, but is served too.
TEST(H2Floods, AClientThatIsServedMayAlsoReset) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  for (int i = 0; i < 1'000; ++i) {
    client.ask(get("/whole"));
    world.run_for(Ms{10});
    H2Stream& gone = client.ask(get("/gone"));
    client.reset(gone.id, Code::cancel);
    world.run_for(Ms{2});
  }
  world.settle();
  EXPECT_TRUE(client.goaways().empty());
  EXPECT_EQ(world.count(Counter::h2_floods), 0U);
}

// A download with windows as small as any client's makes many updates, and is none of them a flood.
TEST(H2Floods, WindowUpdatesOfADownloadAreNone) {
  H2World world;
  const std::string body(3'000'000, 'x');
  world.on_upstream = [&body](H2Peer& peer) {
    peer.on_message = [&body](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, body); };
  };
  H2Peer& client = world.connect({.window = 2'000});
  H2Stream& stream = client.ask(get());
  world.run_for(seconds(60));
  EXPECT_EQ(stream.body.size(), body.size());
  EXPECT_TRUE(stream.ended);
  EXPECT_TRUE(client.goaways().empty());
}

// Upstreams are bounded like clients: their streams end, and their connection.
TEST(H2Floods, AnUpstreamThatFloodsIsLeft) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/", "hello");
  world.settle();
  H2Peer& up = world.up(0);
  for (std::size_t i = 0; i < 20'000 && !up.party().saw_end(); ++i) {
    up.ping();
    if (i % 100 == 0) world.run_for(kLatency);
  }
  world.run_for(seconds(5));
  EXPECT_TRUE(up.party().saw_end());
  EXPECT_EQ(stream.status(), 502);
  world.answer_all();
  H2Stream& later = client.ask(get());
  world.settle();
  EXPECT_EQ(later.body, "ok");
}

}  // namespace
}  // namespace hushgate::sim
