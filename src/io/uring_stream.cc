#include "io/uring_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace hushgate::io {
namespace {

// A reset at once, although submitted operations still hold the socket: connect(AF_UNSPEC) is TCP's
// abort. They end with it. (UNIX sockets know no reset; there it is the end of both directions.)
void abort_connection(int fd) {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  if (::connect(fd, &none, sizeof none) != 0) ::shutdown(fd, SHUT_RDWR);
}

}  // namespace

void UringStream::open(UringHome& home, std::uint32_t slot, Descriptor fd, SocketAddress peer,
                       Runnable* owner, ConnectStart start) {
  HG_ASSERT(state_ == State::free && !anything_submitted());
  home_ = &home;
  slot_ = slot;
  fd_ = std::move(fd);
  peer_ = std::move(peer);
  owner_ = owner;
  error_ = 0;
  hung_up_ = unread_dropped_ = false;
  state_ = State::open;
  flags_ = start == ConnectStart::pending ? kConnecting : kWritable;
  home_->touch(slot_);
}

void UringStream::recycle() {
  HG_ASSERT(state_ == State::joined && !anything_submitted());
  if (unread_dropped_) reset_on_close(fd_.get());
  fd_.close();
  send_buffer_.reset();
  send_head_ = send_tail_ = 0;
  generation_ = (generation_ + 1) & Token::kGenerationMask;
  state_ = State::free;
}

bool UringStream::anything_submitted() const {
  return receive_ != Submitted::no || send_ != Submitted::no || poll_ != Submitted::no ||
         connect_ != Submitted::no;
}

void UringStream::cancel_all() {
  cancel(UringKind::receive, receive_);
  cancel(UringKind::send, send_);
  cancel(UringKind::poll, poll_);
  cancel(UringKind::connect, connect_);
}

void UringStream::cancel(UringKind kind, Submitted& submitted) {
  if (submitted != Submitted::yes) return;
  submitted = Submitted::cancelling;
  home_->ring().cancel(token(kind), static_cast<std::uint8_t>(UringKind::cancel));
}

bool UringStream::on_completion(UringKind kind, int result, std::uint32_t cqe_flags) {
  const bool news = kind == UringKind::receive   ? on_receive(result, cqe_flags)
                    : kind == UringKind::send    ? on_send(result)
                    : kind == UringKind::poll    ? on_poll(result)
                    : kind == UringKind::connect ? on_connect(result)
                                                 : false;
  home_->touch(slot_);
  return news && state_ == State::open;
}

bool UringStream::set_failed(int error) {
  if (failed()) return false;
  flags_ |= kFailed | kReadable;
  error_ = error;
  return true;
}

bool UringStream::on_receive(int result, std::uint32_t cqe_flags) {
  if ((cqe_flags & IORING_CQE_F_MORE) == 0) receive_ = Submitted::no;
  if (result > 0) {
    const std::uint32_t buffer = cqe_flags >> IORING_CQE_BUFFER_SHIFT;
    if (state_ != State::open) {
      home_->ring().recycle(buffer);
      unread_dropped_ = true;
      return false;
    }
    inbox_.push_back({buffer, static_cast<std::uint32_t>(result), {}});
    const bool news = !readable();
    flags_ |= kReadable;
    return news;
  }
  if (result == 0) {
    if (failed() || has(kReadAll)) return false;
    flags_ |= kReadAll | kPeerFinished | kReadable;
    return true;
  }
  // ENOBUFS: every buffer is lent or was filled in this turn; it is armed again when they are back.
  if (result == -ECANCELED || result == -ENOBUFS || result == -EAGAIN) return false;
  return set_failed(-result);
}

bool UringStream::on_send(int result) {
  send_ = Submitted::no;
  if (result < 0) {
    send_head_ = send_tail_ = 0;
    return result == -ECANCELED ? false : set_failed(-result);
  }
  // The room is there before the owner hears of it.
  send_head_ += static_cast<std::uint32_t>(result);
  std::memmove(send_buffer_.get(), send_buffer_.get() + send_head_, unsent());
  send_tail_ -= std::exchange(send_head_, 0);
  if (writable()) return false;
  flags_ |= kWritable;
  return true;
}

