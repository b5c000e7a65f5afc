// A stream's way out: pieces into records, records to the stream below, and what it has no room for
// into a queue of the stream's own.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "tls/openssl.h"
#include "tls/server_context.h"
#include "tls/stream.h"

namespace hushgate::tls {
namespace {

// Records for kWriteBytes and what a handshake, alerts and answers to key updates may add.
constexpr std::size_t kMaxPendingBytes = 4 * kWriteBytes;

}  // namespace

// The pieces of a write, and how far it has come.
class Stream::Pieces {
 public:
  explicit Pieces(std::span<const Bytes> pieces) : rest_(pieces) {
    for (const Bytes& piece : pieces) left_ += piece.size();
    skip_empty();
  }

  std::size_t left() const { return left_; }
  std::size_t taken() const { return taken_; }
  Bytes front() const { return rest_.front().subspan(within_); }
  bool is_last() const { return front().size() == left_; }
  void advance(std::size_t size) {
    within_ += size;
    left_ -= size;
    taken_ += size;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (!rest_.empty() && within_ == rest_.front().size()) {
      rest_ = rest_.subspan(1);
      within_ = 0;
    }
  }

  std::span<const Bytes> rest_;
  std::size_t within_ = 0;
  std::size_t left_ = 0;
  std::size_t taken_ = 0;
};

bool Stream::has_room() {
  if (pending() > 0) flush_pending();
  return pending() == 0 && inner_->writable();
}

Result<std::size_t> Stream::write(std::span<const Bytes> pieces) {
  HG_ASSERT(state_ != State::finishing && !has(kFinAsked) && pieces.size() <= kMaxPieces);
  if (state_ == State::handshake) return 0;
  if (failed()) return hushgate::fail(ErrorKind::connection_terminated, error_);
  if (inner_->failed()) {
    inner_failed();
    return hushgate::fail(ErrorKind::connection_terminated, error_);
  }
  Pieces rest(pieces);
  if (state_ == State::ended && rest.left() > 0) wrote_behind_end_ = true;
  while (rest.left() > 0 && has_room()) {
    if (!encrypt(rest)) return hushgate::fail(ErrorKind::connection_terminated, error_);
  }
  if (failed()) return hushgate::fail(ErrorKind::connection_terminated, error_);
  if (rest.left() > 0 || pending() > 0 || !inner_->writable()) clear(kWritable);
  return rest.taken();
}

// Up to kWriteBytes into records, and these to the stream below. Big pieces are encrypted where
// they lie, small ones are gathered: a head and its body's start are one record.
bool Stream::encrypt(Pieces& pieces) {
  std::size_t budget = kWriteBytes;
  while (budget > 0 && pieces.left() > 0) {
    const Bytes front = pieces.front();
    std::size_t size = 0;
    if (pieces.is_last()) {
      size = std::min(front.size(), budget);
    } else if (front.size() >= kRecordBytes) {
      size = std::min(front.size() - front.size() % kRecordBytes, budget);
    }
    if (size > 0) {
      if (!encrypt_record(front.first(size))) return false;
      pieces.advance(size);
    } else {
      const MutableBytes room = scratch_.gather().first(std::min(kRecordBytes, budget));
      while (size < room.size() && pieces.left() > 0) {
        const std::size_t part = std::min(pieces.front().size(), room.size() - size);
        std::memcpy(room.data() + size, pieces.front().data(), part);
        pieces.advance(part);
        size += part;
      }
      if (!encrypt_record(room.first(size))) return false;
    }
    budget -= size;
    accepted_ += size;
  }
  return send_output();
}

// OpenSSL makes several records of more than kRecordBytes.
bool Stream::encrypt_record(Bytes plaintext) {
  std::size_t written = 0;
  if (SSL_write_ex(ssl_.get(), plaintext.data(), plaintext.size(), &written) != 1) {
    fail_protocol();
    return false;
  }
  HG_ASSERT(written == plaintext.size());
  return true;
}

// What OpenSSL has written goes to the stream below, what that does not take into the queue. False:
// the connection is dead.
bool Stream::send_output() {
  const Bytes output = scratch_.output();
  if (output.empty()) return true;
  if (state_ != State::handshake) sent_ += output.size();
  std::size_t gone = 0;
  if (pending() == 0) {
    const Result<std::size_t> written = inner_->write({&output, 1});
    if (!written) {
      scratch_.clear_output();
      inner_failed();
      return false;
    }
    gone = *written;
  }
  const bool kept = keep(output.subspan(gone));
  scratch_.clear_output();
  return kept;
}

bool Stream::keep(Bytes rest) {
  if (rest.empty()) return true;
  clear(kWritable);
  const std::size_t waiting = pending();
  if (waiting + rest.size() > kMaxPendingBytes) {
    fail(FailureKind::protocol, EPROTO, "the peer makes us answer and does not read the answers");
    return false;
  }
  if (pending_tail_ + rest.size() > pending_capacity_) {
    const std::size_t capacity = waiting + rest.size();
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (waiting > 0) std::memcpy(larger.get(), pending_.get() + pending_head_, waiting);
    pending_ = std::move(larger);
    pending_capacity_ = static_cast<std::uint32_t>(capacity);
    pending_head_ = 0;
    pending_tail_ = static_cast<std::uint32_t>(waiting);
  }
  std::memcpy(pending_.get() + pending_tail_, rest.data(), rest.size());
  pending_tail_ += static_cast<std::uint32_t>(rest.size());
  return true;
}

void Stream::drop_pending() {
  pending_.reset();
  pending_head_ = pending_tail_ = pending_capacity_ = 0;
}

void Stream::flush_pending() {
  if (pending() > 0 && inner_->writable()) {
    const Bytes bytes{pending_.get() + pending_head_, pending()};
    const Result<std::size_t> written = inner_->write({&bytes, 1});
    if (!written) return inner_failed();
    pending_head_ += static_cast<std::uint32_t>(*written);
    if (pending() == 0) drop_pending();
  }
  if (pending() > 0 && inner_->failed()) return inner_failed();
  if (pending() > 0) return;
  send_fin_when_sent();
  const bool can_write = state_ == State::open || state_ == State::ended;
  if (can_write && !has(kFinAsked) && !failed() && inner_->writable()) flags_ |= kWritable;
}

void Stream::finish_writing() {
  HG_ASSERT(state_ != State::finishing && !connecting());
  if (has(kFinAsked)) return;
  flags_ |= kFinAsked;
  const bool can_write = state_ == State::open || state_ == State::ended;
  if (can_write && !failed()) {
    SSL_shutdown(ssl_.get());
    if (!send_output()) return wake();
  }
  send_fin_when_sent();
}

void Stream::send_fin_when_sent() {
  if (!has(kFinAsked) || has(kFinSent) || pending() > 0 || inner_->failed()) return;
  flags_ |= kFinSent;
  inner_->finish_writing();
}

// Of the records' bytes that were not acknowledged yet, the share that is plaintext. It never grows
// without a write, so that progress is not taken back.
std::size_t Stream::unacknowledged() {
  const std::size_t waiting = pending() + inner_->unacknowledged();
  std::uint64_t open = 0;
  if (waiting > 0 && sent_ > 0) {
    const double share = static_cast<double>(accepted_) / static_cast<double>(sent_);
    open = static_cast<std::uint64_t>(static_cast<double>(waiting) * share) + 1;
  }
  acknowledged_ = std::max(acknowledged_, accepted_ - std::min(accepted_, open));
  return static_cast<std::size_t>(accepted_ - acknowledged_);
}

}  // namespace hushgate::tls
