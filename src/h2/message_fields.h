// The rules that hold for the fields of every HTTP/2 message (RFC 9113 section 8.2), and the text
// that says "too large" in the inner form. Internal to message_*.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "h2/block.h"
#include "http/fields.h"
#include "http/framing.h"

namespace hushgate::h2 {

inline bool is_pseudo(std::string_view name) { return name.starts_with(':'); }

// A token without capitals.
bool is_lower_token(std::string_view name);

// No control character but HTAB, and no blank around it (section 8.2.1).
inline bool is_clean_value(std::string_view value) {
  if (value.empty()) return true;
  return !http::is_blank(value.front()) && !http::is_blank(value.back()) &&
         http::is_field_value(value);
}

// What the regular fields of a message say about it.
struct FieldFacts {
  http::FramingInputs framing;  // of content-length
  std::string_view host;        // the null pointer: none came
  bool te_trailers = false;
  bool trailer = false;  // a Trailer field: trailers are announced
  bool has_odd = false;  // one of host, te, http2-settings: not for the inner form as it is
  std::size_t cookies = 0;

  // False: the message is malformed. Its value is_clean_value().
  bool add(const Block::Field& field);
  bool has_length() const { return framing.length_field == http::LengthField::valid; }
  bool faulty_length() const {
    return framing.length_field == http::LengthField::malformed ||
           framing.length_field == http::LengthField::repeated;
  }
};

// For the inner form with other values, or not at all.
inline bool is_odd(http::FieldId id) {
  return id == http::FieldId::host || id == http::FieldId::te ||
         id == http::FieldId::http2_settings;
}

inline bool is_cookie(std::string_view name) { return name == "cookie"; }

// Appends field text that no head of `max_bytes` can hold: whoever scans it refuses the head.
void append_too_much(std::size_t max_bytes, std::string& out);

}  // namespace hushgate::h2
