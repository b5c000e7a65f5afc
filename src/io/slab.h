// Slots that never move, named by number. A kernel that answers late speaks of a slot by number and
// generation (token.h), never by pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.h"

namespace hushgate::io {

// T is default-constructed once per slot and used again and again; it resets itself. Memory grows
// with the largest number of slots that were in use at once (bounded by the process's descriptors)
// and is not given back.
template <typename T>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  std::uint32_t acquire() {
    if (free_.empty()) grow();
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void release(std::uint32_t slot) { free_.push_back(slot); }

  T& operator[](std::uint32_t slot) {
    HG_ASSERT(slot < capacity());
    return chunks_[slot / kChunk][slot % kChunk];
  }
  std::size_t capacity() const { return chunks_.size() * kChunk; }
  std::size_t in_use() const { return capacity() - free_.size(); }

 private:
  static constexpr std::uint32_t kChunk = 64;

  void grow() {
    const auto first = static_cast<std::uint32_t>(capacity());
    chunks_.push_back(std::make_unique<T[]>(kChunk));
    for (std::uint32_t i = kChunk; i > 0; --i) free_.push_back(first + i - 1);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace hushgate::io
