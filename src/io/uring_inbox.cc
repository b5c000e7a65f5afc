#include "io/uring_inbox.h"

#include <cstring>
#include <utility>

#include "base/assert.h"

namespace hushgate::io {

void UringStore::push(UringInbox& inbox, std::uint32_t buffer, MutableBytes bytes) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(pieces_.size()));
    pieces_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Piece& piece = pieces_[index];
  piece.buffer = buffer;
  piece.next = UringInbox::kNone;
  piece.bytes = bytes;
  (inbox.empty() ? inbox.first : pieces_[inbox.last].next) = index;
  inbox.last = index;
  inbox.bytes += static_cast<std::uint32_t>(bytes.size());
}

std::uint32_t UringStore::unlink_first(UringInbox& inbox) {
  HG_ASSERT(!inbox.empty());
  const std::uint32_t index = inbox.first;
  inbox.first = pieces_[index].next;
  if (inbox.empty()) inbox.last = UringInbox::kNone;
  inbox.bytes -= static_cast<std::uint32_t>(pieces_[index].bytes.size());
  free_.push_back(index);
  return index;
}

Lease UringStore::take(UringInbox& inbox) {
  HG_ASSERT(!std::exchange(lent_, true));
  Piece& piece = pieces_[unlink_first(inbox)];
  lent_copy_ = std::move(piece.copy);
  return Lease(*this, piece.buffer, piece.bytes);
}

Lease UringStore::lend(std::unique_ptr<std::byte[]> bytes, std::size_t length) {
  HG_ASSERT(!std::exchange(lent_, true));
  lent_copy_ = std::move(bytes);
  return Lease(*this, kCopied, Bytes(lent_copy_.get(), length));
}

void UringStore::give_back(std::uint32_t buffer) noexcept {
  lent_ = false;
  if (buffer != kCopied) return buffers_.give_back(buffer);
  lent_copy_.reset();
}

void UringStore::copy_out(UringInbox& inbox) {
  for (std::uint32_t index = inbox.first; index != UringInbox::kNone;) {
    Piece& piece = pieces_[index];
    index = piece.next;
    if (piece.buffer == kCopied) continue;
    piece.copy = std::make_unique_for_overwrite<std::byte[]>(piece.bytes.size());
    std::memcpy(piece.copy.get(), piece.bytes.data(), piece.bytes.size());
    piece.bytes = {piece.copy.get(), piece.bytes.size()};
    buffers_.give_back(std::exchange(piece.buffer, kCopied));
  }
}

void UringStore::clear(UringInbox& inbox) {
  while (!inbox.empty()) {
    Piece& piece = pieces_[unlink_first(inbox)];
    piece.copy.reset();
    if (piece.buffer != kCopied) buffers_.give_back(piece.buffer);
  }
}

}  // namespace hushgate::io
