// A stream's way out: small writes wait in the outbox for the turn's submission, large ones go to
// the kernel at once, and what a socket has no room for waits in a block of the stream's.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "io/uring_stream.h"

namespace hushgate::io {

Result<std::size_t> UringStream::write(std::span<const Bytes> pieces) {
  HG_ASSERT(state_ == State::open && !has(kFinAsked) && pieces.size() <= kMaxPieces);
  if (failed()) return fail(ErrorKind::connection_terminated, error_);
  if (has(kConnecting)) return 0;
  std::size_t offered = 0;
  for (const Bytes& piece : pieces) offered += piece.size();
  if (offered == 0) return 0;
  if (waiting() > 0) {
    clear(kWritable);
    return 0;
  }
  if (at_once_ || part_.length + offered >= kDirectBytes) return write_direct(pieces, offered);
  const bool begins = part_.length == 0;
  MutableBytes room = home_->outbox().extend(part_, offered);
  if (room.empty()) return write_direct(pieces, offered);
  for (const Bytes& piece : pieces) {
    if (piece.empty()) continue;
    std::memcpy(room.data(), piece.data(), piece.size());
    room = room.subspan(piece.size());
  }
  if (begins) home_->touch(slot_);
  return offered;
}

// What waits in the outbox goes first, in the same call.
Result<std::size_t> UringStream::write_direct(std::span<const Bytes> pieces, std::size_t offered) {
  std::array<iovec, kMaxPieces + 1> vectors;
  std::size_t count = 0;
  const auto add = [&](Bytes bytes) {
    if (!bytes.empty()) vectors[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  const Bytes before = home_->outbox().bytes(part_);
  add(before);
  for (const Bytes& piece : pieces) add(piece);
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  const ssize_t result = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (result < 0 && errno != EAGAIN && errno != EINTR) {
    set_failed(errno);
    return fail(ErrorKind::connection_terminated, error_);
  }
  std::size_t sent = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (sent == before.size() + offered) {
    part_ = {};
    return offered;
  }
  const std::size_t of_before = std::min(sent, before.size());
  if (of_before < before.size()) keep(before.subspan(of_before));
  part_ = {};
  sent -= of_before;
  std::size_t accepted = sent;
  for (const Bytes& piece : pieces) {
    const std::size_t skip = std::min(sent, piece.size());
    sent -= skip;
    const std::size_t room = UringBlocks::kBytes - waiting();
    const Bytes rest = piece.subspan(skip).first(std::min(room, piece.size() - skip));
    if (!rest.empty()) keep(rest);
    accepted += rest.size();
  }
  return accepted;
}

// The socket is full: nothing more is accepted until this is with the kernel.
void UringStream::keep(Bytes rest) {
  if (!block_) block_ = home_->blocks().get();
  HG_ASSERT(send_ == Submitted::no && block_tail_ + rest.size() <= UringBlocks::kBytes);
  std::memcpy(block_.get() + block_tail_, rest.data(), rest.size());
  block_tail_ += static_cast<std::uint32_t>(rest.size());
  clear(kWritable);
  if (std::exchange(unlimited_, false)) limit_unsent(fd_.get());
  home_->touch(slot_);
}

void UringStream::drop_unsent() {
  part_ = {};
  if (send_ != Submitted::no) return;  // the kernel may read the block yet
  block_head_ = block_tail_ = 0;
  home_->blocks().put(std::move(block_));
}

void UringStream::settle_send() {
  if (state_ == State::aborted || send_ != Submitted::no) return;
  if (waiting() > 0) {
    io_uring_sqe& sqe = home_->ring().prepare(token(UringKind::send));
    io_uring_prep_send(&sqe, fd_.get(), block_.get() + block_head_, waiting(), MSG_NOSIGNAL);
    send_ = Submitted::yes;
    return;
  }
  if (part_.length == 0) return;
  // DONTWAIT: it never outlasts the submission. WAITALL: a short count is a failure too, and only a
  // failure is told.
  io_uring_sqe& sqe = home_->ring().prepare(token(UringKind::send_now));
  const Bytes bytes = home_->outbox().bytes(part_);
  io_uring_prep_send(&sqe, fd_.get(), bytes.data(), bytes.size(),
                     MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL);
  sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
  home_->sending(slot_);
}

bool UringStream::on_send_now(int result) {
  if (result < 0 && result != -EAGAIN && result != -EINTR) {
    part_ = {};
    return set_failed(-result);
  }
  const Bytes bytes = home_->outbox().bytes(part_);
  const std::size_t sent = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (sent < bytes.size()) keep(bytes.subspan(sent));
  part_ = {};
  return false;
}

bool UringStream::on_send(int result) {
  send_ = Submitted::no;
  if (state_ == State::aborted || failed()) {
    drop_unsent();
    return false;
  }
  if (result < 0) {
    if (result == -ECANCELED || result == -EAGAIN || result == -EINTR) return false;
    return set_failed(-result);
  }
  block_head_ += static_cast<std::uint32_t>(result);
  if (waiting() > 0) return false;
  drop_unsent();
  send_fin_when_sent();
  if (writable()) return false;
  flags_ |= kWritable;
  return true;
}

void UringStream::send_outbox_now() {
  if (part_.length == 0) return;
  const Bytes bytes = home_->outbox().bytes(part_);
  const ssize_t result = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (result < 0 && errno != EAGAIN && errno != EINTR) {
    set_failed(errno);
    return;
  }
  const std::size_t sent = result > 0 ? static_cast<std::size_t>(result) : 0;
  if (sent < bytes.size()) keep(bytes.subspan(sent));
  part_ = {};
}

void UringStream::finish_writing() {
  HG_ASSERT(state_ == State::open && !has(kConnecting));
  if (has(kFinAsked)) return;
  flags_ |= kFinAsked;
  send_outbox_now();
  send_fin_when_sent();
}

void UringStream::send_fin_when_sent() {
  if (!has(kFinAsked) || has(kFinSent) || unsent() > 0) return;
  flags_ |= kFinSent;
  ::shutdown(fd_.get(), SHUT_WR);
}

// What is in our memory and, of what the kernel took, what the peer has not acknowledged.
std::size_t UringStream::unacknowledged() {
  return unsent() + unacknowledged_bytes(fd_.get(), has(kFinSent) ? FinSent::yes : FinSent::no);
}

}  // namespace hushgate::io
