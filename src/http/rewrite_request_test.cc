#include "http/rewrite.h"

#include <gtest/gtest.h>

#include <string>

#include "http/testing.h"

namespace hushgate::http {
namespace {

using testing::get_with;
using testing::ParsedRequest;
using testing::post_with;

RequestRewrite plain() {
  RequestRewrite rewrite;
  rewrite.host = "up:3000";
  return rewrite;
}

std::string rewritten(const std::string& request, const RequestRewrite& rewrite = plain()) {
  const ParsedRequest parsed(request);
  EXPECT_TRUE(parsed.result) << request;
  std::string out;
  write_request_head(out, parsed.head, rewrite);
  return out;
}

std::string up(std::string_view lines) {
  return "GET / HTTP/1.1\r\nHost: up:3000\r\n" + std::string(lines) + "\r\n";
}

TEST(RequestRewrite, FieldsKeepTheirOrderCaseRepetitionAndValue) {
  EXPECT_EQ(rewritten("GET /q?a=[1]|\"x\" HTTP/1.1\r\nX-CaSe-TeSt: 1\r\nHost: a\r\nX-Multi: one\r\n"
                      "Cookie: s=1; t=2\r\nX-Multi:two\r\nX-Empty:\r\nX-Pad: \t v \t\r\n\r\n"),
            "GET /q?a=[1]|\"x\" HTTP/1.1\r\nHost: up:3000\r\nX-CaSe-TeSt: 1\r\nX-Multi: one\r\n"
            "Cookie: s=1; t=2\r\nX-Multi: two\r\nX-Empty: \r\nX-Pad: v\r\n\r\n");
}

TEST(RequestRewrite, AppendsAndKeepsWhatWasThere) {
  std::string out = "before";
  const ParsedRequest parsed(get_with(""));
  write_request_head(out, parsed.head, plain());
  EXPECT_EQ(out, "before" + up(""));
}

TEST(RequestRewrite, AllocatesNothingOnceWarm) {
  const ParsedRequest parsed(get_with("X-A: b\r\n"));
  std::string out;
  write_request_head(out, parsed.head, plain());
  const std::size_t capacity = out.capacity();
  for (int i = 0; i < 10; ++i) {
    out.clear();
    write_request_head(out, parsed.head, plain());
    EXPECT_EQ(out.capacity(), capacity);
  }
}

TEST(RequestRewrite, TargetsBecomeOriginFormWithThePrefix) {
  struct Case {
    std::string line, prefix, expected;
  };
  for (const Case& c : {
           Case{"GET /a%2Fb?c HTTP/1.1", "", "GET /a%2Fb?c HTTP/1.1"},
           Case{"GET /a HTTP/1.0", "/base", "GET /base/a HTTP/1.1"},
           Case{"GET /a HTTP/1.2", "", "GET /a HTTP/1.1"},
           Case{"GET http://b:1/x//y?z HTTP/1.1", "", "GET /x//y?z HTTP/1.1"},
           Case{"GET http://b?q HTTP/1.1", "/p", "GET /p/?q HTTP/1.1"},
           Case{"GET http://b HTTP/1.1", "", "GET / HTTP/1.1"},
           Case{"OPTIONS * HTTP/1.1", "/p", "OPTIONS * HTTP/1.1"},
           Case{"OPTIONS http://b HTTP/1.1", "/p", "OPTIONS * HTTP/1.1"},
           Case{"CONNECT b:443 HTTP/1.1", "/p", "CONNECT b:443 HTTP/1.1"},
           Case{"PURGE //a/../b HTTP/1.1", "/p", "PURGE /p//a/../b HTTP/1.1"},
       }) {
    RequestRewrite rewrite = plain();
    rewrite.path_prefix = c.prefix;
    const std::string out = rewritten(c.line + "\r\nHost: a\r\n\r\n", rewrite);
    EXPECT_EQ(out, c.expected + "\r\nHost: up:3000\r\n\r\n");
  }
}

TEST(RequestRewrite, HopByHopFieldsAreRemoved) {
  EXPECT_EQ(rewritten(get_with("Connection: X-Foo, keep-alive\r\nX-Foo: 1\r\nKeep-Alive: 5\r\n"
                               "Proxy-Connection: close\r\nTE: trailers\r\nUpgrade: foo\r\n"
                               "HTTP2-Settings: AAM\r\nProxy-Authorization: x\r\nX-End: 1\r\n"
                               "X-FOO: 2\r\nTrailer: X-T\r\nAuthorization: y\r\n")),
            up("X-End: 1\r\nTrailer: X-T\r\nAuthorization: y\r\n"));
}

TEST(RequestRewrite, FramingIsWrittenAnewWhateverConnectionNames) {
  RequestRewrite rewrite = plain();
  rewrite.framing = {FramingKind::length, 7};
  EXPECT_EQ(
      rewritten(post_with("Connection: content-length, host\r\nContent-Length: 007\r\n"), rewrite),
      "POST / HTTP/1.1\r\nHost: up:3000\r\nContent-Length: 7\r\n\r\n");
  rewrite.framing = {FramingKind::chunked, 0};
  EXPECT_EQ(rewritten(post_with("Connection: transfer-encoding\r\nTransfer-Encoding: CHUNKED\r\n"),
                      rewrite),
            "POST / HTTP/1.1\r\nHost: up:3000\r\nTransfer-Encoding: chunked\r\n\r\n");
  rewrite.framing = {FramingKind::length, kMaxContentLength};
  EXPECT_NE(rewritten(post_with(""), rewrite).find("Content-Length: 9223372036854775807\r\n"),
            std::string::npos);
  rewrite.framing = {FramingKind::length, 0};
  EXPECT_NE(rewritten(post_with(""), rewrite).find("Content-Length: 0\r\n"), std::string::npos);
}

TEST(RequestRewrite, ConnectionSaysWhatTheCallerWants) {
  RequestRewrite rewrite = plain();
  rewrite.connection = ConnectionField::close;
  EXPECT_EQ(rewritten(get_with("Connection: keep-alive\r\n"), rewrite),
            up("Connection: close\r\n"));
  rewrite.connection = ConnectionField::none;
  EXPECT_EQ(rewritten(get_with("Connection: close\r\n"), rewrite), up(""));
}

TEST(RequestRewrite, UpgradesAreForwardedWithoutH2c) {
  RequestRewrite rewrite = plain();
  rewrite.connection = ConnectionField::upgrade;
  EXPECT_EQ(
      rewritten(get_with("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"),
                rewrite),
      up("Sec-WebSocket-Key: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"));
  EXPECT_EQ(rewritten(get_with("Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: A\r\n"
                               "Upgrade: h2c,foo/2,H2C\r\nUpgrade: bar\r\n"),
                      rewrite),
            up("Upgrade: foo/2, bar\r\nConnection: Upgrade\r\n"));
}

TEST(RequestRewrite, ManyUpgradeProtocolsWithoutBlanksFit) {
  std::string list = "a";
  for (int i = 0; i < 5'000; ++i) list += ",a";
  RequestRewrite rewrite = plain();
  rewrite.connection = ConnectionField::upgrade;
  const std::string out =
      rewritten(get_with("Connection: Upgrade\r\nUpgrade: " + list + "\r\n"), rewrite);
  EXPECT_NE(out.find("a, a, a"), std::string::npos);
}

TEST(RequestRewrite, TeTrailersIsWrittenAgainWithItsOption) {
  RequestRewrite rewrite = plain();
  EXPECT_EQ(rewritten(get_with("TE: gzip, trailers\r\nConnection: te\r\n"), rewrite),
            up("TE: trailers\r\nConnection: TE\r\n"));
  rewrite.connection = ConnectionField::close;
  EXPECT_EQ(rewritten(get_with("TE: trailers\r\nConnection: te\r\n"), rewrite),
            up("TE: trailers\r\nConnection: close, TE\r\n"));
}

TEST(RequestRewrite, AnUntrustedClientsForwardingFieldsAreReplaced) {
  RequestRewrite rewrite = plain();
  rewrite.client_address = "192.0.2.7";
  rewrite.forwarded_proto = "http";
  rewrite.forwarded_host = "a";
  EXPECT_EQ(rewritten(get_with("X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"
                               "X-Forwarded-Host: evil\r\nForwarded: for=evil\r\n"
                               "x-forwarded-for: 1\r\n"),
                      rewrite),
            up("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n"));
}

TEST(RequestRewrite, ATrustedClientsForwardingFieldsAreAppendedToOrKept) {
  RequestRewrite rewrite = plain();
  rewrite.trust = Trust::trusted;
  rewrite.client_address = "192.0.2.7";
  rewrite.forwarded_proto = "http";
  rewrite.forwarded_host = "a";
  EXPECT_EQ(
      rewritten(get_with("X-Forwarded-For: 203.0.113.9, 1.1.1.1\r\nX-Forwarded-Proto: https\r\n"
                         "Forwarded: for=x\r\nX-Forwarded-For:\r\nx-forwarded-for: 2.2.2.2\r\n"),
                rewrite),
      up("X-Forwarded-Proto: https\r\nForwarded: for=x\r\n"
         "X-Forwarded-For: 203.0.113.9, 1.1.1.1, 2.2.2.2, 192.0.2.7\r\n"
         "X-Forwarded-Host: a\r\n"));
  EXPECT_EQ(rewritten(get_with(""), rewrite),
            up("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n"));
}

TEST(RequestRewrite, ConnectionCannotRemoveWhatHushgateAdds) {
  RequestRewrite rewrite = plain();
  rewrite.trust = Trust::trusted;
  rewrite.client_address = "192.0.2.7";
  rewrite.forwarded_proto = "http";
  rewrite.via_token = "hush";
  rewrite.framing = {FramingKind::length, 5};
  EXPECT_EQ(
      rewritten(
          "POST / HTTP/1.1\r\nHost: a\r\nConnection: x-forwarded-for, x-forwarded-proto, via, "
          "x-request-id, expect, host, content-length, forwarded\r\nX-Forwarded-For: 1\r\n"
          "X-Forwarded-Proto: https\r\nVia: 1.0 p\r\nX-Request-Id: r\r\nForwarded: for=x\r\n"
          "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
          rewrite),
      "POST / HTTP/1.1\r\nHost: up:3000\r\nX-Forwarded-Proto: https\r\nX-Request-Id: r\r\n"
      "Expect: 100-continue\r\nContent-Length: 5\r\nX-Forwarded-For: 1, 192.0.2.7\r\n"
      "Via: 1.0 p, 1.1 hush\r\n\r\n");
}

TEST(RequestRewrite, ViaIsOneLineThatEndsWithUs) {
  RequestRewrite rewrite = plain();
  rewrite.via_token = "hush";
  EXPECT_EQ(rewritten(get_with(""), rewrite), up("Via: 1.1 hush\r\n"));
  EXPECT_EQ(rewritten("GET / HTTP/1.0\r\nVia: 1.1 a\r\nX: y\r\nvia: 2 b (c)\r\n\r\n", rewrite),
            up("X: y\r\nVia: 1.1 a, 2 b (c), 1.0 hush\r\n"));
}

TEST(RequestRewrite, ViaNamesHttp2WhereTheRequestCameInIt) {
  RequestRewrite rewrite = plain();
  rewrite.via_token = "hush";
  rewrite.via_version = "2";
  EXPECT_EQ(rewritten(get_with("Via: 1.1 a\r\n"), rewrite), up("Via: 1.1 a, 2 hush\r\n"));
}

TEST(RequestRewrite, TheRequestIdIsTheCallersIfItGivesOne) {
  RequestRewrite rewrite = plain();
  EXPECT_EQ(rewritten(get_with("X-Request-ID: theirs\r\n"), rewrite),
            up("X-Request-ID: theirs\r\n"));
  rewrite.request_id = "ours";
  EXPECT_EQ(rewritten(get_with("X-Request-ID: theirs\r\n"), rewrite), up("X-Request-Id: ours\r\n"));
}

TEST(RequestRewrite, MaxForwardsCountsDown) {
  const std::string out = rewritten("OPTIONS /c HTTP/1.1\r\nHost: a\r\nmax-forwards: 3\r\n\r\n");
  EXPECT_EQ(out, "OPTIONS /c HTTP/1.1\r\nHost: up:3000\r\nMax-Forwards: 2\r\n\r\n");
  EXPECT_EQ(rewritten(get_with("Max-Forwards: 3\r\n")), up("Max-Forwards: 3\r\n"));
}

TEST(RequestRewrite, ExpectIsKeptOnlyWhereItMeansSomething) {
  EXPECT_EQ(rewritten(get_with("Expect: 100-continue\r\n")), up(""));
  EXPECT_EQ(rewritten("GET / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"),
            up(""));
  EXPECT_EQ(rewritten(get_with("Expect: 100-Continue\r\nContent-Length: 5\r\n")),
            up("Expect: 100-Continue\r\n"));
}

}  // namespace
}  // namespace hushgate::http
