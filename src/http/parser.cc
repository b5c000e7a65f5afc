#include "http/parser.h"

#include <cstring>

#include "http/digest.h"
#include "http/target.h"

namespace hushgate::http {

namespace {

// Cuts a line off the front of `rest`; nullopt if its bytes up to the first control character (HTAB
// is none here) are not followed by CRLF.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const char* const begin = rest.data();
  const char* const end = begin + rest.size();
  const char* const at = find_control(begin, end);
  if (end - at < 2 || at[0] != '\r' || at[1] != '\n') return std::nullopt;
  const auto length = static_cast<std::size_t>(at - begin);
  rest.remove_prefix(length + 2);
  return std::string_view(begin, length);
}

// "HTTP/" DIGIT "." DIGIT
Result<Version> parse_version(std::string_view text) {
  const bool well_formed = text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) &&
                           text[6] == '.' && is_digit(text[7]);
  if (!well_formed) return fail(ErrorKind::bad_request);
  if (text[5] != '1') return fail(ErrorKind::version_not_supported);
  return text[7] == '0' ? Version::http10 : Version::http11;
}

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
  if (line.size() > kStatusEnd) head.reason = line.substr(kStatusEnd + 1);
  return {};
}

// field-name ":" OWS field-value OWS
bool parse_field_line(std::string_view line, Field& field) {
  std::size_t colon = 0;
  while (colon < line.size() && is_tchar(line[colon])) ++colon;
  if (colon == 0 || colon == line.size() || line[colon] != ':') return false;
  field.name = line.substr(0, colon);
  field.value = trim_blanks(line.substr(colon + 1));
  field.id = classify_field(field.name);
  return true;
}

}  // namespace

Result<void> parse_field_lines(std::string_view bytes, FieldList& out) {
  while (true) {
    const auto line = take_line(bytes);
    if (!line) return fail(ErrorKind::bad_request);
    if (line->empty()) break;
    if (!parse_field_line(*line, out.emplace_back())) {
      out.pop_back();
      return fail(ErrorKind::bad_request);
    }
  }
  if (!bytes.empty()) return fail(ErrorKind::bad_request);
  return {};
}

Result<void> parse_request_head(std::string_view bytes, RequestHead& out) {
  out.clear();
  const auto line = take_line(bytes);
  if (!line) return fail(ErrorKind::bad_request);
  if (auto parsed = parse_request_line(*line, out); !parsed) return parsed;
  if (auto parsed = parse_field_lines(bytes, out.fields); !parsed) return parsed;
  return digest_request(out);
}

Result<void> parse_response_head(std::string_view bytes, ResponseHead& out) {
  out.clear();
  const auto line = take_line(bytes);
  if (!line) return fail(ErrorKind::http_protocol_error);
  if (auto parsed = parse_status_line(*line, out); !parsed) return parsed;
  if (!parse_field_lines(bytes, out.fields)) return fail(ErrorKind::http_protocol_error);
  if (!digest_response(out)) return fail(ErrorKind::http_protocol_error);
  return {};
}

}  // namespace hushgate::http
