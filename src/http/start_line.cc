#include "http/start_line.h"

#include "http/target.h"
#include "http/text.h"

namespace hushgate::http {

namespace {

// "HTTP/" DIGIT "." DIGIT
Result<Version> parse_version(std::string_view text) {
  const bool well_formed = text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) &&
                           text[6] == '.' && is_digit(text[7]);
  if (!well_formed) return fail(ErrorKind::bad_request);
  if (text[5] != '1') return fail(ErrorKind::version_not_supported);
  return text[7] == '0' ? Version::http10 : Version::http11;
}

}  // namespace

Result<void> parse_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return fail(ErrorKind::bad_request);
  const std::string_view method = line.substr(0, first);
  if (method.size() > kMaxMethodBytes || !is_token(method)) return fail(ErrorKind::bad_request);
  const auto version = parse_version(line.substr(last + 1));
  if (!version) return std::unexpected(version.error());
  head.method_text = method;
  head.method = method_of(method);
  head.version = *version;
  if (method == "PRI") return fail(ErrorKind::bad_request);  // RFC 9113 section 3.4
  return parse_target(line.substr(first + 1, last - first - 1), head);
}

// "HTTP/1." DIGIT SP 3DIGIT [ SP reason-phrase ]
Result<void> parse_status_line(std::string_view line, ResponseHead& head) {
  constexpr std::size_t kStatusEnd = 12;
  if (line.size() < kStatusEnd || line[8] != ' ') return fail(ErrorKind::http_protocol_error);
  const auto version = parse_version(line.substr(0, 8));
  const auto status = parse_decimal(line.substr(9, 3), 599);
  if (!version || !status || *status < 100) return fail(ErrorKind::http_protocol_error);
  if (line.size() > kStatusEnd && line[kStatusEnd] != ' ') {
    return fail(ErrorKind::http_protocol_error);
  }
  head.version = *version;
  head.status = static_cast<std::uint16_t>(*status);
  head.status_text = line.substr(9, 3);
  if (line.size() > kStatusEnd) head.reason = line.substr(kStatusEnd + 1);
  return {};
}

}  // namespace hushgate::http
