// What the tests of this folder share.
#pragma once

#include <algorithm>
#include <cerrno>
#include <deque>
#include <span>
#include <string>

#include "io/stream.h"

namespace hushgate::proxy::testing {

// A stream that takes as many bytes of each write as it was told to, then everything.
class ScriptedStream final : public io::Stream {
 public:
  ScriptedStream() { flags_ = kWritable; }
  ~ScriptedStream() = default;

  std::string written;
  std::deque<std::size_t> takes;  // of the next writes
  int writes = 0;
  std::size_t most_pieces = 0;
  void die() { dead_ = true; }
  // The kernel says that there is room again.
  void make_writable() { flags_ = kWritable; }

  io::Take take() override { return {}; }
  Result<std::size_t> write(std::span<const Bytes> pieces) override {
    ++writes;
    most_pieces = std::max(most_pieces, pieces.size());
    if (dead_) {
      flags_ |= kFailed;
      error_ = EPIPE;
      return fail(ErrorKind::connection_terminated, EPIPE);
    }
    std::size_t offered = 0, accepted = 0;
    for (const Bytes piece : pieces) offered += piece.size();
    std::size_t room = offered;
    if (!takes.empty()) {
      room = std::min(offered, takes.front());
      takes.pop_front();
    }
    for (const Bytes piece : pieces) {
      const Bytes taken = piece.first(std::min(piece.size(), room - accepted));
      written += as_text(taken);
      accepted += taken.size();
    }
    if (accepted < offered) flags_ = 0;
    return accepted;
  }
  void finish_writing() override {}
  std::size_t unacknowledged() override { return 0; }
  std::size_t untaken() override { return 0; }
  bool still_quiet() override { return true; }
  void set_keep_alive(const io::KeepAlive&) override {}
  void close(io::CloseHow) override {}
  SocketAddress local() override { return {}; }

 private:
  bool dead_ = false;
};

}  // namespace hushgate::proxy::testing
