// What the demo's upstreams do beyond plain requests: hang up, die, stream, echo.
#include "app/demo_upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "app/demo_bytes.h"
#include "app/demo_digest.h"
#include "app/demo_testing.h"

namespace hushgate::app {
namespace {

using testing::can_connect;
using testing::Client;
using ::testing::EndsWith;
using testing::FirstEvent;
using testing::get;
using ::testing::HasSubstr;
using testing::kAtOnce;
using testing::post;
using testing::start;
using ::testing::StartsWith;

TEST(DemoUpstream, TheClosingOnePromisesToKeepItsConnectionsAndClosesBehindAPost) {
  const auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::closing));
  client.send(post("/closing/echo"));
  const std::string reply = client.read_to_end();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nConnection: keep-alive\r\n"));
  EXPECT_THAT(reply, EndsWith("}\n"));
}

TEST(DemoUpstream, TheClosingOneReadsASecondRequestAndHangsUp) {
  const auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::closing));
  client.send(get("/closing/echo"));
  EXPECT_THAT(client.read_to("}\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.send(get("/closing/echo"));
  EXPECT_EQ(client.read_to_end(), "");
  Client watcher(demo->port());
  watcher.send(get("/count"));
  EXPECT_THAT(watcher.read_to("}\n"), EndsWith("{\"GET\":2,\"total\":2}\n")) << "both arrived";
}

TEST(DemoUpstream, TheMortalOneIsGoneForAsLongAsItWasToldAndComesBack) {
  const auto demo = start(kAtOnce);
  const std::uint16_t port = demo->port(DemoManner::mortal);
  Client other(port);
  other.send(get("/mortal/echo"));
  other.read_to("}\n");
  Client client(port);
  client.send(post("/mortal/die?for=0.5"));
  EXPECT_EQ(client.read_to_end(), "(reset)");
  EXPECT_EQ(other.read_to_end(), "(reset)");
  EXPECT_FALSE(can_connect(port));
  while (!can_connect(port)) ::usleep(20'000);  // the test's own time-out bounds it
  Client again(port);
  again.send(get("/mortal/echo"));
  EXPECT_THAT(again.read_to("}\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(DemoUpstream, ADroppedRequestIsReadAndNotAnswered) {
  const auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::mortal));
  client.send(post("/mortal/drop"));
  EXPECT_EQ(client.read_to_end(), "");
  Client watcher(demo->port());
  watcher.send(get("/events"));
  EXPECT_THAT(watcher.read_to("]\n"), HasSubstr(R"("outcome":"dropped")"));
}

TEST(DemoUpstream, StoppingEndsTheDeadToo) {
  auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::mortal));
  client.send(post("/mortal/die?for=600"));
  client.read_to_end();
  demo.reset();
}

TEST(DemoUpstream, LargeBodiesComeWholeAndGoWhole) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  constexpr std::size_t kSize = 5'000'003;
  client.send(get("/bytes/" + std::to_string(kSize)));
  EXPECT_THAT(client.read_to("\r\n\r\n"), HasSubstr("\r\nContent-Length: 5000003\r\n"));
  const std::string body = client.read(kSize);
  std::string expected;
  write_numbered(0, kSize, expected);
  EXPECT_TRUE(body == expected);
  DemoSha1 sha1;
  sha1.update(body);
  client.send("PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5000003\r\n\r\n" + body);
  EXPECT_THAT(client.read_to("}\n"),
              EndsWith("{\"bytes\":5000003,\"sha1\":\"" + hex_of(sha1.finish()) + "\"}\n"));
  client.send("HEAD /bytes/77 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string head = client.read_to_end();
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 77\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

constexpr const char* kHandshake =
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

TEST(DemoUpstream, AWebSocketEchoesUntilItIsClosed) {
  using namespace std::string_literals;
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send(kHandshake + "\x81\x82\0\0\0\0hi"s);  // at once behind the handshake
  EXPECT_THAT(client.read_to("\r\n\r\n"), StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_EQ(client.read(4), "\x81\x02hi");
  client.send("\x88\x80\0\0\0\0"s);
  EXPECT_EQ(client.read_to_end(), "\x88\0"s);
}

TEST(DemoUpstream, AModelThatIsLeftStopsSpeaking) {
  FirstEvent first;
  const auto demo = start({.think = Ms{0}, .token_gap = Ms{5}}, first.observer());
  Client client(demo->port());
  client.send(
      "POST /v1/messages?tokens=1000 HTTP/1.1\r\nHost: a\r\nContent-Length: 29\r\n\r\n"
      R"({"stream":true,"messages":[]})");
  client.read_to(" nobody");
  client.reset();
  const DemoEvent event = first.wait();
  EXPECT_EQ(event.outcome, DemoOutcome::cancelled);
  EXPECT_EQ(event.of_tokens, 1'000U);
  EXPECT_GE(event.tokens, 9U);
  EXPECT_LT(event.tokens, 1'000U);
}

}  // namespace
}  // namespace hushgate::app
