#include "http/body_reader.h"

#include <algorithm>

namespace hushgate::http {

void BodyReader::begin(Framing framing, TrailerBounds bounds) {
  framing_ = framing;
  left_ = framing.kind == FramingKind::length ? framing.length : 0;
  ended_ = framing.bodyless();
  decoder_.reset();
  trailers_.clear();
  if (framing.kind == FramingKind::chunked) decoder_.emplace(bounds);
}

std::optional<std::uint64_t> BodyReader::left() const {
  if (framing_.kind == FramingKind::length) return left_;
  return ended_ ? std::optional<std::uint64_t>(0) : std::nullopt;
}

BodyReader::Piece BodyReader::read(Bytes in) {
  if (ended_ || in.empty()) return {};
  if (framing_.kind == FramingKind::chunked) return read_chunked(in);
  if (framing_.kind != FramingKind::length) return {.data = in, .consumed = in.size()};
  const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(in.size(), left_));
  left_ -= taken;
  ended_ = left_ == 0;
  return {.data = in.first(taken), .consumed = taken};
}

BodyReader::Piece BodyReader::read_chunked(Bytes in) {
  if (!decoder_) return {.consumed = in.size()};  // broken before: the rest has no meaning
  const ChunkedStep step = decoder_->decode(in, trailers_);
  if (step.event == ChunkedEvent::error) {
    decoder_.reset();
    return {.consumed = in.size(), .error = step.error};
  }
  ended_ = step.event == ChunkedEvent::done;
  return {.data = step.data, .consumed = step.consumed};
}

}  // namespace hushgate::http
