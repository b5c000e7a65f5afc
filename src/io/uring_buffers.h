// The buffers that a ring receives into, shared by all streams. For uring*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "io/uring_ring.h"

namespace hushgate::io {

// A part of a buffer that a receive has filled. Buffers go back to the kernel when it is done with
// them and every part was given back.
class UringBuffers {
 public:
  UringBuffers() = default;
  UringBuffers(const UringBuffers&) = delete;
  UringBuffers& operator=(const UringBuffers&) = delete;
  ~UringBuffers();

  // `count`: a power of two. The ring must end first. errno, or 0.
  int make(UringRing& ring, unsigned count, std::size_t size_bytes, const UringFeatures& features);

  static constexpr std::uint16_t kGroup = 0;
  // So many are offered at first. (Each gets its turn, so all that are offered become resident.)
  static constexpr std::uint32_t kFirst = 2;

  // A receive found none: more are offered from now on.
  void grow();

  // The part that a completion with a buffer and `length` bytes speaks of; empty: there is none. To
  // be called for each one, in their order.
  MutableBytes fill(std::uint32_t buffer, std::size_t length, std::uint32_t cqe_flags);
  void give_back(std::uint32_t buffer) noexcept;

 private:
  struct Buffer {
    std::uint32_t filled = 0;  // bytes
    std::uint32_t parts = 0;   // filled and not given back
    bool kernels = false;
  };

  std::byte* memory(std::uint32_t buffer) { return memory_.get() + buffer * size_bytes_; }
  void offer(std::uint32_t buffer) noexcept;

  std::size_t size_bytes_ = 0;
  bool incremental_ = false;
  io_uring_buf_ring* ring_ = nullptr;
  std::size_t ring_bytes_ = 0;
  int mask_ = 0;
  std::uint32_t offered_ = 0;  // the first ones, of buffers_
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Buffer> buffers_;
};

}  // namespace hushgate::io
