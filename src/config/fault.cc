#include "config/fault.h"

#include <algorithm>
#include <tuple>

namespace hushgate::config {

std::string Place::to_string() const {
  switch (source) {
    case Source::built_in: return "defaults";
    case Source::environment: return "environment " + name;
    case Source::command_line: return name.empty() ? "command line" : "command line " + name;
    case Source::file: break;
  }
  if (position.line == 0) return name;
  return name + ':' + std::to_string(position.line) + ':' + std::to_string(position.column);
}

void sort(Faults& faults) {
  std::ranges::sort(faults, {}, [](const Fault& fault) {
    return std::tie(fault.place.source, fault.place.position, fault.place.name, fault.text);
  });
}

std::string quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxQuotedBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  if (text.size() > kMaxQuotedBytes) out += "...";
  return out + '"';
}

}  // namespace hushgate::config
