// HTTP/2 with clients, upstreams and both: everything that CONTRACT sections 1, 2 and 4 promise of
// an exchange holds for a stream.
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kBuffered = 65'536;  // maxBufferedBytes

std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i * i % 23);
  return bytes;
}

TEST(H2, ManyRequestsOfOneClientShareOneUpstreamConnection) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  for (int i = 0; i < 50; ++i) {
    i % 2 == 0 ? client.ask(get("/" + std::to_string(i)))
               : post(client, "/" + std::to_string(i), "hello");
  }
  world.settle();
  EXPECT_EQ(client.count(), 50U);
  for (const auto& [id, stream] : client.streams()) {
    EXPECT_EQ(stream.status(), 200);
    EXPECT_TRUE(stream.ended);
    EXPECT_EQ(stream.body, "ok");
  }
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_EQ(world.up(0).count(), 50U);
  EXPECT_EQ(world.find("/1").second->body, "hello");
}

TEST(H2, AHeadReachesTheUpstreamAsItsOwn) {
  H2World world;
  world.answer_all();
  H2Peer& client = world.connect();
  client.ask(request(
      "GET", "/a/%7Eb?q=1",
      {{"accept", "text/plain"}, {"cookie", "a=1"}, {"cookie", "b=2"}, {"te", "trailers"}}));
  world.settle();
  const Fields& head = world.up(0).nth(0).head;
  EXPECT_EQ(value_of(head, ":method"), "GET");
  EXPECT_EQ(value_of(head, ":path"), "/a/%7Eb?q=1");
  EXPECT_EQ(value_of(head, ":scheme"), "http");
  EXPECT_EQ(value_of(head, ":authority"), "10.0.1.1:3000");
  EXPECT_EQ(value_of(head, "x-forwarded-host"), "a.test");
  EXPECT_EQ(value_of(head, "accept"), "text/plain");
  EXPECT_EQ(value_of(head, "cookie"), "a=1; b=2");
}

TEST(H2, AClientOfHttp1ReachesAnUpstreamOfHttp2) {
  H2World world;
  world.answer_all();
  Party& one = world.ask(kGet);
  Party& two = world.ask(kPost);
  world.settle();
  EXPECT_EQ(one.status(), 200);
  EXPECT_TRUE(one.got.ends_with("2\r\nok\r\n0\r\n\r\n"));
  EXPECT_EQ(two.status(), 200);
  EXPECT_FALSE(two.has("Connection: close"));
  EXPECT_EQ(world.upstream.count(), 1U);
}

TEST(H2, AClientOfHttp2ReachesAnUpstreamOfHttp1) {
  H2World world({}, {.upstreams = Speaks::http1});
  world.upstream.on_bytes = [](Party& party) {
    if (party.got.ends_with("\r\n\r\n") || party.got.ends_with("hello")) {
      party.send(kOk);
      party.got.clear();
    }
  };
  H2Peer& client = world.connect();
  for (int i = 0; i < 3; ++i) {
    client.ask(get());
    world.settle();
  }
  EXPECT_EQ(world.upstream.count(), 1U);
  // A known length stays one, and each unsafe request has a connection of its own.
  for (int i = 0; i < 3; ++i) {
    H2Stream& stream = client.ask(request("POST", "/", {{"content-length", "5"}}), Last::no);
    client.data(stream.id, "hello", Last::yes);
    world.settle();
  }
  EXPECT_EQ(world.upstream.count(), 4U);
  for (const auto& [id, stream] : client.streams()) EXPECT_EQ(stream.body, "ok");
}

TEST(H2, OverTlsBothSidesAgreeByAlpn) {
  const auto tls = spoken_for(Speaks::http2, Speaks::http2);
  H2World world({}, {.tls = tls});
  world.answer_all();
  H2Peer& client = world.connect();
  H2Stream& one = client.ask(get("/one"));
  H2Stream& two = post(client, "/two", "hello");
  world.settle();
  EXPECT_EQ(one.body, "ok");
  EXPECT_EQ(two.body, "ok");
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_EQ(value_of(world.up(0).nth(0).head, ":scheme"), "https");
}

