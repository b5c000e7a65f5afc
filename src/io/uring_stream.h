// A socket on io_uring. For uring*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "io/sockets.h"
#include "io/stream.h"
#include "io/token.h"
#include "io/uring_ring.h"

namespace hushgate::io {

enum class UringKind : std::uint8_t { wake, accept, receive, send, poll, connect, cancel };

class UringStream;

// What a stream needs of its backend.
class UringHome : public Lender {
 public:
  virtual UringRing& ring() = 0;
  // Settles it at the turn's end, or before the next wait.
  virtual void touch(std::uint32_t slot) = 0;
  // Closed, and no operation is submitted any more: the slot may be reclaimed.
  virtual void joined(std::uint32_t slot) = 0;
  virtual Lease lend_ring_buffer(std::uint32_t id, std::size_t length) = 0;
  virtual Lease lend_copy(std::vector<std::byte> bytes) = 0;

 protected:
  ~UringHome() = default;
};

class UringStream final : public Stream {
 public:
  UringStream() = default;

  enum class State : std::uint8_t {
    free,       // in the slab
    open,       // used by its owner
    finishing,  // closed in order: what was accepted is still sent
    aborted,    // closed with a reset; operations that are submitted end by themselves
    joined,     // closed, nothing submitted; reclaimed at the turn's end
  };

  void open(UringHome& home, std::uint32_t slot, Descriptor fd, SocketAddress peer, Runnable* owner,
            ConnectStart start);
  void recycle();  // joined -> free
  // The backend ends: everything that is submitted is cancelled.
  void cancel_all();

  State state() const { return state_; }
  bool matches(const Token& token) const {
    return state_ != State::free && token.generation == generation_;
  }
  bool touched = false;  // the backend's mark

  // A completion into flags and inbox. True: something is new that the owner may care about.
  [[nodiscard]] bool on_completion(UringKind kind, int result, std::uint32_t cqe_flags);
  // Arms, cancels and submits what the state asks for; ring buffers that were not taken are copied
  // out, so that nobody can starve the ring.
  void settle();

  Runnable* owner() const { return owner_; }

  Take take() override;
  Result<std::size_t> write(std::span<const Bytes> pieces) override;
  void finish_writing() override;
  std::size_t unacknowledged() override;
  Duration finish_delay() override;
  std::size_t untaken() override;
  bool still_quiet() override;
  void set_keep_alive(const KeepAlive& keep_alive) override;
  void close(CloseHow how) override;
  SocketAddress local() override { return local_address(fd_.get()); }

  // What a stream may hold that was accepted and is not with the kernel yet. Held only while there
  // is such.
  static constexpr std::size_t kSendBufferBytes = 65'536;
  // Receives that nobody takes; then the multishot receive is cancelled. What had completed by then
  // is kept too: at most the 32 buffers that the kernel fills in one go.
  static constexpr std::size_t kInboxBuffers = 4;

 private:
  static constexpr std::uint8_t kReadAll = 32;   // receive has completed with 0
  static constexpr std::uint8_t kFinAsked = 64;  // finish_writing() was called
  static constexpr std::uint8_t kFinSent = 128;  // shutdown(WR) was called

  struct Received {
    std::uint32_t buffer;  // of the ring, or kCopied
    std::uint32_t length;
    std::vector<std::byte> copy;
  };
  static constexpr std::uint32_t kCopied = 0xFFFF'FFFF;

  // An operation from its submission to its last completion.
  enum class Submitted : std::uint8_t { no, yes, cancelling };

  bool has(std::uint8_t flag) const { return flags_ & flag; }
  Token token(UringKind kind) const {
    return {static_cast<std::uint8_t>(kind), generation_, slot_};
  }
  std::size_t unsent() const { return send_tail_ - send_head_; }
  bool anything_submitted() const;

  bool on_receive(int result, std::uint32_t cqe_flags);
  bool on_send(int result);
  bool on_poll(int result);
  bool on_connect(int result);
  bool set_failed(int error);
  Take ended();

  void settle_receive();
  void settle_send();
  void copy_out();
  void drop_inbox();
  void arm_receive();
  void arm_poll(UringKind kind, unsigned events);
  void cancel(UringKind kind, Submitted& submitted);
  void send_fin_when_sent();
  void join_if_ended();

  UringHome* home_ = nullptr;
  Descriptor fd_;
  std::uint32_t slot_ = 0;
  std::uint32_t generation_ = 0;
  State state_ = State::free;
  Submitted receive_ = Submitted::no;
  Submitted send_ = Submitted::no;
  Submitted poll_ =
      Submitted::no;  // RDHUP while no receive is armed; later for a reset behind a FIN
  Submitted connect_ = Submitted::no;  // a poll for the end of connecting
  bool hung_up_ = false;               // both directions have ended: nothing to poll for
  bool unread_dropped_ =
      false;  // bytes came for a stream that was closed in order: it ends in a reset
  std::vector<Received> inbox_;
  std::unique_ptr<std::byte[]> send_buffer_;
  std::uint32_t send_head_ = 0;  // the first byte that the kernel does not have
  std::uint32_t send_tail_ = 0;
};

}  // namespace hushgate::io
