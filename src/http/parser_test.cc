#include "http/parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/testing.h"

namespace hushgate::http {
namespace {

using testing::get_with;
using testing::ok_with;
using testing::ParsedRequest;
using testing::ParsedResponse;
using testing::post_with;
using testing::request_error;

TEST(RequestParser, ReadsAnOrdinaryRequest) {
  const ParsedRequest request(
      "POST /v1/chat?stream=1 HTTP/1.1\r\nHost: api.example:8080\r\nX-CaSe:  spaced \t\r\n"
      "Content-Length:5\r\nX-Empty:\r\n\r\n");
  ASSERT_TRUE(request.result);
  const RequestHead& head = request.head;
  EXPECT_EQ(head.method, Method::post);
  EXPECT_EQ(head.method_text, "POST");
  EXPECT_EQ(head.target, "/v1/chat?stream=1");
  EXPECT_EQ(head.path, "/v1/chat");
  EXPECT_EQ(head.query, "?stream=1");
  EXPECT_EQ(head.authority, "api.example:8080");
  EXPECT_EQ(head.version, Version::http11);
  ASSERT_EQ(head.fields.size(), 4u);
  EXPECT_EQ(head.fields[1], (Field{"X-CaSe", "spaced", FieldId::other, false}));
  EXPECT_EQ(head.fields[2], (Field{"Content-Length", "5", FieldId::content_length, false}));
  EXPECT_EQ(head.fields[3], (Field{"X-Empty", "", FieldId::other, false}));
  EXPECT_EQ(head.framing.content_length, 5u);
}

TEST(RequestParser, KnowsTheMethodsByCase) {
  struct Case {
    std::string text;
    Method method;
  };
  for (const Case& c :
       {Case{"GET", Method::get}, Case{"HEAD", Method::head}, Case{"OPTIONS", Method::options},
        Case{"TRACE", Method::trace}, Case{"POST", Method::post}, Case{"PUT", Method::put},
        Case{"PATCH", Method::patch}, Case{"DELETE", Method::delete_}, Case{"get", Method::other},
        Case{"PURGE", Method::other}, Case{"GETS", Method::other},
        Case{"M-SEARCH", Method::other}}) {
    const ParsedRequest request(c.text + " / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(request.result) << c.text;
    EXPECT_EQ(request.head.method, c.method) << c.text;
    EXPECT_EQ(request.head.method_text, c.text);
  }
}

TEST(RequestParser, MethodsThatAreNoTokensAreRefused) {
  for (const char* method : {"G@T", "", "G(T", "G\tT", "\xC3\x89", "GET,", "PRI"}) {
    EXPECT_EQ(request_error(std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n"),
              ErrorKind::bad_request)
        << method;
  }
}

TEST(RequestParser, TheMethodIsBounded) {
  const auto with_method = [](std::size_t bytes) {
    return request_error(std::string(bytes, 'A') + " / HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  EXPECT_EQ(with_method(31), ErrorKind::none);
  EXPECT_EQ(with_method(32), ErrorKind::none);
  EXPECT_EQ(with_method(33), ErrorKind::bad_request);
  EXPECT_EQ(with_method(65'536), ErrorKind::target_too_long);
}

TEST(RequestParser, Versions) {
  const auto with_version = [](std::string_view version) {
    return request_error("GET / " + std::string(version) + "\r\nHost: a\r\n\r\n");
  };
  for (const char* good : {"HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/1.9"}) {
    EXPECT_EQ(with_version(good), ErrorKind::none) << good;
  }
  for (const char* unsupported : {"HTTP/2.0", "HTTP/3.0", "HTTP/0.9", "HTTP/9.9", "HTTP/0.0"}) {
    EXPECT_EQ(with_version(unsupported), ErrorKind::version_not_supported) << unsupported;
  }
  for (const char* bad : {"HTTP/1.10", "HTTP/1.", "HTTP/1", "HTTP/1.1x", "HTTP/ 1.1", "http/1.1",
                          "HTTP/01.1", "HTTP/11.1", "RTSP/1.0", "HTTP/1.A", "HTTP/A.1", "HTTP", "",
                          "HTTP/1,1", "HTTP/1.1 ", " HTTP/1.1"}) {
    EXPECT_EQ(with_version(bad), ErrorKind::bad_request) << bad;
  }
  EXPECT_EQ(request_error(std::string("GET / HTTP/1.1\0\r\nHost: a\r\n\r\n", 28)),
            ErrorKind::bad_request);
}

TEST(RequestParser, LaterMinorVersionsAreReadAsHttp11) {
  const ParsedRequest request("GET / HTTP/1.2\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(request.result);
  EXPECT_EQ(request.head.version, Version::http11);
}

TEST(RequestParser, RequestLinesThatAreNotThreePartsAreRefused) {
  for (const char* line :
       {"GET  /c  HTTP/1.1", "GET /c", "GET", "GET /a b HTTP/1.1", " GET / HTTP/1.1",
        "GET\t/\tHTTP/1.1", "GET / HTTP/1.1 ", "GET /  HTTP/1.1", "GET  / HTTP/1.1", "GET HTTP/1.1",
        "GET /a\tb HTTP/1.1", "/ HTTP/1.1", "BAD", "GET  HTTP/1.1"}) {
    EXPECT_EQ(request_error(std::string(line) + "\r\nHost: a\r\n\r\n"), ErrorKind::bad_request)
        << line;
  }
}

TEST(RequestParser, TheHttp2PrefaceIsRefused) {
  EXPECT_NE(request_error("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ErrorKind::none);
}

TEST(RequestParser, TargetsOfTheWrongFormAreRefused) {
  for (const char* line : {"GET * HTTP/1.1", "GET a:80 HTTP/1.1", "GET ftp://a/ HTTP/1.1",
                           "CONNECT / HTTP/1.1", "CONNECT a HTTP/1.1", "POST a/b HTTP/1.1"}) {
    EXPECT_EQ(request_error(std::string(line) + "\r\nHost: a\r\n\r\n"), ErrorKind::bad_request)
        << line;
  }
}

TEST(RequestParser, TheAuthorityOfAnAbsoluteFormReplacesHost) {
  const ParsedRequest request("GET http://good.example/c HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  ASSERT_TRUE(request.result);
  EXPECT_EQ(request.head.authority, "good.example");
  EXPECT_EQ(request.head.path, "/c");
}

TEST(RequestParser, AnAbsoluteFormNeedsAValidHostAllTheSame) {
  EXPECT_EQ(request_error("GET http://a/ HTTP/1.1\r\n\r\n"), ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n"), ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
            ErrorKind::bad_request);
}

TEST(RequestParser, Http11NeedsExactlyOneHost) {
  EXPECT_EQ(request_error("GET / HTTP/1.1\r\n\r\n"), ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET / HTTP/1.1\r\nHost: a\r\nhOST: evil\r\n\r\n"),
            ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET / HTTP/1.0\r\n\r\n"), ErrorKind::none);
  EXPECT_EQ(request_error("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET / HTTP/1.1\r\nHost:\r\n\r\n"), ErrorKind::none);
}

TEST(RequestParser, InvalidHostsAreRefused) {
  for (const char* host :
       {"a b", "user@localhost", "localhost/evil", "[::1", "localhost:port", "localhost:80:81",
        "localhost\tevil", "localhost#@evil", "localhost\\evil",
        "l\xF6"
        "calhost",
        "a,b"}) {
    EXPECT_EQ(request_error("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"),
              ErrorKind::bad_request)
        << host;
  }
}

TEST(RequestParser, FieldLinesAreStrict) {
  for (const char* line : {"Fo o: 1",
                           "Fo(o: 1",
                           "Foo : 1",
                           "Foo\t: 1",
                           ": 1",
                           " Foo: 1",
                           "\tFoo: 1",
                           "Foo",
                           "F\xA0: 1",
                           "Foo\xA0: 1",
                           "Transfer-Encoding : chunked",
                           "X-A: a\r\n b",
                           "X-A: a\r\n\tb",
                           "X-A:\r\n b",
                           "X-A: a\x01"
                           "b",
                           "X-A: a\x7F"
                           "b",
                           "X-A: a\rb",
                           "X-A: a\nb",
                           "\"a\": b",
                           "a/b: c"}) {
    EXPECT_EQ(request_error(get_with(std::string(line) + "\r\n")), ErrorKind::bad_request) << line;
  }
  EXPECT_EQ(request_error(get_with(std::string("X-A: a\0b\r\n", 10))), ErrorKind::bad_request);
  EXPECT_EQ(request_error(get_with(std::string("Fo\0o: a\r\n", 9))), ErrorKind::bad_request);
  EXPECT_EQ(request_error("GET / HTTP/1.1\r\n Host: evil\r\nHost: a\r\n\r\n"),
            ErrorKind::bad_request);
}

TEST(RequestParser, UnusualButValidFieldLinesGoThrough) {
  for (const char* line : {"X_A: 1", "X-A: caf\xE9", "X-A: a\tb", "X-A:", "X-A::", "X-A: :b",
                           "!#$%&'*+-.^_`|~: x", "X-A: \"a\\\"b\"", "1: 2"}) {
    EXPECT_EQ(request_error(get_with(std::string(line) + "\r\n")), ErrorKind::none) << line;
  }
  EXPECT_EQ(request_error(get_with(std::string(16'384, 'a') + ": 1\r\n")), ErrorKind::none);
}

TEST(RequestParser, TheParserAloneIsAsStrictAsTheScanner) {
  for (const char* text :
       {"GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r", "GET / HTTP/1.1", "",
        "\r\n", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nmore"}) {
    EXPECT_EQ(ParsedRequest(text).error(), ErrorKind::bad_request) << text;
  }
}

TEST(RequestParser, ManyFieldsAreRefused) {
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += "X-" + std::to_string(i) + ": a\r\n";
  EXPECT_EQ(request_error(get_with(lines)), ErrorKind::head_too_large);
}

TEST(RequestParser, ParsingAgainLeavesNothingOfTheRequestBefore) {
  RequestHead head;
  const std::string rich =
      "OPTIONS http://h:1/x?y HTTP/1.0\r\nHost: a\r\nConnection: close, te, X-A\r\nTE: trailers\r\n"
      "Max-Forwards: 3\r\nContent-Length: 5\r\nX-A: b\r\n\r\n";
  ASSERT_TRUE(parse_request_head(rich, head));
  const std::size_t capacity = head.fields.capacity();
  const std::string plain = "GET / HTTP/1.1\r\nHost: b\r\n\r\n";
  ASSERT_TRUE(parse_request_head(plain, head));
  EXPECT_EQ(head.fields.capacity(), capacity);
  const ParsedRequest fresh(plain);
  EXPECT_EQ(head.fields, fresh.head.fields);
  EXPECT_EQ(head.authority, "b");
  EXPECT_EQ(head.scheme, "");
  EXPECT_EQ(head.query, "");
  EXPECT_EQ(head.connection, ConnectionOptions{});
  EXPECT_EQ(head.framing, FramingInputs{});
  EXPECT_EQ(head.max_forwards, std::nullopt);
  EXPECT_FALSE(head.te_trailers);
}

// Requests of which the framing decides; the table of framings itself is framing_test's.
TEST(RequestParser, AmbiguousFramingIsRefusedThroughTheWholePath) {
  struct Case {
    const char* lines;
    ErrorKind error;
  };
  for (const Case& c : {
           Case{"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", ErrorKind::bad_request},
           Case{"Content-Length: 5\r\nContent-Length: 5\r\n", ErrorKind::bad_request},
           Case{"Content-Length: 5, 5\r\n", ErrorKind::bad_request},
           Case{"Content-Length: 5 \t \r\n", ErrorKind::none},
           Case{"Content-Length: 5\x0b\r\n", ErrorKind::bad_request},
           Case{"Transfer-Encoding:\tchunked\r\n", ErrorKind::none},
           Case{"Transfer-Encoding:chunked\r\n", ErrorKind::none},
           Case{"Transfer-Encoding: \x0b"
                "chunked\r\n",
                ErrorKind::bad_request},
           Case{"Transfer-Encoding:\r\n chunked\r\n", ErrorKind::bad_request},
           Case{"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                ErrorKind::bad_request},
           Case{"Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
                ErrorKind::unknown_transfer_coding},
           Case{"X-A: y\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                ErrorKind::bad_request},
           Case{"Transfer-Encoding\t: chunked\r\nContent-Length: 5\r\n", ErrorKind::bad_request},
       }) {
    EXPECT_EQ(request_error(post_with(c.lines)), c.error) << c.lines;
  }
}

TEST(RequestParser, AFieldNamedByConnectionKeepsItsFraming) {
  const ParsedRequest te(
      post_with("Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n"));
  ASSERT_TRUE(te.result);
  EXPECT_EQ(request_framing(te.head)->kind, FramingKind::chunked);
  const ParsedRequest cl(
      post_with("Connection: content-length, keep-alive\r\nContent-Length: 7\r\n"));
  ASSERT_TRUE(cl.result);
  EXPECT_EQ(*request_framing(cl.head), (Framing{FramingKind::length, 7}));
}

TEST(ResponseParser, ReadsAnOrdinaryResponse) {
  const ParsedResponse response(
      "HTTP/1.1 404 Not Found at all\r\nServer: x\r\nContent-Length: 12\r\n\r\n");
  ASSERT_TRUE(response.result);
  EXPECT_EQ(response.head.status, 404);
  EXPECT_EQ(response.head.reason, "Not Found at all");
  EXPECT_EQ(response.head.version, Version::http11);
  EXPECT_EQ(response.head.framing.content_length, 12u);
  EXPECT_EQ(response.head.fields[0].id, FieldId::server);
}

TEST(ResponseParser, StatusLines) {
  struct Case {
    std::string_view line;
    int status;
    std::string_view reason;
  };
  for (const Case& c : {Case{"HTTP/1.1 200 OK", 200, "OK"}, Case{"HTTP/1.1 200 ", 200, ""},
                        Case{"HTTP/1.1 200", 200, ""}, Case{"HTTP/1.0 100 x", 100, "x"},
                        Case{"HTTP/1.1 599 Odd", 599, "Odd"}, Case{"HTTP/1.1 299  a ", 299, " a "},
                        Case{"HTTP/1.9 200 caf\xE9\t!", 200, "caf\xE9\t!"}}) {
    const ParsedResponse response(std::string(c.line) + "\r\n\r\n");
    ASSERT_TRUE(response.result) << c.line;
    EXPECT_EQ(response.head.status, c.status);
    EXPECT_EQ(response.head.reason, c.reason);
  }
  for (const char* bad : {"ICY 200 OK",
                          "HTTP/1.1 20 OK",
                          "HTTP/1.1 2000 OK",
                          "HTTP/1.1 abc OK",
                          "HTTP/1.1 099 x",
                          "HTTP/1.1 000 x",
                          "HTTP/1.1 600 x",
                          "HTTP/1.1 999 x",
                          "HTTP/1.1  200 OK",
                          "HTTP/1.1 2 0 x",
                          "HTTP/2.0 200 OK",
                          "HTTP/0.9 200 OK",
                          "http/1.1 200 OK",
                          "HTTP/1.1",
                          "HTTP/1.1 ",
                          "HTTP/1.1 20",
                          "HTTP/1.1\t200 OK",
                          "HTTP/1.1 200\tOK",
                          "HTTP/1.1 200OK",
                          "",
                          " ",
                          "HTTP/1.1 +20 OK",
                          "HTTP/1.1 200 a\x01",
                          "HTTP/1.1 200 a\x7F",
                          "200 OK"}) {
    EXPECT_EQ(ParsedResponse(std::string(bad) + "\r\n\r\n").error(), ErrorKind::http_protocol_error)
        << bad;
  }
}

TEST(ResponseParser, FieldLinesAreStrict) {
  for (const char* line : {"NoColon", "X-A: a\rX-B: 1", "X-A: a\r\n b", "X-A : b", "X-A: a\nX-B: 1",
                           "Transfer-Encoding : chunked", ": x", "X A: 1", "X-A: \x02"}) {
    EXPECT_EQ(ParsedResponse(ok_with(std::string(line) + "\r\n")).error(),
              ErrorKind::http_protocol_error)
        << line;
  }
  EXPECT_TRUE(ParsedResponse(ok_with("X-A: caf\xE9\r\n")).result);
  EXPECT_EQ(ParsedResponse("HTTP/1.1 200 OK\nX: y\n\n").error(), ErrorKind::http_protocol_error);
}

TEST(FieldLines, ASectionEndsWithItsEmptyLine) {
  FieldList fields;
  EXPECT_TRUE(parse_field_lines("\r\n", fields));
  EXPECT_TRUE(fields.empty());
  EXPECT_TRUE(parse_field_lines("X-T: 1\r\nx-u:2\r\n\r\n", fields));
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[1], (Field{"x-u", "2", FieldId::other, false}));
  for (const char* bad : {"", "X-T: 1\r\n", "X-T: 1\r\n\r\nX", "X-T : 1\r\n\r\n",
                          "GET /smug HTTP/1.1\r\n\r\n", "X-T: 1\n\r\n", " X-T: 1\r\n\r\n"}) {
    FieldList other;
    EXPECT_FALSE(parse_field_lines(bad, other)) << bad;
  }
}

}  // namespace
}  // namespace hushgate::http