TEST(H2, ALargeBodyGoesThroughUnchangedBothWays) {
  H2World world;
  const std::string up = bytes_of(700'000);
  const std::string down = bytes_of(900'000);
  world.on_upstream = [&down](H2Peer& peer) {
    peer.on_message = [&down](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, down); };
  };
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/", up);
  world.run_for(seconds(2));
  EXPECT_EQ(world.up(0).nth(0).body, up);
  EXPECT_EQ(stream.body, down);
  EXPECT_TRUE(stream.ended);
}

TEST(H2, EventsOfAStreamGoThroughAsTheyCome) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  world.settle();
  H2Peer& up = world.up(0);
  up.headers(1, {{":status", "200"}}, Last::no);
  for (std::size_t i = 1; i <= 20; ++i) {
    up.data(1, "data: x\n\n", Last::no);
    world.run_for(2 * kLatency);
    EXPECT_EQ(stream.body.size(), i * 9);
    world.run_for(seconds(7));
  }
  up.data(1, "", Last::yes);
  world.settle();
  EXPECT_TRUE(stream.ended);
}

TEST(H2, AModelThatIsSilentForMinutesIsNotHungUpOn) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = post(client, "/", "hello");
  world.run_for(minutes(5));
  EXPECT_FALSE(stream.over());
  H2Peer& up = world.up(0);
  EXPECT_FALSE(up.nth(0).reset);
  up.headers(1, {{":status", "200"}}, Last::no);
  world.run_for(minutes(5));
  up.data(1, "ok", Last::yes);
  world.settle();
  EXPECT_EQ(stream.body, "ok");
  EXPECT_TRUE(stream.ended);
  EXPECT_TRUE(client.goaways().empty());
}

TEST(H2, TrailersPassBothWays) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(request("POST", "/", {{"trailer", "x-sum"}}), Last::no);
  client.data(stream.id, "hello", Last::no);
  client.trailers(stream.id, {{"x-sum", "5"}});
  world.settle();
  H2Peer& up = world.up(0);
  EXPECT_EQ(up.nth(0).body, "hello");
  EXPECT_TRUE(up.nth(0).ended);
  EXPECT_EQ(value_of(up.nth(0).trailers, "x-sum"), "5");
  up.headers(1, {{":status", "200"}}, Last::no);
  up.data(1, "ok", Last::no);
  up.trailers(1, {{"grpc-status", "0"}});
  world.settle();
  EXPECT_EQ(stream.body, "ok");
  EXPECT_TRUE(stream.ended);
  EXPECT_EQ(value_of(stream.trailers, "grpc-status"), "0");
}

TEST(H2, InterimResponsesPass) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  world.settle();
  H2Peer& up = world.up(0);
  up.headers(1, {{":status", "103"}, {"link", "</a.css>; rel=preload"}}, Last::no);
  world.settle();
  ASSERT_EQ(stream.interims.size(), 1U);
  EXPECT_EQ(value_of(stream.interims[0], "link"), "</a.css>; rel=preload");
  up.answer(up.at(1), 200, "ok");
  world.settle();
  EXPECT_EQ(stream.body, "ok");
}

TEST(H2, AResponseWithoutABodyEndsWithItsHead) {
  for (const auto& [method, status] :
       {std::pair{"HEAD", "200"}, std::pair{"GET", "204"}, std::pair{"GET", "304"}}) {
    H2World world;
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(request(method, "/"));
    world.settle();
    world.up(0).headers(1, {{":status", status}, {"x-it", "y"}}, Last::yes);
    world.settle();
    EXPECT_EQ(std::to_string(stream.status()), status);
    EXPECT_TRUE(stream.ended);
    EXPECT_EQ(stream.body, "");
    EXPECT_FALSE(stream.reset);
  }
}

TEST(H2, AFullDuplexExchangeEndsWell) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(request("POST", "/"), Last::no);
  client.data(stream.id, "ab", Last::no);
  world.settle();
  H2Peer& up = world.up(0);
  up.headers(1, {{":status", "200"}}, Last::no);
  for (int i = 0; i < 5; ++i) {
    client.data(stream.id, "ab", i == 4 ? Last::yes : Last::no);
    world.run_for(seconds(2));
    up.data(1, "cd", Last::no);
    world.run_for(seconds(2));
  }
  up.data(1, "", Last::yes);
  world.settle();
  EXPECT_EQ(up.nth(0).body, "abababababab");
  EXPECT_EQ(stream.body, "cdcdcdcdcd");
  EXPECT_TRUE(stream.ended);
}

