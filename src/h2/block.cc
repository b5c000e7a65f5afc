#include "h2/block.h"

#include "http/text.h"

namespace hushgate::h2 {

bool Block::add(std::string_view name, std::string_view value) {
  if (!begin_entry(name, value)) return false;
  bytes_.append(name);
  bytes_.append(value);
  return true;
}

bool Block::add_lowered(std::string_view name, std::string_view value) {
  if (!begin_entry(name, value)) return false;
  const std::size_t before = bytes_.size();
  const std::size_t after = before + name.size();
  bytes_.resize_and_overwrite(after, [&](char* data, std::size_t) {
    for (std::size_t i = 0; i < name.size(); ++i) data[before + i] = http::to_lower(name[i]);
    return after;  // what is handed in may be the grown capacity
  });
  bytes_.append(value);
  return true;
}

bool Block::begin_entry(std::string_view name, std::string_view value) {
  const std::size_t room = max_bytes_ - text_bytes_;
  const std::size_t size = name.size() + value.size() + kLineBytes;
  if (overflowed_ || size > room) {
    overflowed_ = true;
    return false;
  }
  text_bytes_ += size;
  entries_.push_back({static_cast<std::uint32_t>(bytes_.size()),
                      static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size())});
  return true;
}

std::string_view Block::find(std::string_view name) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Field field = (*this)[i];
    if (field.name == name) return field.value;
  }
  return {};
}

void Block::clear() {
  bytes_.clear();
  entries_.clear();
  if (bytes_.capacity() > kKeptBytes) bytes_.shrink_to_fit();
  if (entries_.capacity() > kKeptFields) entries_.shrink_to_fit();
  text_bytes_ = 0;
  overflowed_ = false;
}

}  // namespace hushgate::h2
