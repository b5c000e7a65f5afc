// The text of log lines under construction: an append-only buffer whose room is asked for once per
// value, because a line is written for every exchange.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace hushgate {

class LogText {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  void clear() { size_ = 0; }

  void put(char c) {
    room(1)[0] = c;
    ++size_;
  }
  void put(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void put_number(std::uint64_t value) {
    char* const at = room(kMaxDigits);
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kMaxDigits, value).ptr - at);
  }
  // Exactly `digits` digits, with leading zeros.
  void put_padded(std::uint64_t value, std::size_t digits) {
    char* const at = room(digits);
    for (std::size_t i = digits; i > 0; --i, value /= 10) {
      at[i - 1] = static_cast<char>('0' + value % 10);
    }
    size_ += digits;
  }
  // JSON string contents (RFC 8259 section 7). Bytes outside of ASCII are escaped as Latin-1, so
  // that any peer's bytes make a valid line.
  void put_escaped(std::string_view value);

 private:
  static constexpr std::size_t kMaxDigits = 20;

  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return bytes_.get() + size_;
  }
  void grow(std::size_t bytes);

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace hushgate
