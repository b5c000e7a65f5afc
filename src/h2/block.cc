#include "h2/block.h"

#include <algorithm>

#include "http/text.h"

namespace hushgate::h2 {

template <typename CopyName>
bool Block::add_line(std::string_view name, std::string_view value, CopyName copy_name) {
  const std::size_t before = text_.size();
  const std::size_t size = name.size() + value.size() + kLineBytes;
  if (overflowed_ || size > max_bytes_ - before) {
    overflowed_ = true;
    return false;
  }
  // The size that is handed in may be a grown capacity.
  text_.resize_and_overwrite(before + size, [&](char* data, std::size_t) {
    char* at = data + before;
    copy_name(at);
    at += name.size();
    *at++ = ':';
    *at++ = ' ';
    at += value.copy(at, value.size());
    *at++ = '\r';
    *at++ = '\n';
    return before + size;
  });
  entries_.push_back({static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size())});
  return true;
}

bool Block::add(std::string_view name, std::string_view value) {
  return add_line(name, value, [&](char* to) { name.copy(to, name.size()); });
}

bool Block::add_lowered(std::string_view name, std::string_view value) {
  return add_line(name, value, [&](char* to) { std::ranges::transform(name, to, http::to_lower); });
}

std::string_view Block::find(std::string_view name) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Field field = (*this)[i];
    if (field.name == name) return field.value;
  }
  return {};
}

void Block::clear() {
  text_.clear();
  entries_.clear();
  if (text_.capacity() > kKeptBytes) text_.shrink_to_fit();
  if (entries_.capacity() > kKeptFields) entries_.shrink_to_fit();
  overflowed_ = false;
}

}  // namespace hushgate::h2
