#include "h2/frame_cursor.h"

namespace hushgate::h2 {

FrameCursor::Slice FrameCursor::next(Bytes in) {
  Slice slice;
  if (payload_left_ == 0) {
    slice.bytes = std::min(kFrameHeadBytes - head_size_, in.size());
    std::ranges::copy(in.first(slice.bytes), head_.begin() + static_cast<std::ptrdiff_t>(head_size_));
    head_size_ += slice.bytes;
    if (head_size_ < kFrameHeadBytes) return slice;
    head_size_ = 0;
    slice.begins = true;
    slice.head = parse();
    payload_left_ = slice.head.length;
  }
  const std::size_t payload = std::min(payload_left_, in.size() - slice.bytes);
  payload_left_ -= payload;
  slice.bytes += payload;
  return slice;
}

FrameHead FrameCursor::parse() const {
  const auto at = [this](std::size_t index) { return std::to_integer<std::uint32_t>(head_[index]); };
  const std::uint32_t stream = (at(5) << 24U) | (at(6) << 16U) | (at(7) << 8U) | at(8);
  return {.length = (at(0) << 16U) | (at(1) << 8U) | at(2),
          .type = static_cast<std::uint8_t>(at(3)),
          .stream = static_cast<std::int32_t>(stream & 0x7FFF'FFFFU)};
}

}  // namespace hushgate::h2
