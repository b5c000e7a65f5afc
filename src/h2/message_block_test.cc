#include <gtest/gtest.h>

#include "h2/message.h"
#include "h2/message_testing.h"
#include "http/rewrite.h"
#include "http/testing.h"

namespace hushgate::h2 {
namespace {

using http::testing::ParsedRequest;
using http::testing::ParsedResponse;
using testing::block_of;
using testing::Fields;
using testing::fields_of;

constexpr std::string_view kKey = "AAECAwQFBgcICQoLDA0ODw==";

// As they leave the encoder.
Fields lowered(const FieldViews& views) {
  Fields fields = fields_of(views);
  for (auto& [name, value] : fields) std::ranges::transform(name, name.begin(), http::to_lower);
  return fields;
}

Fields request_fields(std::string text) {
  const ParsedRequest parsed(std::move(text));
  EXPECT_EQ(parsed.error(), ErrorKind::none);
  FieldViews views(65'536);
  EXPECT_TRUE(request_block(parsed.head, "https", views));
  return lowered(views);
}

Fields response_fields(std::string text) {
  const ParsedResponse parsed(std::move(text));
  EXPECT_EQ(parsed.error(), ErrorKind::none);
  FieldViews views(65'536);
  EXPECT_TRUE(response_block(parsed.head, views));
  return lowered(views);
}

TEST(RequestBlock, HasItsPseudoFieldsFirst) {
  EXPECT_EQ(request_fields("POST /x?y HTTP/1.1\r\nHost: a:1\r\nX-Request-ID: AbC\r\n"
                           "Content-Length: 5\r\nCookie: a=1; b=2\r\nVia: 1.1 gate\r\n\r\n"),
            (Fields{{":method", "POST"},
                    {":scheme", "https"},
                    {":path", "/x?y"},
                    {":authority", "a:1"},
                    {"x-request-id", "AbC"},
                    {"content-length", "5"},
                    {"cookie", "a=1; b=2"},
                    {"via", "1.1 gate"}}));
}

TEST(RequestBlock, LeavesOutWhatIsOfTheConnection) {
  EXPECT_EQ(
      request_fields("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                     "Connection: keep-alive, X-Mine\r\nKeep-Alive: timeout=5\r\nX-Mine: 1\r\n"
                     "Proxy-Connection: keep-alive\r\nHTTP2-Settings: AAM\r\nTE: trailers\r\n\r\n"),
      (Fields{{":method", "POST"}, {":scheme", "https"}, {":path", "/"}, {":authority", "a"}}));
}

TEST(RequestBlock, KeepsTeOfTrailers) {
  const Fields fields = request_fields(
      "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers, gzip;q=0.5\r\nConnection: TE\r\n\r\n");
  EXPECT_EQ(fields.back(), (std::pair<std::string, std::string>("te", "trailers")));
  EXPECT_EQ(fields.size(), 5U);
}

TEST(RequestBlock, AStarIsAPath) {
  EXPECT_EQ(request_fields("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")[2].second, "*");
}

TEST(RequestBlock, AnEmptyHostIsNoAuthority) {
  EXPECT_EQ(request_fields("GET / HTTP/1.1\r\nHost:\r\n\r\n").size(), 3U);
}

TEST(RequestBlock, AConnectHasOnlyItsAuthority) {
  EXPECT_EQ(request_fields("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 0\r\n"
                           "Sec-WebSocket-Key: x\r\n\r\n"),
            (Fields{{":method", "CONNECT"}, {":authority", "a:443"}, {"sec-websocket-key", "x"}}));
}

TEST(RequestBlock, AnUpgradeIsAnExtendedConnect) {
  EXPECT_EQ(request_fields("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                           "Upgrade: h2c, websocket, other\r\nSec-WebSocket-Key: x\r\n"
                           "Sec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n"),
            (Fields{{":method", "CONNECT"},
                    {":protocol", "websocket"},
                    {":scheme", "https"},
                    {":path", "/chat"},
                    {":authority", "a"},
                    {"sec-websocket-version", "13"}}));
}

TEST(RequestBlock, AnUpgradeWithABodyOrAnotherMethodIsAnOrdinaryRequest) {
  for (const std::string line :
       {"GET / HTTP/1.1\r\nContent-Length: 5\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 0\r\n", "GET / HTTP/1.1\r\nX-No: Upgrade\r\n"}) {
    const bool asks = line.find("X-No") == line.npos;
    const ParsedRequest parsed(line + "Host: a\r\nUpgrade: websocket\r\n" +
                               (asks ? "Connection: Upgrade\r\n\r\n" : "\r\n"));
    EXPECT_FALSE(asks_extended_connect(parsed.head)) << line;
    FieldViews block(65'536);
    EXPECT_TRUE(request_block(parsed.head, "http", block));
    EXPECT_NE(block.find(":method"), "CONNECT");
    EXPECT_EQ(block.find("upgrade").data(), nullptr);
    EXPECT_EQ(block.find(":protocol").data(), nullptr);
  }
}

TEST(RequestBlock, SaysWhenItDoesNotFit) {
  const ParsedRequest parsed("GET / HTTP/1.1\r\nHost: a\r\nX-A: much too long for it\r\n\r\n");
  FieldViews block(80);
  EXPECT_FALSE(request_block(parsed.head, "https", block));
}

TEST(ResponseBlock, HasTheStatusFirstAndNothingOfTheConnection) {
  EXPECT_EQ(
      response_fields("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n"
                      "Keep-Alive: timeout=5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"),
      (Fields{
          {":status", "404"}, {"content-length", "5"}, {"set-cookie", "a"}, {"set-cookie", "b"}}));
  EXPECT_EQ(response_fields("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n"),
            (Fields{{":status", "200"}, {"trailer", "x"}}));
}

TEST(ResponseBlock, SwitchedProtocolsAreAnAgreedConnect) {
  EXPECT_EQ(response_fields("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                            "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n"
                            "Sec-WebSocket-Protocol: chat\r\n\r\n"),
            (Fields{{":status", "200"}, {"sec-websocket-protocol", "chat"}}));
}

TEST(ResponseBlock, AnUpgradeThatIsRequiredIsNotSaid) {
  EXPECT_EQ(response_fields("HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\n"
                            "Upgrade: websocket\r\nContent-Length: 0\r\n\r\n"),
            (Fields{{":status", "426"}, {"content-length", "0"}}));
}

TEST(TrailerBlock, HoldsTheTrailersInLowerCase) {
  http::FieldList fields;
  const std::string text = "Grpc-Status: 0\r\nConnection: close\r\nX-Sum: 7\r\n\r\n";
  ASSERT_TRUE(http::parse_field_lines(text, fields).has_value());
  Block block(1'000);
  EXPECT_TRUE(trailer_block(fields, block));
  EXPECT_EQ(fields_of(block), (Fields{{"grpc-status", "0"}, {"x-sum", "7"}}));
  Block small(20);
  EXPECT_FALSE(trailer_block(fields, small));
}

// What a client says is what the upstream is told, but for what a gateway adds.
TEST(MessageBlocks, ComeOutAsTheyWentIn) {
  const Fields plain = testing::request(
      "POST", {{"content-length", "5"}, {"accept", "*/*"}, {"x-a", "b"}, {"te", "trailers"}});
  const Fields socket = testing::connect("websocket", {{"sec-websocket-version", "13"}});
  for (const Fields& fields : {plain, socket}) {
    std::string text;
    ASSERT_TRUE(request_text(block_of(fields), Stream::open, kKey, text).has_value());
    const ParsedRequest client(text);
    ASSERT_EQ(client.error(), ErrorKind::none) << text;
    const auto framing = http::request_framing(client.head);
    ASSERT_TRUE(framing.has_value());
    const bool upgrade = client.head.wants_upgrade;
    std::string rewritten;
    http::write_request_head(
        rewritten, client.head,
        {.host = client.head.authority,
         .framing = *framing,
         .connection = upgrade ? http::ConnectionField::upgrade : http::ConnectionField::none});
    Fields out = request_fields(rewritten);
    Fields in = fields;
    std::ranges::sort(out);
    std::ranges::sort(in);
    EXPECT_EQ(out, in);
  }
}

}  // namespace
}  // namespace hushgate::h2
