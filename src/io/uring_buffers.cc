#include "io/uring_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {

UringBuffers::~UringBuffers() {
  if (ring_ != nullptr) ::munmap(ring_, ring_bytes_);
}

int UringBuffers::make(UringRing& ring, unsigned count, std::size_t size_bytes,
                       const UringFeatures& features) {
  HG_ASSERT(count > 0 && (count & (count - 1)) == 0);
  ring_bytes_ = count * sizeof(io_uring_buf);
  void* memory =
      ::mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  ring_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = count;
  registration.bgid = kGroup;
  registration.pad = features.incremental_buffers ? kBufferRingIncremental : std::uint16_t{0};
  if (const int error = io_uring_register_buf_ring(&ring.raw(), &registration, 0); error < 0) {
    return -error;
  }
  io_uring_buf_ring_init(ring_);
  mask_ = io_uring_buf_ring_mask(count);
  size_bytes_ = size_bytes;
  incremental_ = features.incremental_buffers;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(count * size_bytes);
  buffers_.resize(count);
  while (offered_ < std::min(count, kFirst)) offer(offered_++);
  return 0;
}

void UringBuffers::grow() {
  const auto most = static_cast<std::uint32_t>(buffers_.size());
  const std::uint32_t more = std::min(most, 2 * offered_);
  while (offered_ < more) offer(offered_++);
}

void UringBuffers::offer(std::uint32_t buffer) noexcept {
  buffers_[buffer] = {.kernels = true};
  io_uring_buf_ring_add(ring_, memory(buffer), static_cast<unsigned>(size_bytes_),
                        static_cast<unsigned short>(buffer), mask_, 0);
  io_uring_buf_ring_advance(ring_, 1);
}

MutableBytes UringBuffers::fill(std::uint32_t buffer, std::size_t length, std::uint32_t cqe_flags) {
  Buffer& at = buffers_[buffer];
  if (length == 0) {
    // Kernels differ in what they say of an incremental buffer of which nothing was taken; it stays
    // theirs. Any other one comes back.
    if (!incremental_) offer(buffer);
    return {};
  }
  HG_ASSERT(at.kernels && at.filled + length <= size_bytes_);
  const MutableBytes part{memory(buffer) + at.filled, length};
  at.filled += static_cast<std::uint32_t>(length);
  at.kernels = (cqe_flags & kCqeBufferMore) != 0;
  ++at.parts;
  return part;
}

void UringBuffers::give_back(std::uint32_t buffer) noexcept {
  Buffer& at = buffers_[buffer];
  HG_ASSERT(at.parts > 0);
  if (--at.parts == 0 && !at.kernels) offer(buffer);
}

}  // namespace hushgate::io
