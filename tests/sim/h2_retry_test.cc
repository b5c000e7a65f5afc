// Requests that an HTTP/2 upstream refuses, loses or leaves behind: the retry law of CONTRACT
// section 2. What is proved unprocessed is sent again while all of it is held; what may have been
// processed is not, unless it is safe and has no body.
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

// Streams that a request has come to, by its path, whatever became of them.
std::size_t times(H2World& world, const std::string& path) {
  std::size_t n = 0;
  for (H2Peer* const up : world.ups) {
    for (const auto& [id, stream] : up->streams()) n += stream.path() == path ? 1 : 0;
  }
  return n;
}

// Refuses the first `refusals` requests of all, answers the others.
void refuse_first(H2World& world, int refusals) {
  auto left = std::make_shared<int>(refusals);
  world.on_upstream = [left](H2Peer& peer) {
    peer.on_message = [left](H2Peer& it, H2Stream& stream) {
      if ((*left)-- > 0) return it.reset(stream.id, Code::refused_stream);
      it.answer(stream, 200, "ok");
    };
  };
}

TEST(H2Retry, ARefusedRequestIsSentAgainWithItsBody) {
  H2World world;
  refuse_first(world, 1);
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/", "hello");
  world.run_for(seconds(1));
  EXPECT_EQ(stream.body, "ok");
  EXPECT_EQ(times(world, "/"), 2U);
  EXPECT_EQ(world.find("/").first->at(3).body, "hello");
  EXPECT_EQ(world.count(Counter::upstream_refusals), 1U);
  EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
}

TEST(H2Retry, SoIsOneThatIsRefusedBeforeItsBodyHasCome) {
  H2World world;
  world.on_upstream = [first = true](H2Peer& peer) mutable {
    peer.on_head = [&first](H2Peer& it, H2Stream& stream) {
      if (std::exchange(first, false)) it.reset(stream.id, Code::refused_stream);
    };
    peer.on_message = [](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, stream.body); };
  };
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(request("POST", "/"), Last::no);
  client.data(stream.id, "one ", Last::no);
  world.run_for(seconds(1));
  client.data(stream.id, "two", Last::yes);
  world.run_for(seconds(1));
  EXPECT_EQ(stream.body, "one two");
  EXPECT_EQ(times(world, "/"), 2U);
}

TEST(H2Retry, AfterUpstreamRetriesARefusalIsA503) {
  for (const std::uint32_t retries : {0U, 1U, 2U}) {
    H2World world([retries](config::Config& config) { config.limits.upstream_retries = retries; });
    refuse_first(world, 1'000);
    H2Peer& client = world.connect();
    H2Stream& unsafe = post(client, "/unsafe", "hello");
    H2Stream& safe = client.ask(get("/safe"));
    world.run_for(seconds(5));
    EXPECT_EQ(unsafe.status(), 503);
    EXPECT_EQ(safe.status(), 503);
    EXPECT_NE(unsafe.body.find("request_refused"), std::string::npos) << unsafe.body;
    EXPECT_EQ(times(world, "/unsafe"), retries + 1);
    EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
  }
}

TEST(H2Retry, ABodyThatIsNotHeldAnyMoreIsNotSentAgain) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.reset(stream.id, Code::refused_stream);
    };
  };
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/", std::string(400'000, 'x'));
  world.run_for(seconds(5));
  EXPECT_EQ(stream.status(), 503);
  EXPECT_EQ(times(world, "/"), 1U);
  EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
}

TEST(H2Retry, WhatIsAboveTheLastIdOfAGoAwayGoesToANewConnectionAndTheRestGoesOn) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& below = post(client, "/below", "hello");
  world.settle();
  H2Stream& above = post(client, "/above", "there");
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, "new"); };
  };
  world.up(0).go_away(1);
  world.run_for(seconds(1));
  EXPECT_EQ(world.upstream.count(), 2U);
  EXPECT_EQ(above.body, "new");
  EXPECT_EQ(world.find("/above").second->body, "there");
  EXPECT_FALSE(below.over());
  // No new streams on the old one.
  H2Stream& later = post(client, "/later", "x");
  world.run_for(seconds(1));
  EXPECT_EQ(later.body, "new");
  EXPECT_EQ(world.up(0).count(), 2U);
  world.up(0).answer(world.up(0).at(1), 200, "old");
  world.settle();
  EXPECT_EQ(below.body, "old");
  EXPECT_EQ(times(world, "/below"), 1U);
}

