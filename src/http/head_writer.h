// Appends a head to a string through a raw cursor: one growth for the whole head, plain copies
// after it. Internal to the serialisers of http/rewrite.h.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "http/digest.h"
#include "http/head.h"
#include "http/rewrite.h"

namespace hushgate::http {

class HeadWriter {
 public:
  HeadWriter(char* begin, std::size_t room) : begin_(begin), at_(begin), end_(begin + room) {}

  std::size_t written() const { return static_cast<std::size_t>(at_ - begin_); }

  void put(std::string_view text) {
    HG_ASSERT(text.size() <= static_cast<std::size_t>(end_ - at_));
    at_ += text.copy(at_, text.size());
  }

  template <typename... Texts>
  void put_all(Texts... texts) {
    (put(texts), ...);
  }

  void put_decimal(std::uint64_t value) {
    const auto [end, fault] = std::to_chars(at_, end_, value);
    HG_ASSERT(fault == std::errc{});
    at_ = end;
  }

  void put_line(std::string_view name_and_colon, std::string_view value) {
    put_all(name_and_colon, value, "\r\n");
  }

  void put_field(const Field& field) {
    // Most lines are written as they came: then the name, ": " and the value are one copy.
    const char* const gap = field.name.data() + field.name.size();
    if (field.value.data() == gap + 2 && gap[0] == ':' && gap[1] == ' ') {
      put({field.name.data(), field.name.size() + 2 + field.value.size()});
    } else {
      put_all(field.name, ": ", field.value);
    }
    put("\r\n");
  }

  // One line of the values of all fields with `id`, then `last_a` + `last_b` as one element;
  // nothing if all is empty.
  void put_joined(std::string_view name_and_colon, const FieldList& fields, FieldId id,
                  std::string_view last_a, std::string_view last_b);

  // Via with what it held, then the version the message came in and our name.
  void put_via(const FieldList& fields, Version head_version, std::string_view via_version,
               std::string_view token);

  // Content-Length or Transfer-Encoding, or nothing.
  void put_framing(const Framing& framing);

  // Upgrade with the protocols of the head's Upgrade fields, without h2c. False if there is none.
  bool put_upgrade(const FieldList& fields);

  // Connection with the option of `connection` and `extra`, whichever are not empty.
  void put_connection(ConnectionField connection, std::string_view extra);

 private:
  void put_element(std::string_view name_and_colon, bool& first, std::string_view element);

  char* begin_;
  char* at_;
  char* end_;
};

// At least the bytes that the fields take when written as lines, joined or not.
std::size_t field_lines_bytes(const FieldList& fields);

// Appends what `write(HeadWriter&)` writes; it writes at most `room` bytes.
template <typename Write>
void append_written(std::string& out, std::size_t room, Write write) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + room, [&](char* data, std::size_t) {
    HeadWriter writer(data + before, room);
    write(writer);
    return before + writer.written();
  });
}

}  // namespace hushgate::http
