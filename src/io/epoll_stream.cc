#include "io/epoll_stream.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "io/token.h"

namespace hushgate::io {

namespace {

// A few small pieces are sooner joined than described to the kernel.
constexpr std::size_t kJoinedBytes = 1'024;

ssize_t send_pieces(int fd, std::span<iovec> pieces, std::size_t bytes) {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (pieces.size() == 1) return ::send(fd, pieces[0].iov_base, pieces[0].iov_len, kFlags);
  if (bytes <= kJoinedBytes) {
    std::array<std::byte, kJoinedBytes> joined;
    std::byte* end = joined.data();
    for (const iovec& piece : pieces) {
      std::memcpy(end, piece.iov_base, piece.iov_len);
      end += piece.iov_len;
    }
    return ::send(fd, joined.data(), bytes, kFlags);
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(fd, &message, kFlags);
}

}  // namespace

void EpollStream::open(const Home& home, std::uint32_t slot, Descriptor fd, SocketAddress peer,
                       Runnable* owner, ConnectStart start) {
  HG_ASSERT(state_ == State::free);
  home_ = &home;
  slot_ = slot;
  fd_ = std::move(fd);
  peer_ = std::move(peer);
  owner_ = owner;
  error_ = 0;
  flags_ = start == ConnectStart::pending ? kConnecting | kUnlimited : kWritable;
  state_ = State::open;
}

void EpollStream::recycle() {
  HG_ASSERT(state_ == State::closed);
  state_ = State::free;
  generation_ = (generation_ + 1) & Token::kGenerationMask;
}

void EpollStream::set_failed(int error) {
  flags_ |= kFailed | kReadable;
  error_ = error;
}

// True when the attempt has ended.
bool EpollStream::end_connecting(std::uint32_t events) {
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return false;
  clear(kConnecting);
  const bool good = (events & (EPOLLERR | EPOLLHUP)) == 0;
  if (const int error = good ? 0 : take_socket_error(fd_.get()); error != 0) {
    set_failed(error);
  } else {
    flags_ |= kWritable;
  }
  return true;
}

// epoll reports the whole state at each edge, so a report of EPOLLIN may be about bytes that the
// owner left lying when it paused: only what turns a flag on is news.
void EpollStream::on_events(std::uint32_t events, ReadyList& ready) {
  const std::uint8_t before = flags_;
  if (has(kConnecting) && !end_connecting(events)) return;
  if ((events & EPOLLERR) != 0 && !failed()) {
    if (const int error = take_socket_error(fd_.get()); error != 0) set_failed(error);
  }
  if ((events & EPOLLIN) != 0) flags_ |= kReadable;
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
    flags_ |= kReadable;
    if (!failed()) flags_ |= kPeerFinished;
  }
  if ((events & EPOLLOUT) != 0 && !failed()) flags_ |= kWritable;

  const auto turned_on = static_cast<std::uint8_t>(flags_ & ~before);
  const bool connect_ended = (before & kConnecting) != 0;
  if ((turned_on == 0 && !connect_ended) || owner_ == nullptr || owner_->linked()) return;
  ready.push_back(*owner_);
}

// The end that take() has found; the same on every further call.
Take EpollStream::ended() {
  if (failed()) return {.kind = Take::Kind::failed, .os_error = error_};
  flags_ |= kReadAll | kPeerFinished | kReadable;
  return {.kind = Take::Kind::fin};
}

Take EpollStream::take() {
  HG_ASSERT(state_ == State::open && !home_->buffer.lent());
  if (has(kConnecting)) return {};
  if (has(kReadAll)) return ended();
  const MutableBytes buffer = home_->buffer.bytes();
  const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    const auto length = static_cast<std::size_t>(got);
    // A short read found the end, and what comes later is a new edge. But a FIN or a reset already
    // reported gives none.
    if (length < buffer.size() && !peer_finished() && !failed()) {
      clear(kReadable);
    }
    return {.kind = Take::Kind::data, .lease = home_->buffer.lend(length)};
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (failed()) return ended();
    if (errno == EAGAIN) clear(kReadable);
    return {};
  }
  // The kernel names an error once: after SO_ERROR has told it, recv() says 0 as if it had been a
  // FIN.
  if (got < 0 && !failed()) set_failed(errno);
  return ended();
}

Result<std::size_t> EpollStream::write(std::span<const Bytes> pieces) {
  HG_ASSERT(state_ == State::open && !has(kFinSent) && pieces.size() <= kMaxPieces);
  if (failed()) return fail(ErrorKind::connection_terminated, error_);
  if (has(kConnecting)) return 0;
  std::array<iovec, kMaxPieces> vectors;
  std::size_t count = 0;
  std::size_t offered = 0;
  for (const Bytes& piece : pieces) {
    if (piece.empty()) continue;
    vectors[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    offered += piece.size();
  }
  if (count == 0) return 0;
  const ssize_t sent = send_pieces(fd_.get(), {vectors.data(), count}, offered);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    set_failed(errno);
    return fail(ErrorKind::connection_terminated, error_);
  }
  const std::size_t accepted = sent > 0 ? static_cast<std::size_t>(sent) : 0;
  if (accepted < offered) note_short_write();
  return accepted;
}

void EpollStream::note_short_write() {
  clear(kWritable);
  if (!has(kUnlimited)) return;
  clear(kUnlimited);
  limit_unsent(fd_.get());
}

void EpollStream::finish_writing() {
  HG_ASSERT(state_ == State::open && !has(kConnecting));
  if (has(kFinSent)) return;
  flags_ |= kFinSent;
  ::shutdown(fd_.get(), SHUT_WR);
}

Duration EpollStream::finish_delay() {
  return peer_finished() ? last_segment_delay(fd_.get()) : Duration::max();
}

std::size_t EpollStream::unacknowledged() {
  return unacknowledged_bytes(fd_.get(), has(kFinSent) ? FinSent::yes : FinSent::no);
}

bool EpollStream::still_quiet() {
  if (connecting() || failed() || peer_finished()) return false;
  std::byte first;
  const ssize_t got = ::recv(fd_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return true;
  if (got == 0) flags_ |= kPeerFinished;
  if (got < 0 && errno != EINTR) set_failed(errno);
  flags_ |= kReadable;
  return false;
}

void EpollStream::set_keep_alive(const KeepAlive& keep_alive) {
  apply_keep_alive(fd_.get(), keep_alive);
}

void EpollStream::close(CloseHow how) {
  HG_ASSERT(state_ == State::open);
  if (how == CloseHow::reset) reset_on_close(fd_.get());
  fd_.close();
  owner_ = nullptr;
  flags_ = 0;
  state_ = State::closed;
  home_->keeper.closed(slot_);
}

}  // namespace hushgate::io
