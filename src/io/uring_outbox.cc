#include "io/uring_outbox.h"

#include <cstring>
#include <utility>

namespace hushgate::io {

MutableBytes UringOutbox::extend(Part& part, std::size_t more) {
  const bool last = part.length > 0 && part.begin + part.length == used_;
  const std::size_t again = last ? 0 : part.length;
  if (used_ + again + more > kBytes) return {};
  if (!last) {
    std::memcpy(memory_.get() + used_, memory_.get() + part.begin, part.length);
    part.begin = static_cast<std::uint32_t>(used_);
    used_ += part.length;
  }
  part.length += static_cast<std::uint32_t>(more);
  const MutableBytes room{memory_.get() + used_, more};
  used_ += more;
  return room;
}

std::unique_ptr<std::byte[]> UringBlocks::get() {
  if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kBytes);
  std::unique_ptr<std::byte[]> block = std::move(spare_.back());
  spare_.pop_back();
  return block;
}

void UringBlocks::put(std::unique_ptr<std::byte[]> block) {
  if (block && spare_.size() < kMaxSpare) spare_.push_back(std::move(block));
}

}  // namespace hushgate::io