// An error is told once, to whoever asks first: if there is none any more, a receive or a send has
// taken it and its completion says so. The same goes for HUP while our own direction is open, which
// TCP only has after a reset.
bool UringStream::on_poll(int result) {
  poll_ = Submitted::no;
  if (result < 0 || state_ != State::open) return false;
  const auto events = static_cast<unsigned>(result);
  if ((events & POLLHUP) != 0) hung_up_ = true;
  if ((events & POLLERR) != 0) {
    const int error = take_socket_error(fd_.get());
    return error != 0 && set_failed(error);
  }
  const bool reset = hung_up_ && !has(kFinSent) && peer_.ip() != nullptr;
  if (reset || (events & (POLLRDHUP | POLLHUP)) == 0 || peer_finished() || failed()) return false;
  flags_ |= kPeerFinished;
  return true;
}

bool UringStream::on_connect(int result) {
  connect_ = Submitted::no;
  if (result < 0 || state_ != State::open) return false;
  flags_ = static_cast<std::uint8_t>(flags_ & ~kConnecting);
  if (const int error = take_socket_error(fd_.get()); error != 0) return set_failed(error);
  flags_ |= kWritable;
  return true;
}

void UringStream::settle() {
  if (state_ == State::free || state_ == State::joined) return;
  copy_out();
  if (state_ == State::open && has(kConnecting)) {
    if (connect_ == Submitted::no) arm_poll(UringKind::connect, POLLOUT);
    return;
  }
  settle_send();
  if (state_ == State::open) return settle_receive();
  join_if_ended();
}

void UringStream::settle_receive() {
  if (failed()) return;
  if (has(kReadAll)) {
    if (poll_ == Submitted::no && !hung_up_)
      arm_poll(UringKind::poll, 0);  // a reset behind the FIN
    return;
  }
  if (receive_ == Submitted::yes && inbox_.size() >= kInboxBuffers) {
    cancel(UringKind::receive, receive_);
  }
  if (receive_ == Submitted::no && inbox_.empty()) return arm_receive();
  if (receive_ == Submitted::yes || poll_ != Submitted::no || hung_up_) return;
  arm_poll(UringKind::poll, peer_finished() ? 0 : POLLRDHUP);
}

void UringStream::settle_send() {
  if (send_ != Submitted::no || state_ == State::aborted) return;
  if (unsent() == 0 || failed()) {
    send_head_ = send_tail_ = 0;
    send_buffer_.reset();
    return send_fin_when_sent();
  }
  io_uring_sqe& sqe = home_->ring().prepare(token(UringKind::send));
  io_uring_prep_send(&sqe, fd_.get(), send_buffer_.get() + send_head_, unsent(), MSG_NOSIGNAL);
  send_ = Submitted::yes;
}

void UringStream::send_fin_when_sent() {
  if (!has(kFinAsked) || has(kFinSent) || send_ != Submitted::no || unsent() > 0) return;
  flags_ |= kFinSent;
  ::shutdown(fd_.get(), SHUT_WR);
}

void UringStream::join_if_ended() {
  if (anything_submitted() || (state_ == State::finishing && unsent() > 0)) return;
  state_ = State::joined;
  home_->joined(slot_);
}

void UringStream::copy_out() {
  for (Received& received : inbox_) {
    if (received.buffer == kCopied) continue;
    const Bytes bytes = home_->ring().buffer(received.buffer, received.length);
    received.copy.assign(bytes.begin(), bytes.end());
    home_->ring().recycle(std::exchange(received.buffer, kCopied));
  }
}

void UringStream::drop_inbox() {
  for (const Received& received : inbox_) {
    if (received.buffer != kCopied) home_->ring().recycle(received.buffer);
  }
  inbox_.clear();
  inbox_.shrink_to_fit();
}

void UringStream::arm_receive() {
  io_uring_sqe& sqe = home_->ring().prepare(token(UringKind::receive));
  io_uring_prep_recv_multishot(&sqe, fd_.get(), nullptr, 0, 0);
  sqe.flags |= IOSQE_BUFFER_SELECT;
  sqe.buf_group = UringRing::kBufferGroup;
  receive_ = Submitted::yes;
}

