// The fields of a head on their way into a header block, where they lie: in the text that is being
// written, or in constants. Names have the capitals that they have there; the encoder makes them
// small (RFC 9113 section 8.2.1).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "h2/block.h"

namespace hushgate::h2 {

class FieldViews {
 public:
  // `max_bytes`: of all names and values, with kFieldBytes per field.
  explicit FieldViews(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  static constexpr std::size_t kFieldBytes = 12;  // as nghttp2 bounds what it may become

  // Nothing more is kept once it does not fit.
  void add(std::string_view name, std::string_view value) {
    const std::size_t size = name.size() + value.size() + kFieldBytes;
    overflowed_ |= size > max_bytes_ - bytes_;
    if (overflowed_) return;
    bytes_ += size;
    fields_.push_back({name, value});
  }
  bool overflowed() const { return overflowed_; }

  std::size_t size() const { return fields_.size(); }
  const Block::Field& operator[](std::size_t index) const { return fields_[index]; }
  // The value of the first field of this name, or none's empty view with a null pointer.
  std::string_view find(std::string_view name) const {
    for (const Block::Field& field : fields_) {
      if (field.name == name) return field.value;
    }
    return {};
  }

  void clear() {  // keeps its room, within reason
    fields_.clear();
    if (fields_.capacity() > Block::kKeptFields) fields_.shrink_to_fit();
    bytes_ = 0;
    overflowed_ = false;
  }

 private:
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  bool overflowed_ = false;
  std::vector<Block::Field> fields_;
};

}  // namespace hushgate::h2
