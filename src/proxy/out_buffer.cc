#include "proxy/out_buffer.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace hushgate::proxy {

Result<void> OutBuffer::send(io::Stream& stream, std::span<const Bytes> pieces) {
  HG_ASSERT(pieces.size() <= kMaxPieces);
  std::array<Bytes, io::Stream::kMaxPieces> all;
  std::size_t count = 0;
  if (!empty()) all[count++] = as_bytes(waiting_text());
  for (const Bytes piece : pieces) {
    if (!piece.empty()) all[count++] = piece;
  }
  if (count == 0) return {};
  std::size_t accepted = 0;
  if (stream.writable()) {
    const Result<std::size_t> written = stream.write({all.data(), count});
    if (!written) {
      clear();
      return std::unexpected(written.error());
    }
    accepted = *written;
  }
  accepted_ += accepted;
  keep_rest(pieces, accepted);
  return {};
}

void OutBuffer::keep_rest(std::span<const Bytes> pieces, std::size_t accepted) {
  const std::size_t from_waiting = std::min(accepted, waiting());
  begin_ += from_waiting;
  accepted -= from_waiting;
  if (empty()) clear();
  for (const Bytes piece : pieces) {
    const std::size_t taken = std::min(accepted, piece.size());
    accepted -= taken;
    if (taken == piece.size()) continue;
    take_room(bytes_);
    bytes_.append(as_text(piece.subspan(taken)));
  }
}

void OutBuffer::clear() {
  give_room(bytes_);
  begin_ = 0;
}

}  // namespace hushgate::proxy
