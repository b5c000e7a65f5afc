#include "http/parser.h"

#include <cstring>

#include "http/digest.h"
#include "http/start_line.h"
#include "http/text.h"

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
