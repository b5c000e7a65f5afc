#include "http/digest.h"

#include <gtest/gtest.h>

#include <string>

#include "http/testing.h"

namespace hushgate::http {
namespace {

using testing::get_with;
using testing::ok_with;
using testing::ParsedRequest;
using testing::ParsedResponse;
using testing::post_with;

bool is_named(const FieldList& fields, std::string_view name) {
  return find_field(fields, name)->named_by_connection;
}

TEST(Digest, ConnectionOptionsAreGatheredFromEveryFieldInAnyCase) {
  const ParsedRequest request(
      get_with("Connection: Keep-Alive ,\tUPGRADE\r\nconnection: te,Close\r\n"));
  ASSERT_TRUE(request.result);
  EXPECT_EQ(request.head.connection, (ConnectionOptions{true, true, true, true}));
  EXPECT_EQ(ParsedRequest(get_with("")).head.connection, ConnectionOptions{});
  EXPECT_EQ(ParsedRequest(get_with("Connection: closed, xclose\r\n")).head.connection,
            ConnectionOptions{});
}

TEST(Digest, AConnectionElementThatIsNoTokenMeansClose) {
  for (const char* value : {"keep-alive; x", "close foo", "\"close\"", "a=b"}) {
    const ParsedRequest request(get_with("Connection: " + std::string(value) + "\r\n"));
    ASSERT_TRUE(request.result);
    EXPECT_TRUE(request.head.connection.close) << value;
  }
  EXPECT_FALSE(ParsedRequest(get_with("Connection: , ,keep-alive,\r\n")).head.connection.close);
}

TEST(Digest, FieldsNamedByConnectionAreMarkedWhereverTheyStand) {
  const ParsedRequest request(
      get_with("X-Foo: 1\r\nConnection: x-foo, X-BAR\r\nX-Bar: 2\r\nX-Baz: 3\r\nx-FOO: 4\r\n"));
  ASSERT_TRUE(request.result);
  EXPECT_TRUE(is_named(request.head.fields, "X-Bar"));
  EXPECT_FALSE(is_named(request.head.fields, "X-Baz"));
  std::size_t marked = 0;
  for (const Field& field : request.head.fields) marked += field.named_by_connection ? 1 : 0;
  EXPECT_EQ(marked, 3u);
}

TEST(Digest, TheNumberOfConnectionOptionsIsBounded) {
  const auto with_options = [](std::size_t count) {
    std::string value = "a";
    for (std::size_t i = 1; i < count; ++i) value += i % 2 == 0 ? ",a" : ",";
    return value;
  };
  const auto request = [&](std::size_t count) {
    return ParsedRequest(get_with("Connection: " + with_options(count) + "\r\n")).error();
  };
  EXPECT_EQ(request(kMaxConnectionOptions - 1), ErrorKind::none);
  EXPECT_EQ(request(kMaxConnectionOptions), ErrorKind::none);
  EXPECT_EQ(request(kMaxConnectionOptions + 1), ErrorKind::bad_request);
  EXPECT_EQ(ParsedRequest(get_with("Connection: " + with_options(32) +
                                   "\r\nConnection: " + with_options(33) + "\r\n"))
                .error(),
            ErrorKind::bad_request);
  EXPECT_EQ(ParsedResponse(ok_with("Connection: " + with_options(65) + "\r\n")).error(),
            ErrorKind::http_protocol_error);
}

TEST(Digest, OnlyTheContinueExpectationIsKnown) {
  const auto expecting = [](std::string_view value, std::string_view more = "Content-Length: 5\r\n",
                            std::string_view version = "1.1") {
    return ParsedRequest("POST / HTTP/" + std::string(version) + "\r\nHost: a\r\nExpect: " +
                         std::string(value) + "\r\n" + std::string(more) + "\r\n");
  };
  EXPECT_TRUE(expecting("100-continue").head.expect_continue);
  EXPECT_TRUE(expecting("100-Continue").head.expect_continue);
  EXPECT_TRUE(expecting("100-continue", "Transfer-Encoding: chunked\r\n").head.expect_continue);
  for (const char* value :
       {"y 100-continue", "200-ok", "", "100-continue, x", "100-continue;q=1"}) {
    EXPECT_EQ(expecting(value).error(), ErrorKind::bad_request) << value;
  }
  // Nothing will come that could wait (RFC 9110 section 10.1.1), or the version ignores it.
  for (const char* more : {"", "Content-Length: 0\r\n"}) {
    EXPECT_TRUE(expecting("100-continue", more).result);
    EXPECT_FALSE(expecting("100-continue", more).head.expect_continue);
  }
  EXPECT_FALSE(expecting("100-continue", "Content-Length: 5\r\n", "1.0").head.expect_continue);
}

TEST(Digest, TrailersAreWantedWhenTeSaysSoAndConnectionNamesTe) {
  const auto wants = [](std::string_view lines) {
    return ParsedRequest(get_with(lines)).head.te_trailers;
  };
  EXPECT_TRUE(wants("TE: trailers\r\nConnection: TE\r\n"));
  EXPECT_TRUE(wants("Connection: close, te\r\nte: gzip;q=0.5, Trailers\r\n"));
  EXPECT_FALSE(wants("TE: trailers\r\n"));
  EXPECT_FALSE(wants("TE: gzip\r\nConnection: TE\r\n"));
  EXPECT_FALSE(wants("Connection: TE\r\n"));
}

TEST(Digest, AnUpgradeIsWantedOnHttp11WhenConnectionNamesItAndTheProtocolIsNotH2c) {
  const auto wants = [](std::string_view lines) {
    return ParsedRequest(get_with(lines)).head.wants_upgrade;
  };
  EXPECT_TRUE(wants("Upgrade: websocket\r\nConnection: Upgrade\r\n"));
  EXPECT_TRUE(wants("Upgrade: h2c, foo/2\r\nConnection: keep-alive, upgrade\r\n"));
  EXPECT_FALSE(wants("Upgrade: websocket\r\n"));
  EXPECT_FALSE(wants("Connection: Upgrade\r\n"));
  EXPECT_FALSE(wants("Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"));
  EXPECT_FALSE(wants("Upgrade: H2C\r\nConnection: Upgrade\r\n"));
  EXPECT_FALSE(wants("Upgrade: h2c/1\r\nConnection: Upgrade\r\n"));
  EXPECT_FALSE(wants("Upgrade: ,\r\nConnection: Upgrade\r\n"));
  EXPECT_FALSE(ParsedRequest("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
                   .head.wants_upgrade);
}

TEST(Digest, MaxForwardsCountsForTraceAndOptionsOnly) {
  const auto of = [](std::string_view method, std::string_view value) {
    return ParsedRequest(std::string(method) + " / HTTP/1.1\r\nHost: a\r\nMax-Forwards: " +
                         std::string(value) + "\r\n\r\n");
  };
  EXPECT_EQ(of("OPTIONS", "0").head.max_forwards, 0u);
  EXPECT_EQ(of("TRACE", "3").head.max_forwards, 3u);
  EXPECT_EQ(of("TRACE", "4294967295").head.max_forwards, 4'294'967'295u);
  EXPECT_EQ(of("TRACE", "99999999999999999999999").head.max_forwards, 4'294'967'295u);
  EXPECT_EQ(of("GET", "3").head.max_forwards, std::nullopt);
  EXPECT_TRUE(of("GET", "x").result);
  for (const char* value : {"", "-1", "x", "1 2", "1, 2"}) {
    EXPECT_EQ(of("OPTIONS", value).error(), ErrorKind::bad_request) << value;
  }
  EXPECT_EQ(of("OPTIONS", "1\r\nMax-Forwards: 1").error(), ErrorKind::bad_request);
}

TEST(Digest, TheKeepAliveTimeoutIsFoundAmongOtherParameters) {
  const auto timeout = [](std::string_view value) {
    return ParsedResponse(ok_with("Keep-Alive: " + std::string(value) + "\r\n"))
        .head.keep_alive_timeout_s;
  };
  EXPECT_EQ(timeout("timeout=5"), 5u);
  EXPECT_EQ(timeout("max=100, Timeout=15"), 15u);
  EXPECT_EQ(timeout("timeout=0"), 0u);
  EXPECT_EQ(timeout("timeout=99999999999"), std::nullopt);
  EXPECT_EQ(timeout("timeout=x"), std::nullopt);
  EXPECT_EQ(timeout("max=100"), std::nullopt);
  EXPECT_EQ(timeout("5"), std::nullopt);
  EXPECT_EQ(ParsedResponse(ok_with("Keep-Alive: timeout=5\r\nKeep-Alive: max=3\r\n"))
                .head.keep_alive_timeout_s,
            5u);
}

TEST(Digest, ResponsesHaveTheirConnectionOptionsMarkedToo) {
  const ParsedResponse response(ok_with("Connection: X-Up, close\r\nX-Up: secret\r\nX-End: s\r\n"));
  ASSERT_TRUE(response.result);
  EXPECT_TRUE(response.head.connection.close);
  EXPECT_TRUE(is_named(response.head.fields, "x-up"));
  EXPECT_FALSE(is_named(response.head.fields, "x-end"));
}

}  // namespace
}  // namespace hushgate::http
