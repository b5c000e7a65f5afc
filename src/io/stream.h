// One connected (or connecting) byte stream, and a listener: what every backend gives to the floors
// above.
//
// The model is "pull with wake-ups". Nobody above waits inside a call: take() and write() do what
// can be done now and say how far they came; when more can be done, the stream's owner is made
// ready. Not calling take() *is* the pause: no bytes are read from the kernel beyond a backend's
// small, named number of completed receives, and a FIN or a reset is still seen and still wakes the
// owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/address.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/result.h"
#include "io/runnable.h"

namespace hushgate::io {

// Who lent a lease. It gets the buffer back when the lease ends.
class Lender {
 public:
  virtual void give_back(std::uint32_t buffer) noexcept = 0;

 protected:
  ~Lender() = default;
};

// Received bytes in a buffer of the loop's. Move-only. It must end in the turn in which it was
// taken: what is wanted longer is copied out. At most one lease of a loop is alive at any time
// (asserted): the buffers are shared by all.
class Lease {
 public:
  Lease() = default;
  Lease(Lender& lender, std::uint32_t buffer, Bytes bytes)
      : lender_(&lender), buffer_(buffer), bytes_(bytes) {}
  Lease(Lease&& other) noexcept
      : lender_(std::exchange(other.lender_, nullptr)),
        buffer_(other.buffer_),
        bytes_(std::exchange(other.bytes_, {})) {}
  Lease& operator=(Lease&& other) noexcept {
    if (this == &other) return *this;
    release();
    lender_ = std::exchange(other.lender_, nullptr);
    buffer_ = other.buffer_;
    bytes_ = std::exchange(other.bytes_, {});
    return *this;
  }
  ~Lease() { release(); }

  Bytes bytes() const { return bytes_; }

 private:
  void release() noexcept {
    if (lender_ != nullptr) std::exchange(lender_, nullptr)->give_back(buffer_);
  }

  Lender* lender_ = nullptr;
  std::uint32_t buffer_ = 0;
  Bytes bytes_;
};

struct Take {
  enum class Kind : std::uint8_t {
    data,     // `lease` holds at least one byte
    nothing,  // none now; the owner is made ready when that changes
    fin,      // the peer's orderly end; returned again on every further take
    failed,  // the connection is dead (reset, keep-alive probes unanswered...); `os_error` says how
  };
  Kind kind = Kind::nothing;
  Lease lease{};
  int os_error = 0;
};

enum class CloseHow : std::uint8_t {
  // Orderly: what was accepted is still delivered, then FIN. (With unread bytes the kernel sends a
  // reset instead.)
  fin,
  // SO_LINGER{1,0}: a reset at once, undelivered bytes are dropped, no TIME_WAIT is left.
  reset,
};

struct KeepAlive {
  Ms idle;
  Ms interval;
  int probes;
};
// Of a connection that is not known to need another (CONTRACT section 1).
inline constexpr KeepAlive kTcpKeepAlive{kTcpKeepAliveIdle, kTcpKeepAliveInterval,
                                         kTcpKeepAliveProbes};

// Created by Backend::connect or by a listener; lives in its backend's slab and never moves. The
// owner is made ready when the stream becomes connected or fails to, readable, writable again after
// a short write, half-closed by the peer, or dead. Flags are set by the backend while it collects
// events and are exact for the turn.
class Stream {
 public:
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Null: nobody is woken (events are kept in the flags). The owner must outlive the stream or set
  // another one.
  void set_owner(Runnable* owner) { owner_ = owner; }

  // Connecting has not ended yet. When it has, failed() tells how.
  bool connecting() const { return flags_ & kConnecting; }
  // take() may give something other than `nothing`: bytes, a FIN or a failure. Edge-like: it stays
  // true until take() finds nothing, so who goes to sleep without having drained a stream it wants
  // to read makes itself ready again.
  bool readable() const { return flags_ & kReadable; }
  // False after a write that was not accepted whole, until the owner is woken for it.
  bool writable() const { return flags_ & kWritable; }
  // The peer has sent FIN; unread bytes may still lie before it. Seen without taking.
  bool peer_finished() const { return flags_ & kPeerFinished; }
  // Dead: reset, refused, unreachable, timed out by keep-alive. error() is the errno. Seen without
  // taking; bytes that were received before may still be taken on some backends, and then `failed`
  // is returned.
  bool failed() const { return flags_ & kFailed; }
  int error() const { return error_; }

