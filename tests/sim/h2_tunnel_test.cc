// Tunnels through streams: extended CONNECT (RFC 8441) on either side, and Upgrade on the other.
#include "h2/websocket.h"
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using std::chrono::hours;

Fields websocket() {
  return {{":method", "CONNECT"}, {":protocol", "websocket"},     {":scheme", "http"},
          {":path", "/chat"},     {":authority", "a.test"},       {"sec-websocket-version", "13"},
          {"origin", "http://a"}, {"sec-websocket-protocol", "x"}};
}
constexpr std::string_view kUpgrade =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

struct Tunnel {
  explicit Tunnel(H2World& the_world) : world(the_world) {
    world.upstream_manner.extended_connect = true;
    world.on_upstream = [](H2Peer& peer) {
      peer.on_head = [](H2Peer& it, H2Stream& asked) {
        it.headers(asked.id, {{":status", "200"}, {"sec-websocket-protocol", "x"}}, Last::no);
      };
    };
    client = &world.connect();
    stream = &client->ask(websocket(), Last::no);
    world.settle();
    std::tie(up, upstream) = world.find("/chat");
  }
  H2World& world;
  H2Peer* client;
  H2Stream* stream;
  H2Peer* up = nullptr;
  H2Stream* upstream = nullptr;
};

TEST(H2Tunnel, AnExtendedConnectPassesAsOne) {
  H2World world;
  const Tunnel tunnel(world);
  ASSERT_NE(tunnel.up, nullptr);
  EXPECT_EQ(value_of(tunnel.upstream->head, ":method"), "CONNECT");
  EXPECT_EQ(value_of(tunnel.upstream->head, ":protocol"), "websocket");
  EXPECT_EQ(value_of(tunnel.upstream->head, "sec-websocket-version"), "13");
  EXPECT_EQ(value_of(tunnel.upstream->head, "sec-websocket-key"), "");
  EXPECT_EQ(tunnel.stream->status(), 200);
  EXPECT_EQ(value_of(tunnel.stream->head, "sec-websocket-protocol"), "x");
  tunnel.client->data(tunnel.stream->id, "ping", Last::no);
  tunnel.up->data(tunnel.upstream->id, "pong", Last::no);
  world.settle();
  EXPECT_EQ(tunnel.upstream->body, "ping");
  EXPECT_EQ(tunnel.stream->body, "pong");
}

TEST(H2Tunnel, ItMayBeSilentForHours) {  // I2
  H2World world;
  const Tunnel tunnel(world);
  world.run_for(hours(5));
  EXPECT_FALSE(tunnel.stream->over());
  tunnel.up->data(tunnel.upstream->id, "there", Last::no);
  world.settle();
  EXPECT_EQ(tunnel.stream->body, "there");
}

TEST(H2Tunnel, EachDirectionEndsForItself) {
  H2World world;
  const Tunnel tunnel(world);
  tunnel.client->data(tunnel.stream->id, "last words", Last::yes);
  world.settle();
  EXPECT_EQ(tunnel.upstream->body, "last words");
  EXPECT_TRUE(tunnel.upstream->ended);
  EXPECT_FALSE(tunnel.stream->over());
  tunnel.up->data(tunnel.upstream->id, "and mine", Last::yes);
  world.settle();
  EXPECT_EQ(tunnel.stream->body, "and mine");
  EXPECT_TRUE(tunnel.stream->ended);
  EXPECT_FALSE(tunnel.stream->reset);
  EXPECT_FALSE(tunnel.upstream->reset);
  EXPECT_EQ(world.gateway->session_count(), 1U);  // the connection
}

TEST(H2Tunnel, AResetOfOneEndReachesTheOther) {
  for (const bool by_client : {true, false}) {
    H2World world;
    const Tunnel tunnel(world);
    if (by_client) {
      tunnel.client->reset(tunnel.stream->id, Code::cancel);
      world.settle();
      EXPECT_TRUE(tunnel.upstream->reset);
    } else {
      tunnel.up->reset(tunnel.upstream->id, Code::internal_error);
      world.settle();
      EXPECT_TRUE(tunnel.stream->reset);
    }
    EXPECT_TRUE(tunnel.client->goaways().empty());
    EXPECT_EQ(world.gateway->session_count(), 1U);
  }
}

TEST(H2Tunnel, AnUpgradeOfHttp1BecomesAnExtendedConnect) {
  H2World world;
  world.upstream_manner.extended_connect = true;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_head = [](H2Peer& it, H2Stream& asked) {
      it.headers(asked.id, {{":status", "200"}}, Last::no);
    };
  };
  Party& client = world.ask(kUpgrade);
  world.settle();
  EXPECT_EQ(client.status(), 101);
  EXPECT_TRUE(client.has("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));  // RFC 6455 section 1.3
  auto [up, stream] = world.find("/chat");
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(value_of(stream->head, ":protocol"), "websocket");
  client.send("ping");
  up->data(stream->id, "pong", Last::no);
  world.settle();
  EXPECT_EQ(stream->body, "ping");
  EXPECT_TRUE(client.got.ends_with("pong"));
}

TEST(H2Tunnel, AnExtendedConnectBecomesAnUpgrade) {
  H2World world({}, {.upstreams = Speaks::http1});
  H2Peer& client = world.connect();
  world.settle();
  H2Stream& stream = client.ask(websocket(), Last::no);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  Party& upstream = world.upstream.at(0);
  EXPECT_TRUE(upstream.has("GET /chat HTTP/1.1\r\n"));
  EXPECT_TRUE(upstream.has("Upgrade: websocket\r\n"));
  EXPECT_EQ(upstream.count("Sec-WebSocket-Key: "), 1U);
  const std::size_t at = upstream.got.find("Sec-WebSocket-Key: ") + 19;
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Accept: " +
      h2::websocket_accept(upstream.got.substr(at, 24)) + "\r\n\r\npong");
  world.settle();
  EXPECT_EQ(stream.status(), 200);
  EXPECT_EQ(stream.body, "pong");
  client.data(stream.id, "ping", Last::yes);
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("ping"));
  EXPECT_TRUE(upstream.saw_finish());
}

TEST(H2Tunnel, AnUpgradeWithTheAnswerToSomebodyElsesKeyIsNone) {
  H2World world({}, {.upstreams = Speaks::http1});
  H2Peer& client = world.connect();
  world.settle();
  H2Stream& stream = client.ask(websocket(), Last::no);
  world.settle();
  world.upstream.at(0).send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\npong");
  world.settle();
  EXPECT_NE(stream.status(), 200);
  EXPECT_TRUE(stream.over());
  EXPECT_TRUE(world.upstream.at(0).saw_end());
}

TEST(H2Tunnel, ARefusedOneIsAnAnswer) {
  H2World world({}, {.upstreams = Speaks::http1});
  H2Peer& client = world.connect();
  world.settle();
  H2Stream& stream = client.ask(websocket(), Last::no);
  world.settle();
  world.upstream.at(0).send("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
  world.settle();
  EXPECT_EQ(stream.status(), 403);
  EXPECT_EQ(stream.body, "no");
  EXPECT_TRUE(stream.ended);
}

TEST(H2Tunnel, AnUpstreamThatDoesNotAllowItIsNotAsked) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_head = [](H2Peer&, H2Stream&) { ADD_FAILURE() << "it was asked"; };
  };
  H2Peer& client = world.connect();
  world.settle();
  H2Stream& stream = client.ask(websocket(), Last::no);
  world.settle();
  EXPECT_GE(stream.status(), 500);
}

}  // namespace
}  // namespace hushgate::sim
