// CONTRACT section 2, HTTP/2: what an upstream proved unprocessed is sent again, whole, and nothing
// else is; what may have acted is said to be so.
#include <nghttp2/nghttp2.h>

#include "tests/sim/world.h"
#include "upstream/testing_http2.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using upstream::testing::Http2Peer;
using upstream::testing::Http2Server;
using Streams = std::vector<std::int32_t>;

constexpr IpAddress kHttp2 = IpAddress::v4(10, 0, 1, 2);

// A world whose upstream speaks HTTP/2 without TLS.
struct Http2World {
  explicit Http2World(const Change& change = {})
      : world([&](config::Config& config) {
          config.upstreams.front().protocol = config::Protocol::h2c;
          config.upstreams.front().literal = kHttp2;
          if (change) change(config);
        }) {}

  Http2Peer& peer(std::size_t index = 0) { return *server.peers.at(index); }
  // A client whose request has come as the first stream.
  Party& ask(std::string_view request) {
    Party& client = world.ask(request);
    world.settle();
    EXPECT_EQ(server.peers.size(), 1U);
    EXPECT_EQ(peer().streams, Streams{1});
    return client;
  }
  std::string exchange_line() {
    const std::vector<std::string> lines = lines_with(world, "\"event\":\"exchange\"");
    return lines.empty() ? std::string() : lines.back();
  }

  World world;
  Http2Server server{world.network, IpPort{kHttp2, kUpstreamPort}};
};

TEST(Refused, APostIsSentAgainAtOnceWithAllOfItsBody) {
  Http2World h2;
  Party& client = h2.ask(kPost);
  EXPECT_EQ(h2.peer().bodies[1], "hello");
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.run_for(2 * kLatency);
  EXPECT_EQ(h2.peer().streams, (Streams{1, 3}));
  h2.world.settle();
  EXPECT_EQ(h2.peer().complete, (Streams{1, 3}));
  EXPECT_EQ(h2.peer().bodies[3], "hello");
  EXPECT_EQ(h2.peer().fields[3], h2.peer().fields[1]);
  h2.peer().respond(3);
  h2.world.settle();
  EXPECT_EQ(client.status(), 204);
  EXPECT_TRUE(client.has("Via: 2 gate\r\n")) << client.got;
  EXPECT_EQ(h2.world.count(Counter::upstream_refusals), 1U);
  EXPECT_EQ(h2.world.count(Counter::replays), 0U);
  EXPECT_EQ(h2.world.count(Counter::fates_unknown), 0U);
  const std::string line = h2.exchange_line();
  EXPECT_TRUE(says(line, "\"attempts\":2")) << line;
  EXPECT_TRUE(says(line, "\"refusals\":1")) << line;
  EXPECT_TRUE(says(line, "\"upstream_http\":\"2\"")) << line;
  EXPECT_TRUE(says(line, "\"end\":\"complete\"")) << line;
  EXPECT_EQ(lines_with(h2.world, "\"event\":\"upstream_refused\"").size(), 1U);
}

TEST(Refused, WhatAGoawayLeavesOutIsSentAgainOnANewConnection) {
  Http2World h2;
  Party& client = h2.ask(kPost);
  h2.peer().go_away(0);
  h2.world.settle();
  ASSERT_EQ(h2.server.peers.size(), 2U);
  EXPECT_EQ(h2.peer(1).bodies[1], "hello");
  EXPECT_EQ(h2.peer(1).complete, Streams{1});
  h2.peer(1).respond(1);
  h2.world.settle();
  EXPECT_EQ(client.status(), 204);
}

TEST(Refused, AnUploadGoesOnWhereItWas) {
  Http2World h2;
  Party& client = h2.ask(post_head(10) + "01234");
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  EXPECT_EQ(h2.peer().bodies[3], "01234");
  client.send("56789");
  h2.world.settle();
  EXPECT_EQ(h2.peer().bodies[3], "0123456789");
  EXPECT_EQ(h2.peer().complete, Streams{3});
  h2.peer().respond(3);
  h2.world.settle();
  EXPECT_EQ(client.status(), 204);
}

