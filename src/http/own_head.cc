#include "http/own_head.h"

#include <cstring>
#include <optional>

#include "http/digest.h"
#include "http/start_line.h"
#include "http/text.h"

namespace hushgate::http {

namespace {

// Cuts a line off the front of `rest`; nullopt if its end is missing.
std::optional<std::string_view> cut_line(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const void* const lf = std::memchr(rest.data(), '\n', rest.size());
  if (lf == nullptr) return std::nullopt;
  const auto size = static_cast<std::size_t>(static_cast<const char*>(lf) - rest.data());
  const std::string_view line = rest.substr(0, size - 1);
  rest.remove_prefix(size + 1);
  return line;
}

// False if the empty line behind them is missing.
bool cut_fields(std::string_view& rest, FieldList& fields) {
  while (const auto line = cut_line(rest)) {
    if (line->empty()) return true;
    const std::size_t colon = line->find(':');
    Field& field = fields.emplace_back();
    field.name = line->substr(0, colon);
    field.value = trim_blanks(line->substr(colon + 1));
    field.id = classify_field(field.name);
  }
  return false;
}

template <typename Head>
using Parse = Result<void> (*)(std::string_view line, Head& head);

template <typename Head>
Result<std::size_t> read(std::string_view text, Head& out, Parse<Head> parse_line,
                         Result<void> (*digest)(Head&)) {
  out.clear();
  std::string_view rest = text;
  const auto line = cut_line(rest);
  if (!line) return 0;
  if (auto parsed = parse_line(*line, out); !parsed) return std::unexpected(parsed.error());
  if (!cut_fields(rest, out.fields)) return 0;
  if (auto digested = digest(out); !digested) return std::unexpected(digested.error());
  return text.size() - rest.size();
}

}  // namespace

Result<std::size_t> read_own_request_head(std::string_view text, RequestHead& out) {
  return read(text, out, parse_request_line, digest_request);
}

Result<std::size_t> read_own_response_head(std::string_view text, ResponseHead& out) {
  return read(text, out, parse_status_line, digest_response);
}

}  // namespace hushgate::http
