#include "h2/frame_cursor.h"

namespace hushgate::h2 {
namespace {

FrameHead parse(Bytes bytes) {
  const auto at = [bytes](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  const std::uint32_t stream = (at(5) << 24U) | (at(6) << 16U) | (at(7) << 8U) | at(8);
  return {.length = (at(0) << 16U) | (at(1) << 8U) | at(2),
          .type = static_cast<std::uint8_t>(at(3)),
          .flags = static_cast<std::uint8_t>(at(4)),
          .stream = static_cast<std::int32_t>(stream & 0x7FFF'FFFFU)};
}

}  // namespace

FrameCursor::Slice FrameCursor::next(Bytes in) {
  if (payload_left_ == 0) {
    return head_size_ == 0 && in.size() >= kFrameHeadBytes ? begin(in) : gather(in);
  }
  const std::size_t size = std::min(payload_left_, in.size());
  payload_left_ -= size;
  return {.consumed = size, .bytes = in.first(size)};
}

// `frame` holds at least its head, and maybe others behind it.
FrameCursor::Slice FrameCursor::begin(Bytes frame) {
  const FrameHead head = parse(frame);
  const std::size_t payload = std::min<std::size_t>(head.length, frame.size() - kFrameHeadBytes);
  payload_left_ = head.length - payload;
  const std::size_t size = kFrameHeadBytes + payload;
  return {.consumed = size, .bytes = frame.first(size), .begins = true, .head = head};
}

FrameCursor::Slice FrameCursor::gather(Bytes in) {
  const std::size_t size = std::min(kFrameHeadBytes - head_size_, in.size());
  std::ranges::copy(in.first(size), head_.begin() + static_cast<std::ptrdiff_t>(head_size_));
  head_size_ += size;
  if (head_size_ < kFrameHeadBytes) return {.consumed = size};
  head_size_ = 0;
  Slice slice = begin(head_);
  slice.consumed = size;
  return slice;
}

}  // namespace hushgate::h2