TEST(Refused, AChunkedBodyKeepsItsPiecesAndItsTrailers) {
  Http2World h2;
  Party& client =
      h2.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  client.send("2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n");
  h2.world.settle();
  EXPECT_EQ(h2.peer().bodies[3], "abcde");
  EXPECT_TRUE(h2.peer().fields[3].ends_with("x-sum: 5\n")) << h2.peer().fields[3];
  h2.peer().reset(3, NGHTTP2_REFUSED_STREAM);
  EXPECT_TRUE(h2.world.run_while_not([&] { return h2.peer().complete == Streams{3, 5}; }));
  EXPECT_EQ(h2.peer().bodies[5], "abcde");
  EXPECT_TRUE(h2.peer().fields[5].ends_with("x-sum: 5\n")) << h2.peer().fields[5];
}

TEST(Refused, ABodyThatIsNotHeldWholeIsA503ThatMayBeRepeated) {
  Http2World h2;
  Party& client = h2.ask(post_head(200'000) + std::string(100'000, 'x'));
  EXPECT_EQ(h2.peer().bodies[1].size(), 100'000U);
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  EXPECT_EQ(h2.peer().streams, Streams{1});
  EXPECT_EQ(client.status(), 503);
  EXPECT_TRUE(client.has("error=destination_unavailable\r\n")) << client.got;
  EXPECT_TRUE(client.has("Retry-After: 1\r\n"));
  EXPECT_TRUE(client.has("x-should-retry: true\r\n"));
  EXPECT_EQ(h2.world.count(Counter::fates_unknown), 0U);
}

TEST(Refused, AfterUpstreamRetriesWithBackoffItIsA503) {
  Http2World h2;
  Party& client = h2.ask(kPost);
  for (std::int32_t stream : {1, 3, 5}) {
    ASSERT_TRUE(h2.world.run_while_not([&] { return h2.peer().streams.back() == stream; }));
    h2.world.settle();
    h2.peer().reset(stream, NGHTTP2_REFUSED_STREAM);
  }
  h2.world.run_for(Ms{60'000});
  EXPECT_EQ(h2.peer().streams, (Streams{1, 3, 5}));
  EXPECT_EQ(client.status(), 503);
  EXPECT_TRUE(client.has("\"type\":\"request_refused\"")) << client.got;
  EXPECT_TRUE(client.has("x-should-retry: true\r\n"));
  EXPECT_EQ(h2.world.count(Counter::upstream_refusals), 3U);
}

TEST(Refused, AClientThatLeavesMeanwhileEndsIt) {
  Http2World h2([](config::Config& config) { config.limits.retry_backoff = Ms{20'000}; });
  Party& client = h2.ask(kPost);
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  h2.peer().reset(3, NGHTTP2_REFUSED_STREAM);
  h2.world.run_for(Ms{3});
  client.reset();
  h2.world.run_for(Ms{60'000});
  EXPECT_EQ(h2.world.count(Counter::clients_gone), 1U);
  for (const std::int32_t stream : h2.peer().streams) EXPECT_LE(stream, 5);
}

TEST(Refused, ASafeRequestKeepsItsReplay) {
  Http2World h2;
  Party& client = h2.ask(kGet);
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  ASSERT_EQ(h2.peer().streams, (Streams{1, 3}));
  h2.peer().reset(3, NGHTTP2_INTERNAL_ERROR);
  h2.world.settle();
  EXPECT_EQ(h2.world.count(Counter::replays), 1U);
  Http2Peer& last = h2.peer(h2.server.peers.size() - 1);
  ASSERT_EQ(last.streams, Streams{1}) << h2.server.peers.size();
  last.respond(1);
  h2.world.settle();
  EXPECT_EQ(client.status(), 204);
  EXPECT_TRUE(says(h2.exchange_line(), "\"attempts\":3")) << h2.exchange_line();
}

TEST(Refused, NothingIsBelievedUnprocessedOnceAByteOfItsResponseHasCome) {
  Http2World h2;
  Party& client = h2.ask(kPost);
  h2.peer().interim(1, "103");
  h2.world.settle();
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  EXPECT_EQ(h2.peer().streams, Streams{1});
  EXPECT_TRUE(client.has("HTTP/1.1 502 ")) << client.got;
  EXPECT_EQ(h2.world.count(Counter::upstream_refusals), 0U);
  EXPECT_EQ(h2.world.count(Counter::fates_unknown), 1U);
}

TEST(Refused, ARequestThatWaitsForItsContinueStillWaits) {
  Http2World h2;
  Party& client =
      h2.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  h2.peer().reset(1, NGHTTP2_REFUSED_STREAM);
  h2.world.settle();
  ASSERT_EQ(h2.peer().streams, (Streams{1, 3}));
  h2.peer().interim(3, "100");
  h2.world.settle();
  EXPECT_TRUE(client.has("HTTP/1.1 100 ")) << client.got;
  client.send("hello");
  h2.world.settle();
  EXPECT_EQ(h2.peer().bodies[3], "hello");
}

TEST(FateUnknown, AnUnsafeRequestThatIsResetFailsAndIsSaidToHaveAnUnknownFate) {
  for (const bool whole_connection : {false, true}) {
    Http2World h2;
    Party& client = h2.ask(kPost);
    if (whole_connection) {
      h2.peer().close();
    } else {
      h2.peer().reset(1, NGHTTP2_INTERNAL_ERROR);
    }
    h2.world.settle();
    EXPECT_EQ(h2.server.peers.size(), 1U);
    EXPECT_EQ(h2.peer().streams, Streams{1});
    EXPECT_EQ(client.status(), 502);
    EXPECT_TRUE(client.has("x-should-retry: false\r\n")) << client.got;
    EXPECT_EQ(h2.world.count(Counter::fates_unknown), 1U);
    EXPECT_TRUE(says(h2.exchange_line(), "\"fate\":\"unknown\"")) << h2.exchange_line();
  }
}

TEST(FateUnknown, OverHttp1TooAndNeverOfASafeRequestNorOfWhatWasNotSent) {
  World world;
  const auto [client, upstream] = world.exchange(kPost);
  upstream.reset();
  world.settle();
  EXPECT_EQ(client.status(), 502);
  EXPECT_EQ(world.count(Counter::fates_unknown), 1U);
  EXPECT_EQ(lines_with(world, "\"fate\":\"unknown\"").size(), 1U);

  world.upstream.on_bytes = [](Party& party) { party.reset(); };
  Party& safe = world.ask(kGet);
  world.settle();
  EXPECT_EQ(safe.status(), 502);
  EXPECT_EQ(world.count(Counter::fates_unknown), 1U);
  EXPECT_EQ(lines_with(world, "\"fate\"").size(), 1U);
}

TEST(Grpc, AnErrorOfOursIsAGrpcStatusToAGrpcClient) {
  World world;
  const auto [client, upstream] = world.exchange(
      "POST /a.B/C HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc+proto\r\n"
      "Content-Length: 5\r\n\r\nhello");
  upstream.reset();
  world.settle();
  EXPECT_EQ(client.status(), 200);
  EXPECT_TRUE(client.has("grpc-status: 14\r\n")) << client.got;
  EXPECT_TRUE(client.has("error=connection_terminated\r\n"));
  EXPECT_EQ(client.body(), "");
  const std::vector<std::string> lines = lines_with(world, "\"event\":\"exchange\"");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(says(lines[0], "\"status\":200")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"end\":\"connection_terminated\"")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"fate\":\"unknown\"")) << lines[0];
}

}  // namespace
}  // namespace hushgate::sim
