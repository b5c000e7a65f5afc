// A socket on io_uring. For uring*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "io/sockets.h"
#include "io/stream.h"
#include "io/token.h"
#include "io/uring_inbox.h"
#include "io/uring_outbox.h"
#include "io/uring_ring.h"

namespace hushgate::io {

// What an operation is, in its token. From receive to connect: a stream's.
enum class UringKind : std::uint8_t {
  none,      // a completion that was seen already
  wake,      // the poll that wake() answers
  accept,    // a listener's
  queue,     // a listener's poll
  receive,   // multishot
  send_now,  // of the outbox: over when the submission returns; tells only what could not be sent
  send,      // of a block: waits for room
  poll,      // for an end that no receive would show
  connect,   // a poll for the end of connecting
  cancel,
};

inline bool is_of_stream(UringKind kind) {
  return kind >= UringKind::receive && kind <= UringKind::connect;
}

// What a stream needs of its backend.
class UringHome {
 public:
  virtual UringRing& ring() = 0;
  virtual UringStore& store() = 0;
  virtual UringBuffers& buffers() = 0;
  virtual UringOutbox& outbox() = 0;
  virtual UringBlocks& blocks() = 0;
  // The owning thread has left: nothing is submitted any more.
  virtual bool left() const = 0;
  // A receive may take so many bytes until it ends; 0: it has no such limit.
  virtual unsigned receive_limit() const = 0;
  // Settles it before the next wait.
  virtual void touch(std::uint32_t slot) = 0;
  // A send of the outbox was prepared.
  virtual void sending(std::uint32_t slot) = 0;
  // Its owner is made ready in the next turn.
  virtual void news(const Token& stream) = 0;
  // What the kernel has in store becomes records; streams that have some are told.
  virtual void fetch() = 0;
  // The records of one stream are worked off now.
  virtual void collect_for(const Token& stream) = 0;
  // It was found quiet, and is looked at again before anything of it is submitted.
  virtual void asked(const Token& stream) = 0;
  // It was closed while bytes wait for room; from now on they have a time limit.
  virtual void finishing(const Token& stream) = 0;
  // Closed, and no operation is submitted any more: the slot may be reclaimed.
  virtual void joined(std::uint32_t slot) = 0;

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
    joined,     // closed, nothing submitted, no descriptor; reclaimed at the turn's end
  };

  void open(UringHome& home, std::uint32_t slot, Descriptor fd, SocketAddress peer, Runnable* owner,
            ConnectStart start);
  void recycle();  // joined -> free
  // The thread leaves: everything that is submitted is cancelled.
  void cancel_all();
  // A closed stream has used up its time.
  void give_up();
  // It was found quiet, and was not: nothing of what waits in the outbox is submitted.
  void fail_stale();

  State state() const { return state_; }
  bool matches(const Token& token) const {
    return state_ != State::free && token.generation == generation_;
  }
  bool anything_submitted() const;
  std::size_t unsent() const { return part_.length + waiting(); }

  // The backend's marks.
  bool touched = false;
  bool recorded = false;  // completions of it lie in the backend's records

  // A completion into flags and inbox; `part` is what a receive has filled. True: something is new
  // that the owner may care about.
  [[nodiscard]] bool on_completion(UringKind kind, int result, std::uint32_t cqe_flags,
                                   MutableBytes part);
  // Arms, cancels and prepares what the state asks for; ring buffers that were not taken are copied
  // out, so that nobody can starve the ring.
  void settle();
  // The outbox was submitted, and what could not be sent was told.
  void outbox_sent() { part_ = {}; }

  Runnable* owner() const { return owner_; }

  Take take() override;
  Result<std::size_t> write(std::span<const Bytes> pieces) override;
  void finish_writing() override;
  std::size_t unacknowledged() override;
  Duration finish_delay() override;
  std::size_t untaken() override;
  bool still_quiet() override;
  void write_at_once() override { at_once_ = true; }
  void set_keep_alive(const KeepAlive& keep_alive) override;
  void close(CloseHow how) override;
  SocketAddress local() override { return local_address(fd_.get()); }

  // A write of so many bytes at least goes to the kernel at once, uncopied.
  static constexpr std::size_t kDirectBytes = 12288;
  // Received and not taken: from so many bytes on the multishot receive is ended, by its limit
  // where the kernel has one. (Without, what completes in one go comes on top.)
  static constexpr std::uint32_t kInboxBytes = 65'536;

 private:
  static constexpr std::uint8_t kReadAll = 32;   // receive has completed with 0
  static constexpr std::uint8_t kFinAsked = 64;  // finish_writing() was called
  static constexpr std::uint8_t kFinSent = 128;  // shutdown(WR) was called

  // An operation from its submission to its last completion.
  enum class Submitted : std::uint8_t { no, yes, cancelling };

  bool has(std::uint8_t flag) const { return flags_ & flag; }
  void clear(std::uint8_t flag) { flags_ = static_cast<std::uint8_t>(flags_ & ~flag); }
  Token token(UringKind kind) const {
    return {static_cast<std::uint8_t>(kind), generation_, slot_};
  }
  std::size_t waiting() const { return block_tail_ - block_head_; }

  bool on_receive(int result, std::uint32_t cqe_flags, MutableBytes part);
  bool on_send_now(int result);
  bool on_send(int result);
  bool on_poll(int result);
  bool on_connect(int result);
  bool set_failed(int error);
  Take ended();
  Take receive_now();

  void settle_receive();
  void settle_send();
  void arm_receive();
  void arm_poll(UringKind kind, unsigned events);
  void cancel(UringKind kind, Submitted& submitted);

  Result<std::size_t> write_direct(std::span<const Bytes> pieces, std::size_t offered);
  void send_outbox_now();
  void keep(Bytes rest);
  void drop_unsent();
  void send_fin_when_sent();
  void abort();
  void join_if_ended();

  UringHome* home_ = nullptr;
  Descriptor fd_;
  std::uint32_t slot_ = 0;
  std::uint32_t generation_ = 0;
  State state_ = State::free;
  Submitted receive_ = Submitted::no;
  Submitted send_ = Submitted::no;
  // RDHUP while no receive is armed; later for a reset behind a FIN.
  Submitted poll_ = Submitted::no;
  Submitted connect_ = Submitted::no;  // a poll for the end of connecting
  bool hung_up_ = false;               // both directions have ended: nothing to poll for
  bool at_once_ = false;               // see write_at_once()
  bool unlimited_ = false;  // we connected it, and nothing bounds yet what the kernel holds unsent
  UringInbox inbox_;
  UringOutbox::Part part_;
  // What the socket had no room for; while there is such, nothing more is accepted.
  std::unique_ptr<std::byte[]> block_;
  std::uint32_t block_head_ = 0;  // the first byte that the kernel does not have
  std::uint32_t block_tail_ = 0;
};

}  // namespace hushgate::io
