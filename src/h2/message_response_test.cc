#include <gtest/gtest.h>

#include "h2/message.h"
#include "h2/message_testing.h"
#include "http/testing.h"

namespace hushgate::h2 {
namespace {

using http::Method;
using testing::block_of;
using testing::Fields;
using testing::repeated;
using testing::response;

constexpr std::string_view kAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
constexpr Asked kGet{.method = Method::get};
constexpr Asked kSocket{.method = Method::get, .protocol = "websocket", .accept = kAccept};

struct Text {
  explicit Text(const Fields& fields, const Asked& asked = kGet, Stream stream = Stream::open)
      : result(response_text(block_of(fields), asked, stream, text)) {}

  std::string text;
  Result<Inner> result;
};

bool is_malformed(const Fields& fields, Stream stream = Stream::open) {
  const Text text(fields, kGet, stream);
  if (text.result) return false;
  EXPECT_EQ(text.result.error().kind, ErrorKind::http_protocol_error);
  EXPECT_EQ(text.text, "");
  return true;
}

TEST(ResponseText, BecomesAStatusLineAndFields) {
  const Text text(
      response("200", {{"content-type", "text/plain"}, {"set-cookie", "a"}, {"set-cookie", "b"}}));
  EXPECT_EQ(text.text,
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nset-cookie: a\r\nset-cookie: b\r\n"
            "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(Text(response("299")).text, "HTTP/1.1 299 \r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(ResponseText, SaysWhereItsBodyEnds) {
  struct Case {
    std::string_view status;
    Fields more;
    Method method;
    Stream stream;
    Body body;
    std::string_view framing;  // the lines; empty: none
  };
  const Fields five{{"content-length", "5"}};
  const Fields five_and_trailers{{"content-length", "5"}, {"trailer", "x-sum"}};
  constexpr std::string_view kFive = "content-length: 5\r\n";
  constexpr std::string_view kZero = "Content-Length: 0\r\n";
  constexpr std::string_view kChunked = "Transfer-Encoding: chunked\r\n";
  const Case cases[] = {
      {"200", {}, Method::get, Stream::open, Body::chunked, kChunked},
      {"200", five, Method::get, Stream::open, Body::length, kFive},
      {"404", five, Method::post, Stream::open, Body::length, kFive},
      {"200", five_and_trailers, Method::get, Stream::open, Body::chunked,
       "trailer: x-sum\r\nTransfer-Encoding: chunked\r\n"},
      {"200", {}, Method::get, Stream::ended, Body::none, kZero},
      {"200",
       {{"content-length", "0"}},
       Method::get,
       Stream::ended,
       Body::none,
       "content-length: 0\r\n"},
      {"200", {}, Method::head, Stream::ended, Body::none, ""},
      {"200", five, Method::head, Stream::ended, Body::none, kFive},
      {"200", five, Method::head, Stream::open, Body::none, kFive},
      {"304", five, Method::get, Stream::ended, Body::none, kFive},
      {"304", {}, Method::get, Stream::ended, Body::none, ""},
      {"204", {}, Method::get, Stream::ended, Body::none, ""},
      {"204", five, Method::get, Stream::open, Body::none, ""},
      {"403", {}, Method::connect, Stream::ended, Body::none, kZero},
      {"200", {}, Method::connect, Stream::open, Body::tunnel, ""},
      {"200", five, Method::connect, Stream::open, Body::tunnel, ""},
  };
  for (const Case& c : cases) {
    const Text text(response(c.status, c.more), {.method = c.method}, c.stream);
    ASSERT_TRUE(text.result.has_value()) << c.status;
    EXPECT_EQ(text.result->body, c.body) << text.text;
    EXPECT_EQ(text.result->length, c.body == Body::length ? 5U : 0U);
    const std::size_t begin = text.text.find('\n') + 1;
    EXPECT_EQ(text.text.substr(begin, text.text.size() - begin - 2), c.framing);
    const http::testing::ParsedResponse parsed(text.text);
    ASSERT_EQ(parsed.error(), ErrorKind::none) << text.text;
    const auto framing = http::response_framing(c.method, parsed.head);
    ASSERT_TRUE(framing.has_value()) << text.text;
    EXPECT_NE(framing->kind, http::FramingKind::until_eof) << text.text;
    EXPECT_EQ(framing->bodyless(), c.body == Body::none) << text.text;
  }
}

TEST(ResponseText, InterimOnesHaveNeitherBodyNorFraming) {
  const Text text(response("103", {{"link", "</a>"}, {"content-length", "5"}}));
  EXPECT_EQ(text.text, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
  ASSERT_TRUE(text.result.has_value());
  EXPECT_TRUE(text.result->is_interim);
  EXPECT_EQ(text.result->body, Body::none);
  EXPECT_FALSE(Text(response("200")).result->is_interim);
  EXPECT_TRUE(is_malformed(response("100"), Stream::ended));
}

TEST(ResponseText, AnAgreedWebSocketHasSwitchedProtocols) {
  const Text text(response("200", {{"sec-websocket-protocol", "chat"},
                                   {"sec-websocket-accept", "theirs"},
                                   {"content-length", "5"}}),
                  kSocket);
  EXPECT_EQ(text.text,
            "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-protocol: chat\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
  ASSERT_TRUE(text.result.has_value());
  EXPECT_EQ(text.result->body, Body::tunnel);
  EXPECT_FALSE(text.result->is_interim);
  const Text other(response("200"), {.method = Method::get, .protocol = "connect-udp"});
  EXPECT_EQ(other.text,
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: connect-udp\r\n"
            "\r\n");
}

TEST(ResponseText, ARefusedWebSocketIsAnOrdinaryResponse) {
  const Text text(response("404", {{"content-length", "5"}}), kSocket);
  EXPECT_EQ(text.text, "HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\n");
  EXPECT_EQ(text.result->body, Body::length);
  EXPECT_EQ(Text(response("300"), kSocket).result->body, Body::chunked);
}

TEST(ResponseText, RefusesStatusesThatAreNone) {
  for (const char* status : {"", "20", "2000", "099", "101", "600", "abc", "+20", "20 ", "2\r\n"}) {
    EXPECT_TRUE(is_malformed(response(status))) << status;
  }
  EXPECT_TRUE(is_malformed({}));
  EXPECT_TRUE(is_malformed({{"x-a", "b"}}));
  EXPECT_TRUE(is_malformed({{"x-a", "b"}, {":status", "200"}}));
  EXPECT_TRUE(is_malformed({{":status", "200"}, {":status", "200"}}));
  EXPECT_TRUE(is_malformed({{":status", "200"}, {":path", "/"}}));
}

TEST(ResponseText, RefusesWhatARequestMayNotHaveEither) {
  const std::pair<const char*, const char*> fields[] = {
      {"connection", "close"},
      {"keep-alive", "timeout=5"},
      {"proxy-connection", "close"},
      {"upgrade", "websocket"},
      {"X-A", "b"},
      {"x-a", "b\r\nc"},
      {"transfer-encoding", "gzip"},
      {"x-a", " b"},
      {"", "b"},
      {"content-length", "x"},
      {"content-length", "5, 5"},
      {"te", "gzip"},
  };
  for (const auto& [name, value] : fields) {
    EXPECT_TRUE(is_malformed(response("200", {{name, value}}))) << name << ": " << value;
  }
  EXPECT_TRUE(is_malformed(response("200", {{"content-length", "5"}, {"content-length", "5"}})));
  EXPECT_TRUE(is_malformed(response("200", {{"content-length", "5"}}), Stream::ended));
}

TEST(ResponseText, AHeadThatIsTooLargeIsNeverTakenForASmallerOne) {
  const Limits limits;
  const std::string long_text = repeated('x', limits.max_header_bytes);
  for (const Fields& fields : {response("200", {{"x-a", long_text}}), response(long_text)}) {
    const Text text(fields);
    ASSERT_TRUE(text.result.has_value());
    http::HeadScanner scanner(http::ScanRole::response, http::ScanBounds::of(limits));
    const http::Scan scan = scanner.scan(text.text);
    EXPECT_EQ(scan.event, http::ScanEvent::refused);
    EXPECT_EQ(scan.error, ErrorKind::head_too_large);
  }
}

TEST(TrailerText, IsTheLastChunkWithWhatMayBeATrailer) {
  std::string out = "before|";
  ASSERT_TRUE(
      trailer_text(
          block_of(
              {{"grpc-status", "0"}, {"content-length", "3"}, {"host", "evil"}, {"x-sum", ""}}),
          out)
          .has_value());
  EXPECT_EQ(out, "before|0\r\ngrpc-status: 0\r\nx-sum: \r\n\r\n");
  out.clear();
  ASSERT_TRUE(trailer_text(Block(100), out).has_value());
  EXPECT_EQ(out, "0\r\n\r\n");
}

TEST(TrailerText, RefusesWhatNoMessageMayHold) {
  const std::pair<const char*, const char*> fields[] = {
      {":path", "/x"}, {":status", "200"},     {"connection", "close"}, {"transfer-encoding", ""},
      {"X-Sum", "1"},  {"x-sum", "1\r\nx: y"}, {"x-sum", " 1"},         {"", "1"},
      {"x sum", "1"},  {"te", "gzip"},
  };
  for (const auto& [name, value] : fields) {
    std::string out = "as it was";
    const auto result = trailer_text(block_of({{"x-a", "b"}, {name, value}}), out);
    ASSERT_FALSE(result.has_value()) << name << ": " << value;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_request);
    EXPECT_EQ(out, "as it was");
  }
}

TEST(TrailerText, RefusesWhatIsTooLarge) {
  std::string out;
  const auto result = trailer_text(block_of({{"x-a", "b"}, {"x-b", "too much"}}, 12), out);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::head_too_large);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace hushgate::h2
