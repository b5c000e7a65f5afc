// What the tests of this folder share: heads that own their bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/scanner.h"

namespace hushgate::http::testing {

struct ParsedRequest {
  explicit ParsedRequest(std::string text)
      : bytes(std::move(text)), result(parse_request_head(bytes, head)) {}
  ParsedRequest(const ParsedRequest&) = delete;

  ErrorKind error() const { return result ? ErrorKind::none : result.error().kind; }

  std::string bytes;
  RequestHead head;
  Result<void> result;
};

struct ParsedResponse {
  explicit ParsedResponse(std::string text)
      : bytes(std::move(text)), result(parse_response_head(bytes, head)) {}
  ParsedResponse(const ParsedResponse&) = delete;

  ErrorKind error() const { return result ? ErrorKind::none : result.error().kind; }

  std::string bytes;
  ResponseHead head;
  Result<void> result;
};

// A GET for "/" with a Host and these lines, each with its CRLF.
inline std::string get_with(std::string_view lines) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

inline std::string post_with(std::string_view lines) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

inline std::string ok_with(std::string_view lines) {
  return "HTTP/1.1 200 OK\r\n" + std::string(lines) + "\r\n";
}

// What a request comes to when everything up to its framing is looked at: `none` if it is accepted.
inline ErrorKind request_error(const std::string& bytes) {
  HeadScanner scanner(ScanRole::request, ScanBounds::of(Limits{}));
  const Scan scan = scanner.scan(bytes);
  if (scan.event == ScanEvent::refused) return scan.error;
  if (scan.event == ScanEvent::need_more) return ErrorKind::request_timeout;
  RequestHead head;
  if (auto parsed = parse_request_head(scan.head(bytes), head); !parsed) return parsed.error().kind;
  const auto framing = request_framing(head);
  return framing ? ErrorKind::none : framing.error().kind;
}

}  // namespace hushgate::http::testing
