// Bytes on their way to a socket. What the kernel takes at once is never copied; the rest waits
// here, bounded by maxBufferedBytes because nothing more is read from the other side while anything
// waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/spare_room.h"
#include "io/stream.h"

namespace hushgate::proxy {

class OutBuffer {
 public:
  bool empty() const { return begin_ == bytes_.size(); }
  std::size_t waiting() const { return bytes_.size() - begin_; }
  // What waits. Valid until the next call.
  std::string_view waiting_text() const { return std::string_view(bytes_).substr(begin_); }
  // Given to the kernel so far, of this buffer's lifetime.
  std::uint64_t accepted() const { return accepted_; }

  // Small things (chunk lines) are appended here and go out with the next send() or flush().
  std::string& tail() { return bytes_; }
  // The same for heads.
  std::string& large_tail() {
    take_room(bytes_);
    return bytes_;
  }

  // What waits, then the pieces, in one call; what is not accepted of the pieces is copied and
  // waits. At most kMaxPieces pieces. On failure everything is dropped: the connection is dead.
  Result<void> send(io::Stream& stream, std::span<const Bytes> pieces);
  Result<void> flush(io::Stream& stream) { return send(stream, {}); }

  // For the next message on another stream: drops what waits and counts anew.
  void restart() {
    clear();
    accepted_ = 0;
  }

  static constexpr std::size_t kMaxPieces = io::Stream::kMaxPieces - 1;

 private:
  void clear();
  void keep_rest(std::span<const Bytes> pieces, std::size_t accepted);

  std::string bytes_;
  std::size_t begin_ = 0;
  std::uint64_t accepted_ = 0;
};

}  // namespace hushgate::proxy
