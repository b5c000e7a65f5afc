// A ring with its provided buffers. For uring*.cc only.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/token.h"
#include "io/uring.h"

namespace hushgate::io {

class UringRing {
 public:
  explicit UringRing(const UringOptions& options) : options_(options) {}
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;
  ~UringRing();

  bool made() const { return made_; }
  // SINGLE_ISSUER and DEFER_TASKRUN: the ring belongs to the calling thread. errno, or 0.
  int make();

  // Room for one operation; what was prepared before is submitted when there is none. The token is
  // set.
  io_uring_sqe& prepare(const Token& token);
  // Asks for the end of an operation. Its own completion is told only as a failure, under `kind`.
  void cancel(const Token& target, std::uint8_t kind);

  // Submits and waits until there is a completion or `until` has come (kNever; Time::min(): not at
  // all).
  void submit_and_wait(Time until);
  template <typename OnCompletion>
  void for_each_completion(OnCompletion&& on_completion) {
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++count;
      on_completion(*cqe);
    }
    io_uring_cq_advance(&ring_, count);
  }
  // Completions that nobody has looked at stay where they are.
  bool has_completion(const Token& token);

  static constexpr std::uint16_t kBufferGroup = 0;
  Bytes buffer(std::uint32_t id, std::size_t length) const {
    return {memory_.get() + id * options_.buffer_bytes, length};
  }
  void recycle(std::uint32_t id) noexcept;

 private:
  int make_buffers();

  UringOptions options_;
  bool made_ = false;
  io_uring ring_{};
  io_uring_buf_ring* buffer_ring_ = nullptr;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace hushgate::io
