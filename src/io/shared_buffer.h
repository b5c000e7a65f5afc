// The receive buffer of a backend that reads when it is asked to: there is one for all streams, so
// an idle connection holds none and at most one lease is alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.h"
#include "base/bytes.h"
#include "io/stream.h"

namespace hushgate::io {

class SharedBuffer final : public Lender {
 public:
  explicit SharedBuffer(std::size_t size)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}

  MutableBytes bytes() { return {bytes_.get(), size_}; }
  bool lent() const { return lent_; }
  Lease lend(std::size_t length) {
    HG_ASSERT(!lent_);
    lent_ = true;
    return Lease(*this, 0, Bytes(bytes_.get(), length));
  }
  void give_back(std::uint32_t) noexcept override { lent_ = false; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_;
  bool lent_ = false;
};

}  // namespace hushgate::io
