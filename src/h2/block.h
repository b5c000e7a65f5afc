// A header block as values: what HPACK has decoded, or is to encode. One lives at a time per
// connection and direction, because the frames of a block follow each other (RFC 9113 section 4.3).
// It is kept as the lines of the inner form, which most fields go into or come from unchanged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace hushgate::h2 {

class Block {
 public:
  // `max_bytes`: of all names and values, with kLineBytes per field for ": " and CRLF, which they
  // take in the inner form.
  explicit Block(std::size_t max_bytes) : max_bytes_(std::min(max_bytes, kMostBytes)) {}

  static constexpr std::size_t kLineBytes = 4;
  static constexpr std::size_t kMostBytes = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kKeptBytes = 16'384;  // by clear(), of capacity
  static constexpr std::size_t kKeptFields = 256;

  struct Field {
    std::string_view name, value;
  };

  // False, and nothing more is kept, once it does not fit: the head is too large. The views may not
  // be of this block.
  bool add(std::string_view name, std::string_view value);
  // The same, the name's capitals made small (RFC 9113 section 8.2.1).
  bool add_lowered(std::string_view name, std::string_view value);
  bool overflowed() const { return overflowed_; }

  std::size_t size() const { return entries_.size(); }
  std::size_t text_bytes() const { return text_.size(); }  // as `max_bytes` counts
  std::size_t max_bytes() const { return max_bytes_; }
  // Views are valid until the next add() or clear().
  Field operator[](std::size_t index) const {
    const Entry& entry = entries_[index];
    const char* const name = text_.data() + entry.at;
    return {{name, entry.name_size}, {name + entry.name_size + 2, entry.value_size}};
  }
  // The fields from this one on as lines of the inner form.
  std::string_view lines(std::size_t first) const {
    return first == entries_.size() ? std::string_view()
                                    : std::string_view(text_).substr(entries_[first].at);
  }
  // The value of the first field of this name, or none's empty view with a null pointer.
  std::string_view find(std::string_view name) const;

  void clear();  // keeps capacities, within reason

 private:
  // Of a line of `text_`.
  struct Entry {
    std::uint32_t at, name_size, value_size;
  };

  template <typename CopyName>
  bool add_line(std::string_view name, std::string_view value, CopyName copy_name);

  std::size_t max_bytes_;
  bool overflowed_ = false;
  std::string text_;
  std::vector<Entry> entries_;
};

}  // namespace hushgate::h2
