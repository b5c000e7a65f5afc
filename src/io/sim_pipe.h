// The bytes of one direction of a simulated connection, from their acceptance by the sender's
// kernel until they are read. Positions in the stream only grow:
// read <= arrived <= sent <= accepted, and acknowledged <= arrived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "base/bytes.h"

namespace hushgate::io {

class SimPipe {
 public:
  // The sender's: not sent yet; sent and not acknowledged; both together.
  std::size_t unsent() const { return static_cast<std::size_t>(accepted_ - sent_); }
  std::size_t in_flight() const { return static_cast<std::size_t>(sent_ - acknowledged_); }
  std::size_t unacknowledged() const { return static_cast<std::size_t>(accepted_ - acknowledged_); }
  // The receiver's.
  std::size_t unread() const { return static_cast<std::size_t>(arrived_ - read_); }

  void accept(Bytes bytes) {
    if (gone_ > bytes_.size() / 2) {
      bytes_.erase(0, gone_);
      gone_ = 0;
    }
    bytes_ += as_text(bytes);
    accepted_ += bytes.size();
  }
  void send(std::size_t size) { sent_ += size; }
  void arrive(std::size_t size) {
    arrived_ += size;
    HG_ASSERT(arrived_ <= sent_);
  }
  void acknowledge(std::size_t size) {
    acknowledged_ += size;
    HG_ASSERT(acknowledged_ <= arrived_);
  }
  std::size_t read(MutableBytes out) {
    const std::size_t size = std::min(out.size(), unread());
    if (size > 0) std::memcpy(out.data(), bytes_.data() + gone_, size);
    skip(size);
    return size;
  }
  // The receiver will read no more of what has arrived.
  void drop_unread() { skip(unread()); }
  // The sender is gone: what it has not sent never will be, and nobody waits for acknowledgements.
  void drop_unsent() {
    bytes_.resize(bytes_.size() - unsent());
    accepted_ = sent_;
    acknowledged_ = sent_;
  }

 private:
  void skip(std::size_t size) {
    gone_ += size;
    read_ += size;
  }

  std::string bytes_;  // from read_ to accepted_, behind gone_ bytes that have been read
  std::size_t gone_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace hushgate::io
