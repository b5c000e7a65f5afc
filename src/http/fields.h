// Fields of a head or a trailer section: name, value, and which of the names that matter to a
// gateway it is. A Field is two views into the bytes it was parsed from; whoever owns those bytes
// keeps them as long as the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "http/text.h"

namespace hushgate::http {

// The names hushgate acts on. Everything else is `other` and is forwarded as it came.
enum class FieldId : std::uint8_t {
  other,
  connection,
  keep_alive,
  proxy_connection,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  http2_settings,
  content_length,
  expect,
  host,
  max_forwards,
  via,
  forwarded,
  x_forwarded_for,
  x_forwarded_proto,
  x_forwarded_host,
  x_request_id,
  x_client_cert_subject,
  date,
  server,
  proxy_authenticate,
  proxy_authorization,
};

// Without case. `name`: a token.
FieldId classify_field(std::string_view name);

struct Field {
  std::string_view name;   // a token, in the case it was written in
  std::string_view value;  // without the blanks around it; no control characters but HTAB
  FieldId id = FieldId::other;
  bool named_by_connection =
      false;  // a Connection option of the same head names it (RFC 9110 section 7.6.1)

  friend bool operator==(const Field&, const Field&) = default;
};

// Kept and reused: clear() keeps the capacity, so that parsing allocates nothing once warm. Its
// length is bounded by max_headers through the HeadScanner.
using FieldList = std::vector<Field>;

// A set of ids in one word.
class FieldIdSet {
 public:
  constexpr FieldIdSet(std::initializer_list<FieldId> ids) {
    for (const FieldId id : ids) bits_ |= bit(id);
  }
  constexpr bool contains(FieldId id) const { return (bits_ & bit(id)) != 0; }

 private:
  static constexpr std::uint64_t bit(FieldId id) {
    return std::uint64_t{1} << static_cast<unsigned>(id);
  }
  std::uint64_t bits_ = 0;
};

// The first field with this id, or null.
const Field* find_field(const FieldList& fields, FieldId id);

// The first field with this name (without case), or null. For names that have no id.
const Field* find_field(const FieldList& fields, std::string_view name);

// True for field-vchar, SP and HTAB throughout (RFC 9110 section 5.5); obs-text 0x80 to 0xFF is
// allowed.
inline bool is_field_value(std::string_view value) {
  const char* end = value.data() + value.size();
  return find_control(value.data(), end) == end;
}

// The elements of a comma separated list (RFC 9110 section 5.6.1) whose elements hold no quoted
// commas: blanks around them are removed, empty elements are delivered too.
//   for (TokenList list(value); auto element = list.next();) ...
class TokenList {
 public:
  explicit TokenList(std::string_view value) : rest_(value) {}
  std::optional<std::string_view> next();

 private:
  std::string_view rest_;
  bool ended_ = false;
};

// True if some Via element was received by `token` (RFC 9110 section 7.6.3), compared without case:
// a loop.
bool via_names(const FieldList& fields, std::string_view token);

}  // namespace hushgate::http
