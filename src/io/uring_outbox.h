// What streams have accepted and the kernel does not have yet. For uring*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace hushgate::io {

// A turn's small writes, of all streams, one behind the other: they are submitted together at its
// end, and the kernel has copied them (or refused to) before the submission returns.
class UringOutbox {
 public:
  static constexpr std::size_t kBytes = 256U * 1024;

  // A stream's part; empty between two turns.
  struct Part {
    std::uint32_t begin = 0;
    std::uint32_t length = 0;
  };

  UringOutbox() : memory_(std::make_unique_for_overwrite<std::byte[]>(kBytes)) {}

  Bytes bytes(const Part& part) const { return {memory_.get() + part.begin, part.length}; }
  // Room for `more` bytes behind what `part` holds (which moves when it is not the last one): where
  // they go. Empty: there is none in this turn.
  MutableBytes extend(Part& part, std::size_t more);
  // Every part was sent or taken out.
  void restart() { used_ = 0; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t used_ = 0;
};

// Blocks for what a socket had no room for.
class UringBlocks {
 public:
  static constexpr std::size_t kBytes = 16U * 1024;

  std::unique_ptr<std::byte[]> get();
  void put(std::unique_ptr<std::byte[]> block);

 private:
  static constexpr std::size_t kMaxSpare = 32;

  std::vector<std::unique_ptr<std::byte[]>> spare_;
};

}  // namespace hushgate::io
