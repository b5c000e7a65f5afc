#include "http/rewrite.h"

#include <gtest/gtest.h>

#include <string>

#include "http/testing.h"

namespace hushgate::http {
namespace {

using testing::ok_with;
using testing::ParsedResponse;

std::string answered(const std::string& response, const ResponseRewrite& rewrite = {}) {
  const ParsedResponse parsed(response);
  EXPECT_TRUE(parsed.result) << response;
  std::string out;
  write_response_head(out, parsed.head, rewrite);
  return out;
}

TEST(ResponseRewrite, FieldsKeepTheirOrderCaseRepetitionAndValue) {
  EXPECT_EQ(answered("HTTP/1.0 299 Odd Reason\r\nSet-Cookie: a=1; Path=/\r\nserver: x\r\n"
                     "Set-Cookie: b=2; Expires=Thu, 01 Jan 2030 00:00:00 GMT\r\nX-E:caf\xE9\r\n"
                     "Set-Cookie: a=3\r\nTrailer: X-T\r\n\r\n"),
            "HTTP/1.1 299 Odd Reason\r\nSet-Cookie: a=1; Path=/\r\nserver: x\r\n"
            "Set-Cookie: b=2; Expires=Thu, 01 Jan 2030 00:00:00 GMT\r\nX-E: caf\xE9\r\n"
            "Set-Cookie: a=3\r\nTrailer: X-T\r\n\r\n");
}

TEST(ResponseRewrite, AnEmptyReasonKeepsItsSpace) {
  EXPECT_EQ(answered("HTTP/1.1 200\r\n\r\n"), "HTTP/1.1 200 \r\n\r\n");
}

TEST(ResponseRewrite, HopByHopFieldsAreRemoved) {
  EXPECT_EQ(answered(ok_with("Connection: X-Up, close\r\nX-Up: secret\r\nKeep-Alive: timeout=5\r\n"
                             "Upgrade: h2c\r\nProxy-Connection: x\r\nProxy-Authenticate: Basic\r\n"
                             "X-End: stay\r\n")),
            ok_with("X-End: stay\r\n"));
}

TEST(ResponseRewrite, FramingIsWhatTheCallerSends) {
  const std::string chunked = ok_with("Transfer-Encoding: Chunked\r\nX: y\r\n");
  EXPECT_EQ(answered(chunked, {.framing = {FramingKind::chunked, 0}}),
            ok_with("X: y\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_EQ(answered(chunked, {.framing = {FramingKind::until_eof, 0},
                               .connection = ConnectionField::close}),
            ok_with("X: y\r\nConnection: close\r\n"));
  EXPECT_EQ(answered(ok_with("Content-Length: 05\r\n"), {.framing = {FramingKind::length, 5}}),
            ok_with("Content-Length: 5\r\n"));
}

TEST(ResponseRewrite, HeadAnd304KeepTheirLength) {
  EXPECT_EQ(answered(ok_with("Content-Length: 500\r\n")), ok_with("Content-Length: 500\r\n"));
  EXPECT_EQ(answered("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(answered(ok_with("Transfer-Encoding: chunked\r\n")), ok_with(""));
}

TEST(ResponseRewrite, A204AndA1xxHaveNoFramingFields) {
  for (const char* line : {"HTTP/1.1 204 No Content", "HTTP/1.1 103 Early Hints"}) {
    for (const char* field : {"Content-Length: 7\r\n", "Transfer-Encoding: chunked\r\n", ""}) {
      const std::string head(line);
      EXPECT_EQ(answered(head + "\r\n" + field + "X-A: b\r\n\r\n"), head + "\r\nX-A: b\r\n\r\n");
    }
  }
}

TEST(ResponseRewrite, ATunnelHasNoFramingFields) {
  EXPECT_EQ(answered(ok_with("Content-Length: 5\r\n"), {.framing = {FramingKind::tunnel, 0}}),
            ok_with(""));
}

TEST(ResponseRewrite, SwitchingProtocolsKeepsItsUpgrade) {
  EXPECT_EQ(
      answered("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
               "Sec-WebSocket-Accept: x\r\n\r\n",
               {.framing = {FramingKind::tunnel, 0}, .connection = ConnectionField::upgrade}),
      "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\n\r\n");
}

TEST(ResponseRewrite, UpgradeRequiredSaysWhichProtocol) {
  const std::string head = "HTTP/1.1 426 Upgrade Required\r\n";
  EXPECT_EQ(answered(head + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                     {.connection = ConnectionField::close}),
            head + "Upgrade: websocket\r\nConnection: close, Upgrade\r\n\r\n");
  EXPECT_EQ(answered(head + "Upgrade: h2c\r\n\r\n"), head + "\r\n");
}

TEST(ResponseRewrite, ConnectionSaysWhatTheCallerWants) {
  const std::string head = ok_with("Connection: close\r\n");
  EXPECT_EQ(answered(head), ok_with(""));
  EXPECT_EQ(answered(head, {.connection = ConnectionField::close}),
            ok_with("Connection: close\r\n"));
  EXPECT_EQ(answered(head, {.connection = ConnectionField::keep_alive}),
            ok_with("Connection: keep-alive\r\n"));
}

TEST(ResponseRewrite, ViaIsJoinedAndAnUpstreamsRequestIdIsKept) {
  EXPECT_EQ(answered(ok_with("Via: 1.1 a\r\nConnection: via\r\n"), {.via_token = "hush"}),
            ok_with("Via: 1.1 a, 1.1 hush\r\n"));
  EXPECT_EQ(answered("HTTP/1.0 200 OK\r\n\r\n", {.via_token = "hush", .request_id = "id"}),
            ok_with("Via: 1.0 hush\r\nX-Request-Id: id\r\n"));
  EXPECT_EQ(answered(ok_with("x-request-id: theirs\r\n"), {.request_id = "ours"}),
            ok_with("x-request-id: theirs\r\n"));
}

TEST(ResponseRewrite, ViaNamesHttp2WhereTheResponseCameInIt) {
  EXPECT_EQ(answered(ok_with("Via: 1.1 a\r\n"), {.via_token = "hush", .via_version = "2"}),
            ok_with("Via: 1.1 a, 2 hush\r\n"));
  const ParsedResponse parsed("HTTP/1.1 103 Early Hints\r\n\r\n");
  std::string out;
  write_interim_head(out, parsed.head, "hush", "2");
  EXPECT_EQ(out, "HTTP/1.1 103 Early Hints\r\nVia: 2 hush\r\n\r\n");
}

TEST(ResponseRewrite, InterimHeadsHaveNeitherFramingNorConnection) {
  const ParsedResponse parsed(
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: close\r\nContent-Length: 3\r\n\r\n");
  std::string out;
  write_interim_head(out, parsed.head, "hush");
  EXPECT_EQ(out, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nVia: 1.1 hush\r\n\r\n");
}

}  // namespace
}  // namespace hushgate::http
