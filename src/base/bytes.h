// Views of bytes. HTTP/1 heads are text to us (std::string_view), bodies are bytes; both are the
// same memory.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace hushgate {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace hushgate
