// Where one frame ends and the next begins in the bytes of a connection (RFC 9113 section 4.1).
// nghttp2 tells of no frame that it ignores, and those are what floods are made of. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace hushgate::h2 {

inline constexpr std::size_t kFrameHeadBytes = 9;
inline constexpr std::size_t kPrefaceBytes = 24;  // of a client, before its first frame

struct FrameHead {
  std::uint32_t length = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::int32_t stream = 0;
};

class FrameCursor {
 public:
  // `skipped`: bytes before the first frame.
  explicit FrameCursor(std::size_t skipped) : payload_left_(skipped) {}

  struct Slice {
    std::size_t consumed = 0;  // of the input
    Bytes bytes{};        // to be read now: of one frame, valid until the next call. A frame's head
                          // comes whole: what there is of one that is not waits here, because
                          // nghttp2 counts each beginning of a CONTINUATION as one more of them
    bool begins = false;  // they begin with a frame's head: `head`
    FrameHead head{};
  };
  // Of `in`, which is not empty.
  Slice next(Bytes in);
  bool in_frame() const { return payload_left_ > 0; }  // its head was given, more of it is to come

 private:
  Slice gather(Bytes in);
  Slice begin(Bytes frame);

  std::size_t payload_left_;
  std::size_t head_size_ = 0;
  std::array<std::byte, kFrameHeadBytes> head_{};
};

}  // namespace hushgate::h2