// --- flow control

TEST(H2, OneStreamWithAShutWindowStopsNoneOfNinetyNineOthers) {
  H2World world;
  const std::string body = bytes_of(100'000);
  world.on_upstream = [&body](H2Peer& peer) {
    peer.on_message = [&body](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, body); };
  };
  H2Peer& client = world.connect();
  H2Stream& shut = client.ask(get("/shut"));
  shut.takes = false;
  for (int i = 0; i < 99; ++i) client.ask(get("/" + std::to_string(i)));
  world.run_for(seconds(2));
  for (auto& [id, stream] : client.streams()) {
    if (&stream == &shut) continue;
    EXPECT_TRUE(stream.ended);
    EXPECT_EQ(stream.body, body);
  }
  EXPECT_FALSE(shut.over());
  EXPECT_EQ(shut.body.size(), static_cast<std::size_t>(kUsualWindow));
  EXPECT_EQ(world.upstream.count(), 1U);
  client.grant(shut.id, 100'000);
  world.run_for(seconds(1));
  EXPECT_EQ(shut.body, body);
  EXPECT_TRUE(shut.ended);
}

// I7: what is on the way between the two windows is bounded.
TEST(H2, AClientThatShutsItsWindowStopsItsOwnUpstream) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  stream.takes = false;
  world.settle();
  H2Peer& up = world.up(0);
  up.headers(1, {{":status", "200"}}, Last::no);
  up.data(1, bytes_of(1'000'000), Last::yes);
  world.run_for(seconds(5));
  EXPECT_EQ(stream.body.size(), static_cast<std::size_t>(kUsualWindow));
  EXPECT_TRUE(up.unsent(1));
  // What the client has not taken lies in the two legs and between them.
  EXPECT_LE(up.at(1).sent, stream.body.size() + 3 * kBuffered);
}

TEST(H2, AnUpstreamThatShutsItsWindowStopsItsOwnClient) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_head = [](H2Peer&, H2Stream& stream) { stream.takes = stream.path() != "/shut"; };
    peer.on_message = [](H2Peer& it, H2Stream& stream) { it.answer(stream, 200, "ok"); };
  };
  H2Peer& client = world.connect();
  H2Stream& shut = post(client, "/shut", bytes_of(1'000'000));
  H2Stream& other = post(client, "/other", bytes_of(500'000));
  world.run_for(seconds(2));
  EXPECT_TRUE(client.unsent(shut.id));
  EXPECT_TRUE(other.ended);
  EXPECT_EQ(world.find("/other").second->body.size(), 500'000U);
  EXPECT_EQ(world.find("/shut").second->body.size(), static_cast<std::size_t>(kUsualWindow));
  auto [up, stream] = world.find("/shut");
  stream->takes = true;
  up->grant(stream->id, 65'535);
  world.run_for(seconds(2));
  EXPECT_EQ(stream->body.size(), 1'000'000U);
  EXPECT_EQ(shut.body, "ok");
}

TEST(H2, WindowsThatShrinkBelowZeroAreKeptTo) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  stream.takes = false;
  world.settle();
  H2Peer& up = world.up(0);
  up.headers(1, {{":status", "200"}}, Last::no);
  up.data(1, bytes_of(50'000), Last::no);
  world.run_for(seconds(1));
  EXPECT_EQ(stream.body.size(), 50'000U);
  client.raw(settings_frame({{kInitialWindow, 10'000}}));
  stream.granted -= kUsualWindow - 10'000;
  world.settle();
  up.data(1, bytes_of(50'000), Last::yes);
  world.run_for(seconds(1));
  EXPECT_EQ(stream.body.size(), 50'000U);
  client.grant(stream.id, 100'000);
  world.run_for(seconds(1));
  EXPECT_EQ(stream.body.size(), 100'000U);
  EXPECT_TRUE(stream.ended);
}

}  // namespace
}  // namespace hushgate::sim
