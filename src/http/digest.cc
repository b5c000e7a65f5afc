#include "http/digest.h"

#include <algorithm>
#include <array>
#include <limits>

#include "http/target.h"

namespace hushgate::http {

namespace {

// Marks what a Connection option names. Framing and everything hushgate writes itself is not
// removed because of such a mark (http/rewrite.cc).
void mark_named(FieldList& fields, std::string_view option) {
  for (Field& field : fields) {
    if (equals_ignoring_case(field.name, option)) field.named_by_connection = true;
  }
}

void add_option(ConnectionOptions& connection, FieldList& fields, std::string_view option) {
  if (option.empty()) return;
  if (!is_token(option) || equals_lower(option, "close")) {
    connection.close = true;
  } else if (equals_lower(option, "keep-alive")) {
    connection.keep_alive = true;
  } else if (equals_lower(option, "upgrade")) {
    connection.upgrade = true;
  } else if (equals_lower(option, "te")) {
    connection.te = true;
  } else {
    mark_named(fields, option);
  }
}

// `options` counts over all Connection fields of a head.
Result<void> add_connection(ConnectionOptions& connection, FieldList& fields,
                            std::string_view value, std::size_t& options) {
  TokenList list(value);
  while (auto option = list.next()) {
    if (++options > kMaxConnectionOptions) return fail(ErrorKind::bad_request);
    add_option(connection, fields, *option);
  }
  return {};
}

bool names_trailers(std::string_view te) {
  TokenList list(te);
  while (auto element = list.next()) {
    if (equals_lower(*element, "trailers")) return true;
  }
  return false;
}

bool names_upgrade_protocol(std::string_view value) {
  TokenList list(value);
  while (auto element = list.next()) {
    if (is_upgrade_protocol(*element)) return true;
  }
  return false;
}

bool only_continue(std::string_view expect) {
  TokenList list(expect);
  while (auto element = list.next()) {
    if (!equals_lower(*element, "100-continue")) return false;
  }
  return true;
}

// Keep-Alive: timeout=5, max=100
std::optional<std::uint32_t> keep_alive_timeout(std::string_view value) {
  constexpr std::string_view kTimeout = "timeout=";
  TokenList list(value);
  while (auto element = list.next()) {
    if (!equals_lower(element->substr(0, kTimeout.size()), kTimeout)) continue;
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    const auto seconds = parse_decimal(element->substr(kTimeout.size()), kMax);
    if (seconds) return static_cast<std::uint32_t>(*seconds);
  }
  return std::nullopt;
}

// What is seen once per field, and judged when all have been.
struct Seen {
  std::size_t hosts = 0;
  std::size_t options = 0;
  bool expect = false;
  bool te_trailers = false;
  bool upgrade = false;
};

Result<void> add_max_forwards(RequestHead& head, std::string_view value) {
  if (head.method != Method::trace && head.method != Method::options) return {};
  if (head.max_forwards) return fail(ErrorKind::bad_request);
  if (value.empty() || !std::ranges::all_of(value, is_digit)) return fail(ErrorKind::bad_request);
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  head.max_forwards = static_cast<std::uint32_t>(parse_decimal(value, kMax).value_or(kMax));
  return {};
}

Result<void> add_host(RequestHead& head, std::string_view value, Seen& seen) {
  if (++seen.hosts > 1 || !parse_authority(value)) return fail(ErrorKind::bad_request);
  // RFC 9112 section 3.2.2: a target with an authority replaces Host.
  if (head.authority.empty()) head.authority = value;
  return {};
}

Result<void> add_field(RequestHead& head, const Field& field, Seen& seen) {
  switch (field.id) {
    case FieldId::host: return add_host(head, field.value, seen);
    case FieldId::content_length: head.framing.add_content_length(field.value); return {};
    case FieldId::transfer_encoding: head.framing.add_transfer_encoding(field.value); return {};
    case FieldId::connection:
      return add_connection(head.connection, head.fields, field.value, seen.options);
    case FieldId::te: seen.te_trailers |= names_trailers(field.value); return {};
    case FieldId::upgrade: seen.upgrade |= names_upgrade_protocol(field.value); return {};
    case FieldId::max_forwards: return add_max_forwards(head, field.value);
    case FieldId::expect:
      seen.expect = true;
      if (!only_continue(field.value)) return fail(ErrorKind::bad_request);
      return {};
    default: return {};
  }
}

}  // namespace

Result<void> digest_request(RequestHead& head) {
  Seen seen;
  for (const Field& field : head.fields) {
    if (auto added = add_field(head, field, seen); !added) return added;
  }
  const bool http11 = head.version == Version::http11;
  if (seen.hosts == 0 && http11) return fail(ErrorKind::bad_request);
  const bool body_comes = head.framing.coding != Coding::absent || head.framing.content_length > 0;
  head.expect_continue = seen.expect && body_comes && http11;
  head.te_trailers = seen.te_trailers && head.connection.te;
  head.wants_upgrade = seen.upgrade && head.connection.upgrade && http11;
  return {};
}

Result<void> digest_response(ResponseHead& head) {
  std::size_t options = 0;
  for (const Field& field : head.fields) {
    switch (field.id) {
      case FieldId::content_length: head.framing.add_content_length(field.value); break;
      case FieldId::transfer_encoding: head.framing.add_transfer_encoding(field.value); break;
      case FieldId::keep_alive:
        if (auto seconds = keep_alive_timeout(field.value)) head.keep_alive_timeout_s = seconds;
        break;
      case FieldId::connection: {
        auto added = add_connection(head.connection, head.fields, field.value, options);
        if (!added) return added;
        break;
      }
      default: break;
    }
  }
  return {};
}

bool is_upgrade_protocol(std::string_view element) {
  const std::string_view name = element.substr(0, element.find('/'));
  return is_token(name) && !equals_lower(name, "h2c");
}

}  // namespace hushgate::http
