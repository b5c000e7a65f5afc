// The backend itself. For uring*.cc only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/slab.h"
#include "io/uring.h"
#include "io/uring_buffers.h"
#include "io/uring_inbox.h"
#include "io/uring_listener.h"
#include "io/uring_outbox.h"
#include "io/uring_ring.h"
#include "io/uring_stream.h"

namespace hushgate::io {

// A turn's order: what was recorded is worked off, streams are settled (which prepares what they
// submit), the ring is entered once, completions become flags and ready owners.
class UringBackend final : public Backend, private UringHome, private UringListenerHost {
 public:
  UringBackend(Descriptor wake, const UringOptions& options)
      : options_(options), wake_(std::move(wake)) {}
  ~UringBackend() override;

  int make();  // errno, or 0

  Time now() override { return Clock::now(); }
  void collect(Time until, ReadyList& ready) override;
  void wake() override;
  void reap() override;
  void leave() override;
  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address,
                                           const ListenOptions& options,
                                           AcceptHandler& handler) override;
  Result<StreamPtr> connect(const SocketAddress& address, const ConnectOptions& options,
                            Runnable* owner) override;
  const char* name() const override { return "io_uring"; }

  // A stream that was closed in order while its peer takes nothing.
  static constexpr Duration kFinishTime = std::chrono::seconds(30);
  static constexpr Duration kLeaveTime = std::chrono::seconds(1);

 private:
  // A completion that was taken out of the ring before its turn.
  struct Record {
    Token token;
    int result;
    std::uint32_t flags;
    MutableBytes part;
  };
  struct Finishing {
    Token stream;
    Time due;
  };

  static Token own_token(UringKind kind, std::uint32_t slot = 0) {
    return {.kind = static_cast<std::uint8_t>(kind), .slot = slot};
  }
  UringStream* find(const Token& token);  // null: it is gone

  void enable();
  void arm_wake();
  void enter(Time until, ReadyList& ready);
  Record take_out(const io_uring_cqe& cqe);
  void work_off(const Record& record, ReadyList& ready);
  void on_listener(const Record& record, ReadyList& ready);
  void work_off_records(ReadyList& ready);
  void tell_news(ReadyList& ready);
  void look_again();
  void settle();
  void end_finishing(Time now);
  bool anything_submitted();
  UringStream& adopt(Descriptor fd, SocketAddress peer, Runnable* owner, ConnectStart start);

  // UringHome
  UringRing& ring() override { return ring_; }
  UringStore& store() override { return store_; }
  UringBuffers& buffers() override { return buffers_; }
  UringOutbox& outbox() override { return outbox_; }
  UringBlocks& blocks() override { return blocks_; }
  bool left() const override { return left_; }
  unsigned receive_limit() const override { return receive_limit_; }
  void touch(std::uint32_t slot) override;
  void sending(std::uint32_t slot) override { sending_.push_back(slot); }
  void news(const Token& stream) override { news_.push_back(stream); }
  void fetch() override;
  void collect_for(const Token& stream) override;
  void asked(const Token& stream) override { asked_.push_back(stream); }
  void finishing(const Token& stream) override {
    finishing_.push_back({stream, Clock::now() + kFinishTime});
  }
  void joined(std::uint32_t slot) override { joined_.push_back(slot); }

  // UringListenerHost
  void arm(UringListener& listener, UringAwaits what) override;
  void disarm(UringListener& listener, UringAwaits what) override;
  void forget(UringListener& listener) override;
  void run_soon(UringListener& listener) override { run_soon_.push_back(&listener); }
  Descriptor take_recorded(UringListener& listener) override;
  StreamPtr adopt_accepted(Descriptor fd, const SocketAddress& peer) override {
    return StreamPtr(&adopt(std::move(fd), peer, nullptr, ConnectStart::connected));
  }

  UringOptions options_;
  Descriptor wake_;
  UringBuffers buffers_;  // ends behind the ring
  UringRing ring_;
  UringStore store_{buffers_};
  UringOutbox outbox_;
  UringBlocks blocks_;
  unsigned receive_limit_ = 0;
  bool left_ = false;
  bool wake_armed_ = false;
  std::size_t accepts_submitted_ = 0;
  Slab<UringStream> streams_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> sending_;
  std::vector<std::uint32_t> joined_;
  std::vector<Token> news_;
  std::vector<Token> asked_;
  std::vector<Record> records_;
  std::vector<Finishing> finishing_;  // by their time
  std::vector<UringListener*> listeners_;
  std::vector<UringListener*> run_soon_;
  std::uint32_t next_listener_id_ = 0;
};

}  // namespace hushgate::io
