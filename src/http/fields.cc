#include "http/fields.h"

#include <cstdint>
#include <cstring>

namespace hushgate::http {

namespace {

constexpr std::uint64_t kSmall = 0x2020'2020'2020'2020;

template <typename Word>
bool same_word(const char* name, const char* lower) {
  Word a, b;
  std::memcpy(&a, name, sizeof(a));
  std::memcpy(&b, lower, sizeof(b));
  return (a | static_cast<Word>(kSmall)) == b;
}

// Of equally long texts. Setting that bit makes capitals small and leaves what else a token may
// hold of these names as it is: only letters, digits and '-' come out as one of theirs.
bool same_name(std::string_view name, std::string_view lower) {
  const std::size_t size = lower.size();
  const char* a = name.data();
  const char* b = lower.data();
  if (size < 4) return equals_lower(name, lower);
  if (size < 8) {
    return same_word<std::uint32_t>(a, b) && same_word<std::uint32_t>(a + size - 4, b + size - 4);
  }
  for (std::size_t at = 0; at + 8 < size; at += 8) {
    if (!same_word<std::uint64_t>(a + at, b + at)) return false;
  }
  return same_word<std::uint64_t>(a + size - 8, b + size - 8);
}

FieldId if_equal(std::string_view name, std::string_view lower, FieldId id) {
  return same_name(name, lower) ? id : FieldId::other;
}

FieldId either(std::string_view name, std::string_view lower_a, FieldId a, std::string_view lower_b,
               FieldId b) {
  if (same_name(name, lower_a)) return a;
  return if_equal(name, lower_b, b);
}

}  // namespace

FieldId classify_field(std::string_view name) {
  switch (name.size()) {
    case 2: return if_equal(name, "te", FieldId::te);
    case 3: return if_equal(name, "via", FieldId::via);
    case 4: return either(name, "host", FieldId::host, "date", FieldId::date);
    case 6: return either(name, "expect", FieldId::expect, "server", FieldId::server);
    case 7: return either(name, "upgrade", FieldId::upgrade, "trailer", FieldId::trailer);
    case 9: return if_equal(name, "forwarded", FieldId::forwarded);
    case 10:
      return either(name, "connection", FieldId::connection, "keep-alive", FieldId::keep_alive);
    case 12:
      return either(name, "x-request-id", FieldId::x_request_id, "max-forwards",
                    FieldId::max_forwards);
    case 14:
      return either(name, "content-length", FieldId::content_length, "http2-settings",
                    FieldId::http2_settings);
    case 15: return if_equal(name, "x-forwarded-for", FieldId::x_forwarded_for);
    case 16:
      return either(name, "x-forwarded-host", FieldId::x_forwarded_host, "proxy-connection",
                    FieldId::proxy_connection);
    case 17:
      return either(name, "transfer-encoding", FieldId::transfer_encoding, "x-forwarded-proto",
                    FieldId::x_forwarded_proto);
    case 18: return if_equal(name, "proxy-authenticate", FieldId::proxy_authenticate);
    case 19: return if_equal(name, "proxy-authorization", FieldId::proxy_authorization);
    case 21: return if_equal(name, "x-client-cert-subject", FieldId::x_client_cert_subject);
    default: return FieldId::other;
  }
}

const Field* find_field(const FieldList& fields, FieldId id) {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

const Field* find_field(const FieldList& fields, std::string_view name) {
  for (const Field& field : fields) {
    if (equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

std::optional<std::string_view> TokenList::next() {
  if (ended_) return std::nullopt;
  const std::size_t comma = rest_.find(',');
  const std::string_view element = rest_.substr(0, comma);
  if (comma == std::string_view::npos) {
    ended_ = true;
  } else {
    rest_.remove_prefix(comma + 1);
  }
  return trim_blanks(element);
}

bool via_names(const FieldList& fields, std::string_view token) {
  for (const Field& field : fields) {
    if (field.id != FieldId::via) continue;
    // Elements are `protocol received-by [comment]`. A comma in a comment only makes extra
    // elements.
    TokenList list(field.value);
    while (auto element = list.next()) {
      const std::size_t blank = element->find_first_of(" \t");
      if (blank == std::string_view::npos) continue;
      const std::string_view rest = trim_blanks(element->substr(blank));
      if (equals_ignoring_case(rest.substr(0, rest.find_first_of(" \t(")), token)) return true;
    }
  }
  return false;
}

}  // namespace hushgate::http
