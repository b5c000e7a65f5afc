#include <algorithm>
#include <array>

#include "http/head_writer.h"
#include "http/rewrite.h"

namespace hushgate::http {

namespace {

// RFC 9110 section 6.5.1: framing, routing, request modifiers, authentication, response control,
// and how content is to be read; and the hop-by-hop ones. In lower case and in order.
constexpr std::array<std::string_view, 31> kNeverTrailers = {
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-request-id",
};
static_assert(std::ranges::is_sorted(kNeverTrailers));

constexpr std::array<std::string_view, 3> kNeverPrefixes = {"if-", "proxy-", "x-forwarded-"};

constexpr std::size_t kLongestName = 17;  // of kNeverTrailers

void put_trailers(HeadWriter& writer, const FieldList& fields) {
  for (const Field& field : fields) {
    if (may_be_trailer(field.name)) writer.put_field(field);
  }
  writer.put("\r\n");
}

}  // namespace

bool may_be_trailer(std::string_view name) {
  for (const std::string_view prefix : kNeverPrefixes) {
    if (equals_lower(name.substr(0, prefix.size()), prefix)) return false;
  }
  if (name.size() > kLongestName) return true;
  std::array<char, kLongestName> lower{};
  std::ranges::transform(name, lower.begin(), to_lower);
  return !std::ranges::binary_search(kNeverTrailers, std::string_view(lower.data(), name.size()));
}

void write_trailers(std::string& out, const FieldList& fields) {
  append_written(out, field_lines_bytes(fields) + 2,
                 [&](HeadWriter& writer) { put_trailers(writer, fields); });
}

void write_last_chunk(std::string& out, const FieldList& trailers) {
  out += "0\r\n";
  write_trailers(out, trailers);
}

}  // namespace hushgate::http
