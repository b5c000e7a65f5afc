#include "http/own_head.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "http/parser.h"

namespace hushgate::http {
namespace {

void expect_same(const FieldList& own, const FieldList& parsed) {
  ASSERT_EQ(own.size(), parsed.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i].name, parsed[i].name);
    EXPECT_EQ(own[i].value, parsed[i].value);
    EXPECT_EQ(own[i].id, parsed[i].id);
    EXPECT_EQ(own[i].named_by_connection, parsed[i].named_by_connection);
  }
}

TEST(OwnHead, ReadsRequestsAsTheParserDoes) {
  for (const std::string_view text :
       {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /x?y HTTP/1.1\r\nHost: a:1\r\nContent-Length: 5\r\nVIA: 1.1 b\r\nX-Empty:\r\n\r\n",
        "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "PUT * HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /c HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE, X-Mine\r\nX-Mine: 1\r\n"
        "Transfer-Encoding: chunked\r\nX-Colons: a:b: c\r\n\r\n",
        "GET /c HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nX: no host\r\n\r\n"}) {
    RequestHead own, parsed;
    const Result<std::size_t> size = read_own_request_head(text, own);
    const Result<void> judged = parse_request_head(text, parsed);
    ASSERT_EQ(size.has_value(), judged.has_value()) << text;
    if (!size) {
      EXPECT_EQ(size.error().kind, judged.error().kind);
      continue;
    }
    EXPECT_EQ(*size, text.size());
    EXPECT_EQ(own.method, parsed.method);
    EXPECT_EQ(own.target, parsed.target);
    EXPECT_EQ(own.authority, parsed.authority);
    EXPECT_EQ(own.te_trailers, parsed.te_trailers);
    EXPECT_EQ(own.wants_upgrade, parsed.wants_upgrade);
    EXPECT_EQ(own.framing.content_length, parsed.framing.content_length);
    expect_same(own.fields, parsed.fields);
  }
}

TEST(OwnHead, ReadsResponsesAsTheParserDoes) {
  for (const std::string_view text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 \r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 999 No\r\n\r\n"}) {
    ResponseHead own, parsed;
    const Result<std::size_t> size = read_own_response_head(text, own);
    ASSERT_EQ(size.has_value(), parse_response_head(text, parsed).has_value()) << text;
    if (!size) continue;
    EXPECT_EQ(*size, text.size());
    EXPECT_EQ(own.status, parsed.status);
    EXPECT_EQ(own.status_text, std::to_string(parsed.status));
    EXPECT_EQ(own.reason, parsed.reason);
    expect_same(own.fields, parsed.fields);
  }
}

TEST(OwnHead, SaysWhereItEndsAndWhenItDoesNot) {
  const std::string head = "HTTP/1.1 200 OK\r\nVia: 2 a\r\nX: y\r\n\r\n";
  ResponseHead out;
  for (std::size_t size = 0; size < head.size(); ++size) {
    if (size > 0 && size < 17) continue;  // within its first line, of which a part is none
    EXPECT_EQ(read_own_response_head(head.substr(0, size), out).value_or(99), 0U) << size;
  }
  EXPECT_EQ(read_own_response_head(head + "the body\r\n\r\n", out).value_or(0), head.size());
}

}  // namespace
}  // namespace hushgate::http
