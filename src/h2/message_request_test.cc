#include <gtest/gtest.h>

#include <optional>

#include "h2/message.h"
#include "h2/message_testing.h"
#include "http/testing.h"

namespace hushgate::h2 {
namespace {

using testing::block_of;
using testing::connect;
using testing::Fields;
using testing::repeated;
using testing::request;

constexpr std::string_view kKey = "AAECAwQFBgcICQoLDA0ODw==";

struct Text {
  explicit Text(const Fields& fields, Stream stream = Stream::ended)
      : result(request_text(block_of(fields), stream, kKey, text)) {}

  ErrorKind error() const { return result ? ErrorKind::none : result.error().kind; }

  std::string text;
  Result<Inner> result;
};

// What the client is told in the end: the fault of the message, or of the text that it becomes.
ErrorKind fault_of(const Fields& fields, Stream stream = Stream::ended) {
  const Text text(fields, stream);
  if (!text.result) {
    EXPECT_EQ(text.text, "");
    return text.error();
  }
  return http::testing::request_error(text.text);
}

Fields with(Fields fields, std::string_view name, std::string_view value) {
  for (auto& field : fields) {
    if (field.first == name) field.second = value;
  }
  return fields;
}

Fields without(Fields fields, std::string_view name) {
  std::erase_if(fields, [&](const auto& field) { return field.first == name; });
  return fields;
}

TEST(RequestText, BecomesOriginFormWithAHost) {
  const Text text(request("GET", {{"accept", "*/*"}, {"x-a", "caf\xE9"}}));
  EXPECT_EQ(text.text,
            "GET /x?y HTTP/1.1\r\nHost: a.example\r\naccept: */*\r\nx-a: caf\xE9\r\n\r\n");
  ASSERT_TRUE(text.result.has_value());
  EXPECT_EQ(text.result->body, Body::none);
  EXPECT_EQ(text.result->method, http::Method::get);
  EXPECT_FALSE(text.result->is_connect);
}

TEST(RequestText, IsAppended) {
  std::string out = "before";
  ASSERT_TRUE(request_text(block_of(request("GET")), Stream::ended, kKey, out).has_value());
  EXPECT_TRUE(out.starts_with("beforeGET /x?y"));
  EXPECT_FALSE(request_text(block_of(request("")), Stream::ended, kKey, out).has_value());
  EXPECT_TRUE(out.ends_with("a.example\r\n\r\n"));
}

TEST(RequestText, SaysWhereItsBodyEnds) {
  struct Case {
    std::string_view method;
    Fields more;
    Stream stream;
    Body body;
    std::uint64_t length;
    std::string_view line;  // the framing, in lower case; empty: none
  };
  const Case cases[] = {
      {"GET", {}, Stream::ended, Body::none, 0, ""},
      {"DELETE", {}, Stream::ended, Body::none, 0, ""},
      {"POST", {}, Stream::ended, Body::none, 0, "content-length: 0\r\n"},
      {"PUT", {}, Stream::ended, Body::none, 0, "content-length: 0\r\n"},
      {"PATCH", {}, Stream::ended, Body::none, 0, "content-length: 0\r\n"},
      {"POST", {{"content-length", "0"}}, Stream::ended, Body::none, 0, "content-length: 0\r\n"},
      {"GET", {{"content-length", "0"}}, Stream::ended, Body::none, 0, "content-length: 0\r\n"},
      {"GET", {{"content-length", "0"}}, Stream::open, Body::length, 0, "content-length: 0\r\n"},
      {"GET", {{"content-length", "7"}}, Stream::open, Body::length, 7, "content-length: 7\r\n"},
      {"POST", {{"content-length", "7"}}, Stream::open, Body::length, 7, "content-length: 7\r\n"},
      {"POST", {}, Stream::open, Body::chunked, 0, "transfer-encoding: chunked\r\n"},
      {"GET", {}, Stream::open, Body::chunked, 0, "transfer-encoding: chunked\r\n"},
      {"POST",
       {{"content-length", "7"}, {"trailer", "x-sum"}},
       Stream::open,
       Body::chunked,
       0,
       "transfer-encoding: chunked\r\n"},
  };
  for (const Case& c : cases) {
    const Text text(request(c.method, c.more), c.stream);
    ASSERT_TRUE(text.result.has_value()) << c.method;
    EXPECT_EQ(text.result->body, c.body) << text.text;
    EXPECT_EQ(text.result->length, c.length) << text.text;
    std::string lower;
    for (const char ch : text.text) lower += http::to_lower(ch);
    std::string framing;
    for (const std::string_view name : {"content-length: ", "transfer-encoding: "}) {
      for (std::size_t at = lower.find(name); at != lower.npos; at = lower.find(name, at + 1)) {
        framing += lower.substr(at, lower.find('\n', at) + 1 - at);
      }
    }
    EXPECT_EQ(framing, c.line) << text.text;
    EXPECT_EQ(http::testing::request_error(text.text), ErrorKind::none) << text.text;
  }
}

TEST(RequestText, KeepsTrailersAnnouncedAndTheirTe) {
  const Text text(request("POST", {{"te", "trailers"}, {"trailer", "x-sum"}}), Stream::open);
  EXPECT_EQ(text.text,
            "POST /x?y HTTP/1.1\r\nHost: a.example\r\ntrailer: x-sum\r\n"
            "Transfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
  const http::testing::ParsedRequest parsed(text.text);
  EXPECT_TRUE(parsed.head.te_trailers);
}

TEST(RequestText, JoinsTheCrumbsOfACookie) {
  const Text text(request("GET", {{"cookie", "a=1"}, {"x-a", "b"}, {"cookie", "c=2"}}));
  EXPECT_EQ(text.text,
            "GET /x?y HTTP/1.1\r\nHost: a.example\r\nx-a: b\r\ncookie: a=1; c=2\r\n\r\n");
  EXPECT_EQ(Text(request("GET", {{"cookie", "a=1"}, {"x-a", "b"}})).text,
            "GET /x?y HTTP/1.1\r\nHost: a.example\r\ncookie: a=1\r\nx-a: b\r\n\r\n");
}

TEST(RequestText, LeavesOutWhatIsOnlyForThisConnection) {
  const Text text(request("GET", {{"http2-settings", "AAMAAABkAAQAAP__"}, {"x-a", "b"}}));
  EXPECT_EQ(text.text, "GET /x?y HTTP/1.1\r\nHost: a.example\r\nx-a: b\r\n\r\n");
}

TEST(RequestText, TakesHostForAMissingAuthorityAndOnlyOneForTwoAlike) {
  const Fields bare = without(request("GET"), ":authority");
  Fields fields = bare;
  fields.emplace_back("host", "b.example:8080");
  EXPECT_EQ(Text(fields).text, "GET /x?y HTTP/1.1\r\nHost: b.example:8080\r\n\r\n");
  EXPECT_EQ(Text(request("GET", {{"host", "A.example"}})).text,
            "GET /x?y HTTP/1.1\r\nHost: a.example\r\n\r\n");
  EXPECT_EQ(fault_of(request("GET", {{"host", "a.example:443"}})), ErrorKind::none);
  EXPECT_EQ(fault_of(request("GET", {{"host", "a.example:80"}})), ErrorKind::bad_request);
  EXPECT_EQ(fault_of(bare), ErrorKind::bad_request);
}

TEST(RequestText, AsksTheServerItselfWithAStar) {
  EXPECT_EQ(Text(with(request("OPTIONS"), ":path", "*")).text,
            "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n");
  EXPECT_EQ(fault_of(with(request("GET"), ":path", "*")), ErrorKind::bad_request);
  EXPECT_EQ(fault_of(with(request("OPTIONS"), ":path", "*x")), ErrorKind::bad_request);
}

TEST(RequestText, AWebSocketAsksForAnUpgrade) {
  const Text text(connect("websocket", {{"sec-websocket-version", "13"},
                                        {"sec-websocket-key", "theirs"},
                                        {"origin", "https://a.example"}}),
                  Stream::open);
  EXPECT_EQ(text.text,
            "GET /x?y HTTP/1.1\r\nHost: a.example\r\nsec-websocket-version: 13\r\n"
            "origin: https://a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n\r\n");
  ASSERT_TRUE(text.result.has_value());
  EXPECT_EQ(text.result->body, Body::tunnel);
  EXPECT_EQ(text.result->method, http::Method::get);
  EXPECT_TRUE(text.result->is_connect);
  const http::testing::ParsedRequest parsed(text.text);
  EXPECT_TRUE(parsed.head.wants_upgrade);
}

TEST(RequestText, OtherProtocolsNeedNoKey) {
  const Text text(connect("connect-udp", {{"te", "trailers"}}), Stream::open);
  EXPECT_EQ(text.text,
            "GET /x?y HTTP/1.1\r\nHost: a.example\r\nTE: trailers\r\n"
            "Connection: Upgrade, TE\r\nUpgrade: connect-udp\r\n\r\n");
  EXPECT_EQ(fault_of(connect("foo/2", {}), Stream::open), ErrorKind::none);
}

TEST(RequestText, AProtocolMustBeOneAndNotOurs) {
  for (const char* protocol : {"", "h2c", "H2C/1", "a, b", "a b", "a/", "/a", "web\r\nsocket"}) {
    EXPECT_EQ(fault_of(connect(protocol), Stream::open), ErrorKind::bad_request) << protocol;
  }
  Fields get = request("GET");
  get.insert(get.begin(), {":protocol", "websocket"});
  EXPECT_EQ(fault_of(get), ErrorKind::bad_request);
}

TEST(RequestText, AConnectHasOnlyAnAuthority) {
  const Fields plain{{":method", "CONNECT"}, {":authority", "a.example:443"}};
  const Text text(plain, Stream::open);
  EXPECT_EQ(text.text, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
  ASSERT_TRUE(text.result.has_value());
  EXPECT_EQ(text.result->body, Body::tunnel);
  EXPECT_TRUE(text.result->is_connect);
  EXPECT_EQ(http::testing::request_error(text.text), ErrorKind::none);
  const Fields wrong[] = {
      {{":method", "CONNECT"}},
      {{":method", "CONNECT"}, {"host", "a.example:443"}},
      {{":method", "CONNECT"}, {":authority", "a.example"}},
      {{":method", "CONNECT"}, {":authority", "a.example:443"}, {":scheme", "https"}},
      {{":method", "CONNECT"}, {":authority", "a.example:443"}, {":path", "/"}},
      {{":method", "CONNECT"}, {":authority", "a.example:443"}, {"content-length", "5"}},
  };
  for (const Fields& fields : wrong) {
    EXPECT_EQ(fault_of(fields, Stream::open), ErrorKind::bad_request) << fields.size();
  }
  EXPECT_EQ(fault_of(connect("websocket", {{"content-length", "5"}}), Stream::open),
            ErrorKind::bad_request);
}

TEST(RequestText, RefusesPseudoFieldsThatAreWrong) {
  for (const char* name : {":method", ":scheme", ":path", ":authority"}) {
    EXPECT_EQ(fault_of(without(request("GET"), name)), ErrorKind::bad_request) << name;
    EXPECT_EQ(fault_of(with(request("GET"), name, "")), ErrorKind::bad_request) << name;
    Fields twice = request("GET");
    const std::string value = name == std::string_view(":path") ? "/" : "https";
    twice.insert(twice.begin(), {name, value});
    EXPECT_EQ(fault_of(twice), ErrorKind::bad_request) << name;
    Fields late = without(request("GET"), name);
    late.emplace_back("x-a", "b");
    late.emplace_back(name, value);
    EXPECT_EQ(fault_of(late), ErrorKind::bad_request) << name;
  }
  for (const char* name : {":status", ":", ":foo", ":Method", "::path"}) {
    Fields unknown = request("GET");
    unknown.insert(unknown.begin(), {name, "200"});
    EXPECT_EQ(fault_of(unknown), ErrorKind::bad_request) << name;
  }
  for (const char* scheme : {"ftp", "httpx", "http:", "h ttp"}) {
    EXPECT_EQ(fault_of(with(request("GET"), ":scheme", scheme)), ErrorKind::bad_request);
  }
  EXPECT_EQ(fault_of(with(request("GET"), ":scheme", "HTTP")), ErrorKind::none);
}

TEST(RequestText, RefusesMethodsAndTargetsThatCouldBeReadTwoWays) {
  for (const char* method :
       {"GET /smug HTTP/1.1\r\nHost: x\r\n\r\nGET", "GET ", "G ET", "G\tET", "G(T", "PRI"}) {
    EXPECT_EQ(fault_of(with(request("GET"), ":method", method)), ErrorKind::bad_request) << method;
  }
  for (const char* path :
       {"x", "@evil.example/x", "http://evil.example/", "/x HTTP/1.1", "/x HTTP/1.1\r\nX: 1",
        "/x\ny", "/x\ty", "/x#f", "/x\x7F", " /x", "/caf\xE9", "?x"}) {
    EXPECT_EQ(fault_of(with(request("GET"), ":path", path)), ErrorKind::bad_request) << path;
  }
  EXPECT_EQ(fault_of(with(request("GET"), ":path", std::string_view("/x\0y", 4))),
            ErrorKind::bad_request);
}

TEST(RequestText, RefusesAuthoritiesThatAreNone) {
  for (const char* authority : {"a.example/evil", "user@a.example", "a.example\r\nX-Injected: 1",
                                "a b", "a,b", "a:b", "[::1", "a?b", "a#b"}) {
    EXPECT_EQ(fault_of(with(request("GET"), ":authority", authority)), ErrorKind::bad_request)
        << authority;
    Fields fields = without(request("GET"), ":authority");
    fields.emplace_back("host", authority);
    EXPECT_EQ(fault_of(fields), ErrorKind::bad_request) << authority;
  }
  EXPECT_EQ(fault_of(request("GET", {{"host", "evil.example"}})), ErrorKind::bad_request);
  EXPECT_EQ(fault_of(request("GET", {{"host", "a.example"}, {"host", "a.example"}})),
            ErrorKind::bad_request);
}

TEST(RequestText, RefusesFieldsThatHttp2DoesNotHave) {
  const std::pair<const char*, const char*> fields[] = {
      {"connection", "close"},
      {"connection", "keep-alive"},
      {"keep-alive", "timeout=5"},
      {"proxy-connection", "keep-alive"},
      {"upgrade", "h2c"},
      {"upgrade", "websocket"},
      {"transfer-encoding", "chunked"},
      {"transfer-encoding", "xchunked"},
      {"te", "gzip"},
      {"te", "trailers, gzip"},
      {"te", ""},
  };
  for (const auto& [name, value] : fields) {
    EXPECT_EQ(fault_of(request("POST", {{name, value}}), Stream::open), ErrorKind::bad_request)
        << name << ": " << value;
  }
}

TEST(RequestText, RefusesNamesAndValuesThatCouldInject) {
  const std::pair<std::string, std::string> fields[] = {
      {"", "1"},
      {"X-A", "1"},
      {"x\xE9", "1"},
      {"x a", "1"},
      {"x-a ", "1"},
      {"transfer-encoding ", "chunked"},
      {"transfer-encoding: chunked\r\nx", "1"},
      {"x-a: 1\r\nx-injected", "1"},
      {"x-a", "a\r\nX-Injected: 1"},
      {"x-a", "a\nX-Injected: 1"},
      {"x-a", "a\rb"},
      {"x-a", std::string("a\0b", 3)},
      {"x-a",
       "a\x01"
       "b"},
      {"x-a", "a\x7F"},
      {"x-a", " a"},
      {"x-a", "a "},
      {"x-a", "\ta"},
      {"x-a", "a\t"},
      {"x-a", " "},
  };
  for (const auto& [name, value] : fields) {
    EXPECT_EQ(fault_of(request("GET", {{name, value}})), ErrorKind::bad_request)
        << name << ": " << value;
  }
  EXPECT_EQ(fault_of(request("GET", {{"x-a", "a \t b"}, {"x-b", ""}, {"x-c", "\xE9"}})),
            ErrorKind::none);
}

TEST(RequestText, RefusesEveryControlCharacterAndCapitalByItself) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string c(1, static_cast<char>(byte));
    const bool control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
    EXPECT_EQ(fault_of(request("GET", {{"x-a", "a" + c + "b"}})),
              control ? ErrorKind::bad_request : ErrorKind::none)
        << byte;
    const bool lower_tchar = http::is_tchar(c[0]) && !(byte >= 'A' && byte <= 'Z');
    EXPECT_EQ(fault_of(request("GET", {{"a" + c + "b", "x"}})),
              lower_tchar ? ErrorKind::none : ErrorKind::bad_request)
        << byte;
  }
}

TEST(RequestText, RefusesLengthsThatAreNone) {
  for (const char* length : {"+5", "0x5", "-5", "5 ", "", "18446744073709551621", "5,5", "1e1"}) {
    EXPECT_EQ(fault_of(request("POST", {{"content-length", length}}), Stream::open),
              ErrorKind::bad_request)
        << length;
  }
  EXPECT_EQ(
      fault_of(request("POST", {{"content-length", "5"}, {"content-length", "5"}}), Stream::open),
      ErrorKind::bad_request);
  EXPECT_EQ(fault_of(request("GET", {{"content-length", "5"}})), ErrorKind::bad_request);
  EXPECT_EQ(fault_of(request("TRACE", {{"content-length", "5"}}), Stream::open),
            ErrorKind::bad_request);
}

// Of a block that may hold as much as the scanner takes.
ErrorKind fault_within(const Fields& fields, std::size_t max_bytes, Stream stream) {
  std::string text;
  const auto inner = request_text(block_of(fields, max_bytes), stream, kKey, text);
  EXPECT_TRUE(inner.has_value());
  EXPECT_EQ(inner->body, stream == Stream::ended ? Body::none : Body::chunked);
  return http::testing::request_error(text);
}

TEST(RequestText, AHeadThatIsTooLargeIsNeverTakenForASmallerOne) {
  const std::size_t most = Limits{}.max_header_bytes;
  const std::string long_text = repeated('x', most);
  for (const Stream stream : {Stream::ended, Stream::open}) {
    EXPECT_EQ(fault_within(request("POST", {{"x-a", long_text}}), most, stream),
              ErrorKind::head_too_large);
    EXPECT_EQ(fault_within(with(request("GET"), ":path", "/" + long_text), most, stream),
              ErrorKind::target_too_long);
    EXPECT_EQ(fault_within(with(request("GET"), ":method", long_text), most, stream),
              ErrorKind::target_too_long);
    Fields long_path = with(request("GET"), ":path", "/" + repeated('x', 20'000));
    long_path.emplace_back("x-a", long_text);
    EXPECT_EQ(fault_within(long_path, most, stream), ErrorKind::target_too_long);
  }
  Fields malformed = request("GET", {{"X", "y"}, {"x-a", long_text}});
  EXPECT_EQ(fault_of(malformed), ErrorKind::bad_request);
}

TEST(RequestText, ALineOverItsBoundIsRefusedAlsoWithoutAnOverflow) {
  EXPECT_EQ(fault_of(with(request("GET"), ":path", "/" + repeated('x', 20'000))),
            ErrorKind::target_too_long);
  Fields many;
  for (int i = 0; i < 200; ++i) many.emplace_back("x-a", "b");
  EXPECT_EQ(fault_of(request("GET", many)), ErrorKind::head_too_large);
}

}  // namespace
}  // namespace hushgate::h2
