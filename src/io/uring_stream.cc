#include "io/uring_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
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
  HG_ASSERT(state_ == State::free && !anything_submitted() && unsent() == 0);
  home_ = &home;
  slot_ = slot;
  fd_ = std::move(fd);
  peer_ = std::move(peer);
  owner_ = owner;
  error_ = 0;
  hung_up_ = recorded = at_once_ = false;
  unlimited_ = start == ConnectStart::pending;
  state_ = State::open;
  flags_ = start == ConnectStart::pending ? kConnecting : kWritable;
  home_->touch(slot_);
}

void UringStream::recycle() {
  HG_ASSERT(state_ == State::joined && !anything_submitted() && !fd_.valid() && inbox_.empty());
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

// --- completions

bool UringStream::on_completion(UringKind kind, int result, std::uint32_t cqe_flags,
                                MutableBytes part) {
  const bool news = kind == UringKind::receive    ? on_receive(result, cqe_flags, part)
                    : kind == UringKind::send_now ? on_send_now(result)
                    : kind == UringKind::send     ? on_send(result)
                    : kind == UringKind::poll     ? on_poll(result)
                    : kind == UringKind::connect  ? on_connect(result)
                                                  : false;
  home_->touch(slot_);
  return news && state_ == State::open;
}

bool UringStream::set_failed(int error) {
  if (failed()) return false;
  flags_ |= kFailed | kReadable;
  error_ = error;
  drop_unsent();
  return true;
}

bool UringStream::on_receive(int result, std::uint32_t cqe_flags, MutableBytes part) {
  if ((cqe_flags & IORING_CQE_F_MORE) == 0) receive_ = Submitted::no;
  if (result > 0) {
    const std::uint32_t buffer = cqe_flags >> IORING_CQE_BUFFER_SHIFT;
    if (state_ != State::open || failed()) {
      home_->buffers().give_back(buffer);
      return false;
    }
    home_->store().push(inbox_, buffer, part);
    const bool news = !readable();
    flags_ |= kReadable;
    return news;
  }
  if (result == 0) {
    if (failed() || has(kReadAll)) return false;
    flags_ |= kReadAll | kPeerFinished | kReadable;
    return true;
  }
  // Every buffer is lent or was filled in this turn; it is armed again when they are back.
  if (result == -ENOBUFS) home_->buffers().grow();
  if (result == -ECANCELED || result == -ENOBUFS || result == -EAGAIN) return false;
  return set_failed(-result);
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
  clear(kConnecting);
  const bool good = (static_cast<unsigned>(result) & (POLLERR | POLLHUP)) == 0;
  if (const int error = good ? 0 : take_socket_error(fd_.get()); error != 0) {
    return set_failed(error);
  }
  flags_ |= kWritable;
  return true;
}

// --- what is submitted

void UringStream::settle() {
  if (state_ == State::free || state_ == State::joined) return;
  if (!inbox_.empty()) home_->store().copy_out(inbox_);
  if (state_ != State::open) {
    settle_send();
    return join_if_ended();
  }
  if (has(kConnecting)) {
    if (connect_ == Submitted::no) arm_poll(UringKind::connect, POLLOUT);
    return;
  }
  settle_send();
  settle_receive();
}

void UringStream::settle_receive() {
  if (failed()) return;
  if (has(kReadAll)) {
    // A reset behind the FIN.
    if (poll_ == Submitted::no && !hung_up_) arm_poll(UringKind::poll, 0);
    return;
  }
  if (receive_ == Submitted::yes && home_->receive_limit() == 0 && inbox_.bytes >= kInboxBytes) {
    cancel(UringKind::receive, receive_);
  }
  if (receive_ == Submitted::no && inbox_.empty()) return arm_receive();
  if (receive_ == Submitted::yes || poll_ != Submitted::no || hung_up_) return;
  arm_poll(UringKind::poll, peer_finished() ? 0 : POLLRDHUP);
}

void UringStream::arm_receive() {
  io_uring_sqe& sqe = home_->ring().prepare(token(UringKind::receive));
  io_uring_prep_recv_multishot(&sqe, fd_.get(), nullptr, 0, 0);
  sqe.flags |= IOSQE_BUFFER_SELECT;
  sqe.buf_group = UringBuffers::kGroup;
  sqe.file_index = home_->receive_limit();  // the field's name is optlen since 6.17
  receive_ = Submitted::yes;
}

void UringStream::arm_poll(UringKind kind, unsigned events) {
  io_uring_sqe& sqe = home_->ring().prepare(token(kind));
  io_uring_prep_poll_add(&sqe, fd_.get(), events);
  (kind == UringKind::connect ? connect_ : poll_) = Submitted::yes;
}

// --- receiving

Take UringStream::ended() {
  if (failed()) return {.kind = Take::Kind::failed, .os_error = error_};
  return {.kind = Take::Kind::fin};
}

Take UringStream::take() {
  HG_ASSERT(state_ == State::open);
  if (has(kConnecting)) return {};
  if (inbox_.empty() && recorded) home_->collect_for(token(UringKind::none));
  if (inbox_.empty()) {
    if (failed() || has(kReadAll)) return ended();
    if (receive_ == Submitted::no) return receive_now();
    clear(kReadable);
    return {};
  }
  Lease lease = home_->store().take(inbox_);
  if (inbox_.empty() && !failed() && !has(kReadAll)) clear(kReadable);
  home_->touch(slot_);
  return {.kind = Take::Kind::data, .lease = std::move(lease)};
}

// No receive is armed, so nobody else reads: it is new, or its receive has just ended.
Take UringStream::receive_now() {
  auto block = home_->blocks().get();
  const ssize_t got = ::recv(fd_.get(), block.get(), UringBlocks::kBytes, MSG_DONTWAIT);
  if (got > 0) {
    Lease lease = home_->store().lend(std::move(block), static_cast<std::size_t>(got));
    return {.kind = Take::Kind::data, .lease = std::move(lease)};
  }
  const int error = got == 0 ? 0 : errno;
  home_->blocks().put(std::move(block));
  if (error == EAGAIN || error == EINTR) {
    clear(kReadable);
    return {};
  }
  if (error == 0) flags_ |= kReadAll | kPeerFinished | kReadable;
  if (error != 0) set_failed(error);
  home_->touch(slot_);
  return ended();
}

Duration UringStream::finish_delay() {
  return peer_finished() ? last_segment_delay(fd_.get()) : Duration::max();
}

std::size_t UringStream::untaken() {
  if (recorded) home_->collect_for(token(UringKind::none));
  return inbox_.bytes + unread_bytes(fd_.get());
}

// With a receive armed, whatever comes becomes its completion: there is none, and the kernel has no
// news from which one could be made.
bool UringStream::still_quiet() {
  const auto noisy = [this] { return failed() || peer_finished() || !inbox_.empty(); };
  if (connecting() || noisy()) return false;
  if (receive_ == Submitted::yes) {
    home_->fetch();
    if (!recorded) {
      if (!at_once_) home_->asked(token(UringKind::none));
      return true;
    }
    home_->collect_for(token(UringKind::none));
    if (noisy()) return false;
  }
  std::byte first;
  const ssize_t got = ::recv(fd_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return true;
  if (got < 0 && errno != EINTR) set_failed(errno);
  return false;
}

void UringStream::fail_stale() { set_failed(ECONNRESET); }

void UringStream::set_keep_alive(const KeepAlive& keep_alive) {
  apply_keep_alive(fd_.get(), keep_alive);
}

// --- closing

void UringStream::close(CloseHow how) {
  HG_ASSERT(state_ == State::open);
  owner_ = nullptr;
  if (how == CloseHow::fin && receive_ == Submitted::yes) home_->fetch();
  if (recorded) home_->collect_for(token(UringKind::none));
  const bool unread = !inbox_.empty();
  home_->store().clear(inbox_);
  if (how == CloseHow::fin && !unread && !has(kConnecting)) send_outbox_now();
  if (how == CloseHow::reset || unread || has(kConnecting) || failed()) return abort();
  state_ = State::finishing;
  flags_ |= kFinAsked;
  // Closing sends the FIN by itself where nothing else holds the socket.
  if (anything_submitted()) send_fin_when_sent();
  cancel(UringKind::receive, receive_);
  cancel(UringKind::poll, poll_);
  // Operations hold the socket by themselves until they have ended; the descriptor is free at once.
  if (waiting() == 0) fd_.close();
  if (waiting() > 0) home_->finishing(token(UringKind::none));
  home_->touch(slot_);
  join_if_ended();
}

void UringStream::give_up() {
  if (state_ == State::finishing) return abort();
  join_if_ended();
}

void UringStream::abort() {
  state_ = State::aborted;
  drop_unsent();
  if (anything_submitted()) {
    abort_connection(fd_.get());
    cancel_all();
  } else {
    reset_on_close(fd_.get());
  }
  fd_.close();
  home_->touch(slot_);
  join_if_ended();
}

void UringStream::join_if_ended() {
  if (state_ != State::finishing && state_ != State::aborted) return;
  if (anything_submitted() || waiting() > 0) return;
  fd_.close();
  state_ = State::joined;
  home_->joined(slot_);
}

}  // namespace hushgate::io
