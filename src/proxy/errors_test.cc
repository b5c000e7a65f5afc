#include "proxy/errors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/parser.h"
#include "http/testing.h"

namespace hushgate::proxy {
namespace {

using enum ErrorKind;

struct Row {
  ErrorKind kind;
  std::uint16_t status;
  std::string_view type;
  std::string_view proxy_status;
  Side side;
};

// CONTRACT section 5.
const std::vector<Row> kTable{
    {none, 0, "none", "", Side::hushgate},
    {bad_request, 400, "bad_request", "http_request_error", Side::client},
    {bad_path, 400, "bad_path", "http_request_error", Side::client},
    {request_timeout, 408, "request_timeout", "http_request_error", Side::client},
    {body_too_large, 413, "body_too_large", "http_request_denied", Side::client},
    {target_too_long, 414, "target_too_long", "http_request_error", Side::client},
    {head_too_large, 431, "head_too_large", "http_request_error", Side::client},
    {unknown_transfer_coding, 501, "unknown_transfer_coding", "http_request_error", Side::client},
    {method_not_allowed, 405, "method_not_allowed", "http_request_denied", Side::client},
    {version_not_supported, 505, "version_not_supported", "http_request_error", Side::client},
    {client_gone, 0, "client_gone", "", Side::client},
    {client_stalled, 0, "client_stalled", "", Side::client},
    {no_route, 404, "no_route", "destination_not_found", Side::hushgate},
    {proxy_loop, 508, "proxy_loop_detected", "proxy_loop_detected", Side::hushgate},
    {shedding, 503, "connection_limit_reached", "connection_limit_reached", Side::hushgate},
    {stopping, 0, "stopping", "", Side::hushgate},
    {internal_fault, 500, "internal_error", "proxy_internal_error", Side::hushgate},
    {dns_error, 502, "dns_error", "dns_error", Side::upstream},
    {dns_timeout, 504, "dns_timeout", "dns_timeout", Side::upstream},
    {connection_refused, 502, "connection_refused", "connection_refused", Side::upstream},
    {connection_failed, 502, "connection_failed", "destination_ip_unroutable", Side::upstream},
    {connection_timeout, 504, "connection_timeout", "connection_timeout", Side::upstream},
    {tls_certificate_error, 502, "tls_certificate_error", "tls_certificate_error", Side::upstream},
    {tls_protocol_error, 502, "tls_protocol_error", "tls_protocol_error", Side::upstream},
    {ports_exhausted, 503, "connection_limit_reached", "connection_limit_reached", Side::hushgate},
    {connection_terminated, 502, "connection_terminated", "connection_terminated", Side::upstream},
    {http_protocol_error, 502, "http_protocol_error", "http_protocol_error", Side::upstream},
    {upstream_head_too_large, 502, "http_response_header_section_size",
     "http_response_header_section_size", Side::upstream},
    {request_refused, 503, "request_refused", "destination_unavailable", Side::upstream},
    {response_timeout, 504, "http_response_timeout", "http_response_timeout", Side::upstream},
};

// An answer as a client reads it.
struct Read {
  explicit Read(const ErrorAnswer& answer) {
    write_error(text, answer);
    const std::size_t end = text.find("\r\n\r\n");
    head_text = text.substr(0, end + 4);
    body = text.substr(end + 4);
    EXPECT_TRUE(http::parse_response_head(head_text, head).has_value());
  }
  Read(const Read&) = delete;

  std::string field(std::string_view name) const {
    std::string found;
    for (const http::Field& field : head.fields) {
      if (http::equals_lower(field.name, name))
        found += (found.empty() ? "" : " AND ") + std::string(field.value);
    }
    return found;
  }

