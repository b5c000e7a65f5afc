#include "bench/load/head.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace hushgate::bench {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

bool next_head(std::string& kept, std::string_view& bytes, std::string_view& head) {
  if (kept.empty()) {
    const std::size_t end = bytes.find(kEnd);
    if (end != std::string_view::npos) {
      head = bytes.substr(0, end + kEnd.size());
      bytes.remove_prefix(head.size());
      return true;
    }
  }
  const std::size_t before = kept.size();
  kept += bytes;
  const std::size_t end = kept.find(kEnd, before < 3 ? 0 : before - 3);
  if (end == std::string::npos) {
    bytes = {};
    return false;
  }
  kept.resize(end + kEnd.size());
  bytes.remove_prefix(kept.size() - before);
  head = kept;
  return true;
}

std::string_view field_value(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at + 4 < head.size(); at = head.find("\r\n", at)) {
    at += 2;
    const std::size_t colon = at + name.size();
    if (colon >= head.size() || head[colon] != ':' || !same(head.substr(at, name.size()), name))
      continue;
    std::string_view value = head.substr(colon + 1, head.find("\r\n", colon) - colon - 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    return value;
  }
  return {};
}

bool field_holds(std::string_view head, std::string_view name, std::string_view word) {
  const std::string_view value = field_value(head, name);
  for (std::size_t at = 0; at + word.size() <= value.size(); ++at) {
    if (same(value.substr(at, word.size()), word)) return true;
  }
  return false;
}

BodyCounter BodyCounter::of(std::string_view head) {
  BodyCounter body;
  const std::string_view length = field_value(head, "content-length");
  if (!length.empty()) {
    std::from_chars(length.data(), length.data() + length.size(), body.left_);
  } else {
    body.chunked_ = field_holds(head, "transfer-encoding", "chunked");
  }
  body.done_ = !body.chunked_ && body.left_ == 0;
  return body;
}

std::size_t BodyCounter::take(std::string_view bytes) {
  std::size_t taken = 0;
  while (!done_ && taken < bytes.size()) {
    if (chunked_ && !in_data_) {
      taken += take_line(bytes.substr(taken));
      continue;
    }
    const std::size_t piece = std::min<std::uint64_t>(left_, bytes.size() - taken);
    taken += piece;
    left_ -= piece;
    if (left_ > 0) break;
    in_data_ = false;
    done_ = !chunked_;
  }
  return taken;
}

// A chunk's line, or one of the lines behind the last chunk.
std::size_t BodyCounter::take_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  line_ += bytes.substr(0, taken);
  if (end == std::string_view::npos) return taken;
  if (last_) {
    done_ = line_ == "\r\n";
  } else {
    std::uint64_t size = 0;
    std::from_chars(line_.data(), line_.data() + line_.size(), size, 16);
    last_ = size == 0;
    in_data_ = !last_;
    left_ = size + 2;
  }
  line_.clear();
  return taken;
}

}  // namespace hushgate::bench