void UringStream::arm_poll(UringKind kind, unsigned events) {
  io_uring_sqe& sqe = home_->ring().prepare(token(kind));
  io_uring_prep_poll_add(&sqe, fd_.get(), events);
  (kind == UringKind::connect ? connect_ : poll_) = Submitted::yes;
}

Take UringStream::ended() {
  if (failed()) return {.kind = Take::Kind::failed, .os_error = error_};
  return {.kind = Take::Kind::fin};
}

Take UringStream::take() {
  HG_ASSERT(state_ == State::open);
  if (has(kConnecting)) return {};
  if (inbox_.empty()) {
    if (failed() || has(kReadAll)) return ended();
    flags_ = static_cast<std::uint8_t>(flags_ & ~kReadable);
    return {};
  }
  Received first = std::move(inbox_.front());
  inbox_.erase(inbox_.begin());
  if (inbox_.empty() && !failed() && !has(kReadAll)) {
    flags_ = static_cast<std::uint8_t>(flags_ & ~kReadable);
  }
  home_->touch(slot_);
  Lease lease = first.buffer == kCopied ? home_->lend_copy(std::move(first.copy))
                                        : home_->lend_ring_buffer(first.buffer, first.length);
  return {.kind = Take::Kind::data, .lease = std::move(lease)};
}

Result<std::size_t> UringStream::write(std::span<const Bytes> pieces) {
  HG_ASSERT(state_ == State::open && !has(kFinAsked) && pieces.size() <= kMaxPieces);
  if (failed()) return fail(ErrorKind::connection_terminated, error_);
  if (has(kConnecting)) return 0;
  std::size_t accepted = 0;
  bool whole = true;
  for (const Bytes& piece : pieces) {
    if (piece.empty()) continue;
    if (!send_buffer_) send_buffer_ = std::make_unique_for_overwrite<std::byte[]>(kSendBufferBytes);
    const std::size_t size = std::min(piece.size(), kSendBufferBytes - send_tail_);
    std::memcpy(send_buffer_.get() + send_tail_, piece.data(), size);
    send_tail_ += static_cast<std::uint32_t>(size);
    accepted += size;
    whole = whole && size == piece.size();
  }
  if (!whole) flags_ = static_cast<std::uint8_t>(flags_ & ~kWritable);
  if (accepted > 0) home_->touch(slot_);
  return accepted;
}

void UringStream::finish_writing() {
  HG_ASSERT(state_ == State::open && !has(kConnecting));
  flags_ |= kFinAsked;
  send_fin_when_sent();
}

Duration UringStream::finish_delay() {
  return peer_finished() ? last_segment_delay(fd_.get()) : Duration::max();
}

std::size_t UringStream::untaken() {
  std::size_t bytes = unread_bytes(fd_.get());
  for (const Received& received : inbox_) bytes += received.length;
  return bytes;
}

// What is in our buffer and, of what the kernel took, what the peer has not acknowledged.
std::size_t UringStream::unacknowledged() {
  return unsent() + unacknowledged_bytes(fd_.get(), has(kFinSent) ? FinSent::yes : FinSent::no);
}

bool UringStream::still_quiet() {
  if (connecting() || failed() || peer_finished() || !inbox_.empty()) return false;
  if (home_->ring().has_completion(token(UringKind::receive))) return false;
  std::byte first;
  const ssize_t got = ::recv(fd_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return true;
  if (got < 0 && errno != EINTR) set_failed(errno);
  return false;
}

void UringStream::set_keep_alive(const KeepAlive& keep_alive) {
  apply_keep_alive(fd_.get(), keep_alive);
}

void UringStream::close(CloseHow how) {
  HG_ASSERT(state_ == State::open);
  owner_ = nullptr;
  const bool unread = !inbox_.empty();
  drop_inbox();
  if (how == CloseHow::reset || unread || has(kConnecting) || failed()) {
    state_ = State::aborted;
    abort_connection(fd_.get());
  } else {
    state_ = State::finishing;
    flags_ |= kFinAsked;
    send_fin_when_sent();
  }
  cancel(UringKind::receive, receive_);
  cancel(UringKind::poll, poll_);
  cancel(UringKind::connect, connect_);
  if (state_ == State::aborted) cancel(UringKind::send, send_);
  home_->touch(slot_);
}

}  // namespace hushgate::io
