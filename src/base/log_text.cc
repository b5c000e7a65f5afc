#include "base/log_text.h"

namespace hushgate {
namespace {

constexpr std::size_t kMinCapacity = 4'096;
constexpr std::string_view kHex = "0123456789abcdef";

// What stands in a JSON string as it is.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

bool is_plain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

}  // namespace

void LogText::put_escaped(std::string_view value) {
  while (!value.empty()) {
    const auto* const end = std::ranges::find_if_not(value, is_plain);
    const auto plain = static_cast<std::size_t>(end - value.begin());
    put(value.substr(0, plain));
    if (plain == value.size()) return;
    const char c = value[plain];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      put('\\');
      put(c);
    } else {
      put("\\u00");
      put(kHex[byte >> 4U]);
      put(kHex[byte & 0xFU]);
    }
    value.remove_prefix(plain + 1);
  }
}

void LogText::grow(std::size_t bytes) {
  const std::size_t capacity = std::max({kMinCapacity, capacity_ * 2, size_ + bytes});
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
  bytes_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace hushgate