TEST(H2Retry, AnUpstreamThatLeavesProperlyCostsNobodyAnything) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.answer(stream, 200, "ok");
      if (it.count() < 10) return;
      it.go_away(stream.id);
      it.party().finish();
    };
  };
  H2Peer& client = world.connect();
  for (int i = 0; i < 100; ++i) {
    post(client, "/" + std::to_string(i), "hello");
    world.settle();
  }
  world.run_for(seconds(1));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.nth(static_cast<std::size_t>(i)).status(), 200) << i;
    EXPECT_EQ(times(world, "/" + std::to_string(i)), 1U);
  }
  EXPECT_GE(world.upstream.count(), 10U);
}

// --- fate unknown

enum class Loss : std::uint8_t { fin, reset, internal_error, cancel };
constexpr std::array kLosses{Loss::fin, Loss::reset, Loss::internal_error, Loss::cancel};

void lose(H2Peer& up, std::uint32_t stream, Loss loss) {
  switch (loss) {
    case Loss::fin: return up.party().close();
    case Loss::reset: return up.party().reset();
    case Loss::internal_error: return up.reset(stream, Code::internal_error);
    case Loss::cancel: return up.reset(stream, Code::cancel);
  }
}

TEST(H2Retry, AnUnsafeRequestThatIsLostIsA502AndIsSaidToBeOfUnknownFate) {
  for (const Loss loss : kLosses) {
    SCOPED_TRACE(static_cast<int>(loss));
    H2World world;
    H2Peer& client = world.connect();
    H2Stream& stream = post(client, "/", "hello");
    world.settle();
    lose(world.up(0), 1, loss);
    world.run_for(seconds(5));
    EXPECT_EQ(stream.status(), 502);
    EXPECT_TRUE(stream.ended);
    EXPECT_EQ(times(world, "/"), 1U);
    EXPECT_EQ(world.count(Counter::fates_unknown), 1U);
    EXPECT_EQ(lines_with(world, "\"fate\":\"unknown\"").size(), 1U);
  }
}

TEST(H2Retry, ASafeOneIsSentOnceMore) {
  for (const Loss loss : kLosses) {
    SCOPED_TRACE(static_cast<int>(loss));
    H2World world;
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(get());
    world.settle();
    world.answer_all();
    world.up(0).on_message = [](H2Peer& it, H2Stream& again) { it.answer(again, 200, "ok"); };
    lose(world.up(0), 1, loss);
    world.run_for(seconds(5));
    EXPECT_EQ(stream.body, "ok");
    EXPECT_EQ(times(world, "/"), 2U);
    EXPECT_EQ(world.count(Counter::replays), 1U);
    EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
  }
}

TEST(H2Retry, ButNotAThirdTime) {
  for (const Loss loss : kLosses) {
    SCOPED_TRACE(static_cast<int>(loss));
    H2World world;
    world.on_upstream = [loss](H2Peer& peer) {
      peer.on_message = [loss](H2Peer& it, H2Stream& stream) {
        if (loss == Loss::internal_error || loss == Loss::cancel) return lose(it, stream.id, loss);
        it.party().reset();
      };
    };
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(get());
    world.run_for(seconds(5));
    EXPECT_EQ(stream.status(), 502);
    EXPECT_EQ(times(world, "/"), 2U);
  }
}

TEST(H2Retry, AndNotOnceAByteOfItsResponseHasCome) {
  for (const Loss loss : kLosses) {
    SCOPED_TRACE(static_cast<int>(loss));
    H2World world;
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(get());
    world.settle();
    world.up(0).headers(1, {{":status", "103"}}, Last::no);
    world.settle();
    lose(world.up(0), 1, loss);
    world.run_for(seconds(5));
    EXPECT_EQ(stream.status(), 502);
    EXPECT_EQ(times(world, "/"), 1U);
  }
}

