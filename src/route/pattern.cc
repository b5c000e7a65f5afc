#include "route/pattern.h"

#include <algorithm>
#include <cstddef>

namespace hushgate::route {
namespace {

constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Segment { empty, dot, dot_dot, name };

Segment segment_kind(std::string_view segment) {
  if (segment.empty()) return Segment::empty;
  if (segment.front() != '.') return Segment::name;
  const std::string_view bare = segment.substr(0, segment.find(';'));
  if (bare == ".") return Segment::dot;
  if (bare == "..") return Segment::dot_dot;
  return Segment::name;
}

}  // namespace

bool covers(std::string_view pattern, std::string_view path) {
  if (!path.starts_with(pattern)) return false;
  return path.size() == pattern.size() || pattern.ends_with('/') || path[pattern.size()] == '/';
}

bool is_plain(std::string_view path) {
  bool after_slash = false;
  for (const char c : path) {
    const bool slash = c == '/';
    if (c == '%' || c == '\\' || c == '#' || c == '\0') return false;
    if (after_slash && (slash || c == '.')) return false;
    after_slash = slash;
  }
  return true;
}

std::string percent_decoded(std::string_view path) {
  std::string decoded;
  decoded.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const int high = path[i] == '%' && i + 2 < path.size() ? hex_digit(path[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(path[i + 2]) : -1;
    if (low < 0) {
      decoded += path[i];
      continue;
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

Normalized normalized(std::string_view path) {
  Normalized result;
  std::string& out = result.path;
  out.reserve(path.size() + 1);
  Segment last = Segment::name;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find_first_of("/\\", begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    last = segment_kind(segment);
    if (last == Segment::name) {
      out += '/';
      out += segment;
    } else if (last == Segment::dot_dot) {
      if (out.empty())
        result.climb = Climb::above_root;
      else
        out.erase(out.rfind('/'));
    }
    begin = end + 1;
  }
  if (last != Segment::name) out += '/';
  return result;
}

}  // namespace hushgate::route
