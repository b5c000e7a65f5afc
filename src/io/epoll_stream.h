// A socket on epoll: registered once, edge-triggered, for its whole life. For epoll.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "io/shared_buffer.h"
#include "io/sockets.h"
#include "io/stream.h"

namespace hushgate::io {

// Whom a stream tells that it was closed; its slot is reclaimed at the turn's end.
class SlotKeeper {
 public:
  virtual void closed(std::uint32_t slot) = 0;

 protected:
  ~SlotKeeper() = default;
};

class EpollStream final : public Stream {
 public:
  EpollStream() = default;

  enum class State : std::uint8_t {
    free,    // in the slab, nothing valid but `generation`
    open,    // owns a descriptor
    closed,  // closed in this turn; the slot is not given to another stream before the turn ends
  };

  // What all streams of a backend share; it outlives them.
  struct Home {
    SharedBuffer& buffer;
    SlotKeeper& keeper;
  };
  void open(const Home& home, std::uint32_t slot, Descriptor fd, SocketAddress peer,
            Runnable* owner, ConnectStart start);
  // closed -> free; a new generation begins.
  void recycle();

  State state() const { return state_; }
  std::uint32_t generation() const { return generation_; }
  int fd() const { return fd_.get(); }

  // Events of epoll_wait into flags; the owner is made ready if something it may care about is new.
  void on_events(std::uint32_t events, ReadyList& ready);

  Take take() override;
  Result<std::size_t> write(std::span<const Bytes> pieces) override;
  void finish_writing() override;
  std::size_t unacknowledged() override;
  Duration finish_delay() override;
  std::size_t untaken() override { return unread_bytes(fd_.get()); }
  bool still_quiet() override;
  void set_keep_alive(const KeepAlive& keep_alive) override;
  void close(CloseHow how) override;
  SocketAddress local() override { return local_address(fd_.get()); }

 private:
  // recv() has returned 0: everything before the FIN was taken.
  static constexpr std::uint8_t kReadAll = 32;
  // finish_writing() was called.
  static constexpr std::uint8_t kFinSent = 64;
  // We connected it, and nothing bounds yet what the kernel holds unsent.
  static constexpr std::uint8_t kUnlimited = 128;

  bool has(std::uint8_t flag) const { return flags_ & flag; }
  void clear(std::uint8_t flag) { flags_ = static_cast<std::uint8_t>(flags_ & ~flag); }
  bool end_connecting(std::uint32_t events);
  void note_short_write();
  void set_failed(int error);
  Take ended();

  const Home* home_ = nullptr;
  std::uint32_t slot_ = 0;
  Descriptor fd_;
  std::uint32_t generation_ = 0;
  State state_ = State::free;
};

}  // namespace hushgate::io
