// What was received and not taken yet. For uring*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "io/stream.h"
#include "io/uring_buffers.h"

namespace hushgate::io {

// A stream's, in order; the pieces are in its backend's store.
struct UringInbox {
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t bytes = 0;

  bool empty() const { return first == kNone; }
};

// Pieces of all streams' inboxes. Nothing is allocated once it has grown to what a turn brings,
// copies apart.
class UringStore final : public Lender {
 public:
  explicit UringStore(UringBuffers& buffers) : buffers_(buffers) {}

  void push(UringInbox& inbox, std::uint32_t buffer, MutableBytes bytes);
  // The inbox is not empty. At most one lease is alive.
  Lease take(UringInbox& inbox);
  // What lies in the ring's buffers moves to memory of its own, and they go back.
  void copy_out(UringInbox& inbox);
  void clear(UringInbox& inbox);

  bool lent() const { return lent_; }
  // A lease of bytes that no ring received.
  Lease lend(std::unique_ptr<std::byte[]> bytes, std::size_t length);
  void give_back(std::uint32_t buffer) noexcept override;

 private:
  static constexpr std::uint32_t kCopied = 0xFFFF'FFFF;
  struct Piece {
    std::uint32_t buffer = kCopied;
    std::uint32_t next = UringInbox::kNone;
    MutableBytes bytes{};
    std::unique_ptr<std::byte[]> copy{};
  };

  std::uint32_t unlink_first(UringInbox& inbox);

  UringBuffers& buffers_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> free_;
  std::unique_ptr<std::byte[]> lent_copy_;
  bool lent_ = false;
};

}  // namespace hushgate::io