  std::string text, head_text, body;
  http::ResponseHead head;
};

TEST(Errors, EveryKindHasItsRow) {
  ASSERT_EQ(kTable.size(), static_cast<std::size_t>(response_timeout) + 1);
  for (const Row& row : kTable) {
    const ErrorFacts& found = facts(row.kind);
    EXPECT_EQ(found.kind, row.kind);
    EXPECT_EQ(found.status, row.status) << row.type;
    EXPECT_EQ(found.type, row.type);
    EXPECT_EQ(found.proxy_status, row.proxy_status) << row.type;
    EXPECT_EQ(found.side, row.side) << row.type;
  }
}

TEST(Errors, EveryAnswerIsAWholeResponseWithAJsonBody) {
  for (const Row& row : kTable) {
    if (row.status == 0) continue;
    const Read read({.kind = row.kind, .server = "hushgate-1", .request_id = "abc"});
    EXPECT_EQ(read.head.status, row.status);
    EXPECT_FALSE(read.head.reason.empty()) << row.status;
    EXPECT_EQ(read.field("content-type"), "application/json");
    EXPECT_EQ(read.field("content-length"), std::to_string(read.body.size()));
    EXPECT_EQ(read.field("x-request-id"), "abc");
    const std::string begin = "{\"error\":{\"type\":\"" + std::string(row.type) +
                              "\",\"message\":\"" + std::string(facts(row.kind).message);
    EXPECT_EQ(read.body, begin + "\",\"request_id\":\"abc\"}}\n");
    EXPECT_TRUE(read.field("proxy-status")
                    .starts_with("hushgate-1; error=" + std::string(row.proxy_status)))
        << read.text;
  }
}

TEST(Errors, TheMessagesNeedNoEscapingAndEndAsSentences) {
  for (const Row& row : kTable) {
    const std::string_view message = facts(row.kind).message;
    EXPECT_EQ(message.find_first_of("\"\\\r\n"), std::string_view::npos) << message;
    if (row.status != 0) EXPECT_TRUE(message.ends_with('.')) << message;
  }
}

TEST(Errors, HeadGetsTheLengthButNoBody) {
  const Read get({.kind = connection_refused, .server = "h", .request_id = "i"});
  const Read head(
      {.kind = connection_refused, .method = http::Method::head, .server = "h", .request_id = "i"});
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.head_text, get.head_text);
  EXPECT_NE(head.field("content-length"), "0");
}

TEST(Errors, Only503SaysWhenToComeBack) {
  for (const Row& row : kTable) {
    if (row.status == 0) continue;
    const Read read({.kind = row.kind, .server = "h", .request_id = "i"});
    EXPECT_EQ(read.field("retry-after"), row.status == 503 ? "1" : "") << row.type;
  }
}

TEST(Errors, AWantOfPortsIsToldApartInTheField) {
  const Read ports({.kind = ports_exhausted, .server = "h", .request_id = "i"});
  EXPECT_EQ(ports.field("proxy-status"),
            "h; error=connection_limit_reached; details=\"no local port\"");
  const Read room({.kind = shedding, .server = "h", .request_id = "i"});
  EXPECT_EQ(room.field("proxy-status"), "h; error=connection_limit_reached");
}

TEST(Errors, SdksAreToldWhetherToRepeat) {
  const auto said = [](ShouldRetry should) {
    return Read({.kind = connection_terminated,
                 .should_retry = should,
                 .server = "h",
                 .request_id = "i"})
        .field("x-should-retry");
  };
  EXPECT_EQ(said(ShouldRetry::unsaid), "");
  EXPECT_EQ(said(ShouldRetry::yes), "true");
  EXPECT_EQ(said(ShouldRetry::no), "false");
}

TEST(Errors, TheConnectionFieldIsTheOneAskedFor) {
  const auto field = [](http::ConnectionField connection) {
    return Read({.kind = no_route, .connection = connection, .server = "h", .request_id = "i"})
        .field("connection");
  };
  EXPECT_EQ(field(http::ConnectionField::close), "close");
  EXPECT_EQ(field(http::ConnectionField::keep_alive), "keep-alive");
  EXPECT_EQ(field(http::ConnectionField::none), "");
}

TEST(Errors, A405NamesWhatIsAllowed) {
  const Read read({.kind = method_not_allowed, .server = "h", .request_id = "i"});
  EXPECT_NE(read.field("allow").find("GET"), std::string::npos);
  EXPECT_EQ(read.field("allow").find("CONNECT"), std::string::npos);
}

TEST(LocalAnswer, ABodylessOneHasNoTypeAnd204HasNoLength) {
  std::string ok;
  write_local(ok, {200, "text/plain", "", ""}, http::Method::get, http::ConnectionField::none, "");
  EXPECT_EQ(ok, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  std::string none;
  write_local(none, {204, "", "", "Allow: GET\r\n"}, http::Method::get,
              http::ConnectionField::close, "x");
  EXPECT_EQ(
      none,
      "HTTP/1.1 204 No Content\r\nAllow: GET\r\nConnection: close\r\nX-Request-Id: x\r\n\r\n");
}

}  // namespace
}  // namespace hushgate::proxy
