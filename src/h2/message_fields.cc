#include "h2/message_fields.h"

#include <algorithm>
#include <array>

namespace hushgate::h2 {

namespace {

// RFC 9110 section 5.6.2, without the capitals.
constexpr std::array<bool, 256> kLowerTchar =
    http::detail::make_set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz");

}  // namespace

bool is_lower_token(std::string_view name) {
  if (name.empty()) return false;
  bool all = true;
  for (const char c : name) all &= kLowerTchar[static_cast<unsigned char>(c)];
  return all;
}

bool FieldFacts::add(const Block::Field& field) {
  if (!is_lower_token(field.name)) return false;
  const http::FieldId id = http::classify_field(field.name);
  has_odd |= is_odd(id);
  switch (id) {
    case http::FieldId::connection:
    case http::FieldId::keep_alive:
    case http::FieldId::proxy_connection:
    case http::FieldId::transfer_encoding:
    case http::FieldId::upgrade: return false;  // section 8.2.2
    case http::FieldId::te: te_trailers = true; return http::equals_lower(field.value, "trailers");
    case http::FieldId::host:
      if (host.data() != nullptr) return false;
      host = field.value;
      return true;
    case http::FieldId::content_length: framing.add_content_length(field.value); return true;
    case http::FieldId::trailer: trailer = true; return true;
    default: cookies += is_cookie(field.name) ? 1 : 0; return true;
  }
}

void append_too_much(std::size_t max_bytes, std::string& out) { out.append(max_bytes + 1, 'x'); }

}  // namespace hushgate::h2