TEST(H2Retry, AResponseThatIsCutIsCutForTheClientToo) {
  for (const Loss loss : kLosses) {
    SCOPED_TRACE(static_cast<int>(loss));
    H2World world;
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(get());
    H2Stream& other = client.ask(get("/other"));
    world.settle();
    world.up(0).headers(1, {{":status", "200"}}, Last::no);
    world.up(0).data(1, "half", Last::no);
    world.settle();
    world.answer_all();
    lose(world.up(0), 1, loss);
    world.settle();
    EXPECT_EQ(stream.body, "half");
    EXPECT_FALSE(stream.ended);
    EXPECT_EQ(stream.reset, Code::internal_error);
    EXPECT_FALSE(other.reset);
    EXPECT_TRUE(client.goaways().empty());
  }
}

TEST(H2Retry, AnErrorOfOneStreamIsNotOneOfItsNeighbours) {
  H2World world;
  H2Peer& client = world.connect();
  std::vector<H2Stream*> streams;
  for (int i = 0; i < 10; ++i) streams.push_back(&post(client, "/" + std::to_string(i), "hello"));
  world.settle();
  world.up(0).reset(7, Code::internal_error);
  world.settle();
  for (auto& [id, stream] : world.up(0).streams()) {
    if (id != 7) world.up(0).answer(stream, 200, "ok");
  }
  world.settle();
  int lost = 0;
  for (const H2Stream* const stream : streams) {
    if (stream->status() == 502)
      ++lost;
    else
      EXPECT_EQ(stream->body, "ok");
  }
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(world.upstream.count(), 1U);
}

// An answer that comes before the request is whole stops the request and not its answer (RFC 9113
// section 8.1).
TEST(H2Retry, AnUpstreamThatAnswersAndWantsNoMoreIsHeard) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_head = [](H2Peer& it, H2Stream& stream) {
      it.answer(stream, 413, "too much");
      it.reset(stream.id, Code::no_error);
    };
  };
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/", std::string(500'000, 'x'));
  world.run_for(seconds(2));
  EXPECT_EQ(stream.status(), 413);
  EXPECT_EQ(stream.body, "too much");
  EXPECT_EQ(times(world, "/"), 1U);
  EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
}

// --- connections

TEST(H2Retry, ALongStreamNeverMakesAnotherRequestWait) {
  H2World world;
  world.upstream_manner.max_streams = 2;
  H2Peer& client = world.connect();
  client.ask(get("/0"));
  world.settle();
  for (int i = 1; i < 7; ++i) {
    client.ask(get("/" + std::to_string(i)));
    world.settle();
    EXPECT_EQ(times(world, "/" + std::to_string(i)), 1U);
  }
  EXPECT_EQ(world.upstream.count(), 4U);
  for (H2Peer* const up : world.ups) EXPECT_LE(up->open_count(), 2U);
}

TEST(H2Retry, AVanishedUpstreamIsFoundByAPingBeforeAnUnsafeRequestIsGivenToIt) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  EXPECT_EQ(post(client, "/first", "hello").status(), 0);
  world.settle();
  ASSERT_EQ(client.nth(0).status(), 200);
  world.run_for(seconds(2));
  world.upstream.at(0).reads = false;
  dynamic_cast<BareWire&>(world.upstream.at(0).wire()).below().vanish();
  H2Stream& second = post(client, "/second", "hello");
  world.run_for(seconds(30));
  EXPECT_EQ(second.status(), 200);
  EXPECT_EQ(times(world, "/second"), 1U);
  EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
}

TEST(H2Retry, AConnectionIsClosedWhenItHasIdled) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  client.ask(get());
  world.settle();
  EXPECT_FALSE(world.upstream.at(0).saw_end());
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return world.upstream.at(0).saw_end(); }, minutes(5)));
  const Duration timeout = world.setup->config.upstreams.front().idle_timeout;
  EXPECT_LE(world.upstream.at(0).ended() - from, timeout + world.period() + 2 * kLatency);
  EXPECT_FALSE(world.up(0).goaways().empty());
}

}  // namespace
}  // namespace hushgate::sim