  // Receives once. Never blocks.
  virtual Take take() = 0;
  // Offers pieces in order; returns how many bytes were accepted (0 when none can be now). A piece
  // may be reused when the call returns. Failure: the connection is dead (EPIPE, ECONNRESET...). At
  // most kMaxPieces pieces.
  virtual Result<std::size_t> write(std::span<const Bytes> pieces) = 0;
  // FIN behind everything accepted so far.
  virtual void finish_writing() = 0;
  // Bytes accepted by write() that the peer has not acknowledged yet (TIOCOUTQ).
  virtual std::size_t unacknowledged() = 0;
  // Bytes that have been received and not been taken. Behind peer_finished(): all that is still to
  // come.
  virtual std::size_t untaken() = 0;
  // Events that the kernel has for this stream but that this turn has not collected are looked at
  // now: true when there is nothing to be read, no FIN and no failure. Used before a pooled
  // connection is given a request.
  virtual bool still_quiet() = 0;
  // What is written from now on is with the kernel, as far as there is room, when write() returns.
  // Without it a backend may keep it for the end of the turn, and what was found quiet fails if the
  // kernel receives something meanwhile: for requests that can be repeated.
  virtual void write_at_once() {}
  // With peer_finished(): at most so long behind the peer's last byte came its FIN, as far as the
  // kernel can tell; the longest Duration where it cannot. A loop that was kept from running sees
  // both late and at once.
  virtual Duration finish_delay() { return Duration::max(); }
  // The peer may end its direction and still read what is written. TLS: false, its close_notify
  // means that it is gone (CONTRACT section 1).
  virtual bool half_closes() const { return true; }
  virtual bool encrypted() const { return false; }  // TLS is spoken on it
  // What HTTP it carries where its bytes do not tell: "2" on a stream of HTTP/2, else empty.
  virtual std::string_view http_version() const { return {}; }
  // What more than error() is known of why it failed; may be empty.
  virtual std::string failure_text() const { return {}; }
  // Whom the peer has proved to be, by a certificate that was verified (RFC 2253); empty: nobody.
  virtual std::string peer_subject() const { return {}; }
  // Counted from the last byte received, also where that lies in the past. An accepted stream
  // begins with kTcpKeepAlive, one that was connected without.
  virtual void set_keep_alive(const KeepAlive& keep_alive) = 0;
  // The object is gone afterwards. Its owner is not woken for it any more.
  virtual void close(CloseHow how) = 0;

  const SocketAddress& peer() const { return peer_; }
  virtual SocketAddress local() = 0;

  static constexpr std::size_t kMaxPieces = 16;

 protected:
  Stream() = default;
  ~Stream() = default;

  static constexpr std::uint8_t kConnecting = 1, kReadable = 2, kWritable = 4, kPeerFinished = 8,
                                kFailed = 16;

  Runnable* owner_ = nullptr;
  SocketAddress peer_;
  int error_ = 0;
  std::uint8_t flags_ = 0;
};

// Owns a stream; closes it with a reset unless another end was chosen before.
struct ResetStream {
  void operator()(Stream* stream) const noexcept { stream->close(CloseHow::reset); }
};
using StreamPtr = std::unique_ptr<Stream, ResetStream>;

inline void close(StreamPtr stream, CloseHow how) {
  if (stream) stream.release()->close(how);
}

// Receives what a listener accepts. Called while the ready list is run, never while events are
// collected.
class AcceptHandler {
 public:
  // The stream has no owner yet.
  virtual void accepted(StreamPtr stream) = 0;
  // accept(2) failed for want of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM). Return
  // true when something was freed and accepting may go on at once; otherwise the listener stands
  // still until resume().
  virtual bool out_of_descriptors() = 0;

 protected:
  ~AcceptHandler() = default;
};

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  virtual void pause() = 0;
  virtual void resume() = 0;
  // Accepts all that the kernel has queued already (to EAGAIN), then stops listening for good.
  virtual void drain_and_close() = 0;
  virtual SocketAddress address() const = 0;  // with the port that the kernel chose
};

}  // namespace hushgate::io
