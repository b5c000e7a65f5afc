#include "tests/swarm/ask_stream.h"

#include <algorithm>

namespace hushgate::swarm {
namespace {

constexpr std::size_t kTunnelPieceBytes = 4'096;

}  // namespace

std::string_view AskStream::next(std::size_t limit) {
  if (at_ == piece_.size() && !load()) return {};
  return std::string_view(piece_).substr(at_, limit);
}

void AskStream::took(std::size_t bytes) {
  if (bytes == 0) return;
  if (at_ == 0 && !tunnel_) ++begun_;
  at_ += bytes;
}

bool AskStream::load() {
  if (tunnel_) {
    const Ask& ask = asks_[begun_ - 1];
    const std::size_t size = std::min(kTunnelPieceBytes, ask.tunnel_bytes - tunnel_at_);
    piece_ = body_piece(tunnel_up_key(ask), tunnel_at_, size);
    tunnel_at_ += size;
  } else {
    const bool last = begun_ == asks_.size() || (begun_ > 0 && asks_[begun_ - 1].upgrades);
    if (last) return false;
    piece_ = raw_of(asks_[begun_]).bytes;
  }
  at_ = 0;
  return !piece_.empty();
}

}  // namespace hushgate::swarm
