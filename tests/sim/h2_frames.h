// HTTP/2 for scripts, in raw frames (RFC 9113 section 4), so that a peer can say anything. Only
// HPACK is nghttp2's.
#pragma once

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hushgate::sim {

enum class FrameType : std::uint8_t {
  data,
  headers,
  priority,
  reset,
  settings,
  push,
  ping,
  goaway,
  window_update,
  continuation,
};

// RFC 9113 section 7.
enum class Code : std::uint32_t {
  no_error,
  protocol_error,
  internal_error,
  flow_control_error,
  settings_timeout,
  stream_closed,
  frame_size_error,
  refused_stream,
  cancel,
  compression_error,
  connect_error,
  enhance_your_calm,
};

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr std::size_t kFrameHead = 9;
inline constexpr std::size_t kFrameBytes = 16'384;
inline constexpr std::int64_t kUsualWindow = 65'535;

// Flags.
inline constexpr std::uint8_t kEndStream = 0x1;
inline constexpr std::uint8_t kAck = 0x1;
inline constexpr std::uint8_t kEndHeaders = 0x4;
inline constexpr std::uint8_t kPadded = 0x8;
inline constexpr std::uint8_t kWithPriority = 0x20;

// SETTINGS (section 6.5.2; RFC 8441).
inline constexpr std::uint16_t kMaxStreams = 0x3;
inline constexpr std::uint16_t kInitialWindow = 0x4;
inline constexpr std::uint16_t kExtendedConnect = 0x8;

inline std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int at = bytes - 1; at >= 0; --at) out += static_cast<char>(value >> (8 * at) & 0xff);
  return out;
}
inline std::uint32_t number_in(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + size && i < bytes.size(); ++i) {
    value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

struct Frame {
  FrameType type{};
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload{};

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  std::string text() const {
    return number(payload.size(), 3) + number(static_cast<std::uint8_t>(type), 1) +
           number(flags, 1) + number(stream, 4) + payload;
  }
};

// Takes the first frame from `bytes`, if it is there whole.
inline std::optional<Frame> next_frame(std::string& bytes) {
  if (bytes.size() < kFrameHead) return std::nullopt;
  const std::size_t length = number_in(bytes, 0, 3);
  if (bytes.size() < kFrameHead + length) return std::nullopt;
  Frame frame{.type = static_cast<FrameType>(bytes[3]),
              .flags = static_cast<std::uint8_t>(bytes[4]),
              .stream = number_in(bytes, 5, 4) & 0x7fff'ffffU,
              .payload = bytes.substr(kFrameHead, length)};
  bytes.erase(0, kFrameHead + length);
  return frame;
}

// Without padding and priority, as section 6.1 and 6.2 lay them out.
inline std::string content(const Frame& frame) {
  std::string_view bytes = frame.payload;
  std::size_t padding = 0;
  if (frame.has(kPadded) && !bytes.empty()) {
    padding = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
  }
  if (frame.type == FrameType::headers && frame.has(kWithPriority)) bytes.remove_prefix(5);
  EXPECT_LE(padding, bytes.size());
  return std::string(bytes.substr(0, bytes.size() - std::min(padding, bytes.size())));
}

inline std::string settings_frame(std::vector<std::pair<std::uint16_t, std::uint32_t>> settings) {
  std::string payload;
  for (const auto& [id, value] : settings) payload += number(id, 2) + number(value, 4);
  return Frame{.type = FrameType::settings, .payload = payload}.text();
}
inline std::string reset_frame(std::uint32_t stream, Code code) {
  return Frame{FrameType::reset, 0, stream, number(static_cast<std::uint32_t>(code), 4)}.text();
}
inline std::string goaway_frame(std::uint32_t last, Code code) {
  return Frame{.type = FrameType::goaway,
               .payload = number(last, 4) + number(static_cast<std::uint32_t>(code), 4)}
      .text();
}
inline std::string window_frame(std::uint32_t stream, std::uint64_t more) {
  return Frame{FrameType::window_update, 0, stream, number(more, 4)}.text();
}

using Fields = std::vector<std::pair<std::string, std::string>>;

// Of a field that is there once; empty: it is not there.
inline std::string value_of(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return value;
  }
  return {};
}

// Both directions of one connection.
class Hpack {
 public:
  Hpack() {
    nghttp2_hd_deflater* out = nullptr;
    nghttp2_hd_inflater* in = nullptr;
    EXPECT_EQ(nghttp2_hd_deflate_new(&out, 4'096), 0);
    EXPECT_EQ(nghttp2_hd_inflate_new(&in), 0);
    out_.reset(out);
    in_.reset(in);
  }

  std::string pack(const Fields& fields) {
    std::vector<nghttp2_nv> all;
    for (const auto& [name, value] : fields) {
      all.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    std::string block(nghttp2_hd_deflate_bound(out_.get(), all.data(), all.size()), '\0');
    const auto size =
        nghttp2_hd_deflate_hd(out_.get(), bytes(block), block.size(), all.data(), all.size());
    EXPECT_GE(size, 0);
    block.resize(static_cast<std::size_t>(size));
    return block;
  }

  Fields unpack(const std::string& block) {
    Fields fields;
    const std::uint8_t* at = bytes(block);
    std::size_t left = block.size();
    for (;;) {
      nghttp2_nv field{};
      int flags = 0;
      const auto used = nghttp2_hd_inflate_hd2(in_.get(), &field, &flags, at, left, 1);
      EXPECT_GE(used, 0) << "a header block that is none";
      if (used < 0) return fields;
      at += used;
      left -= static_cast<std::size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields.emplace_back(text(field.name, field.namelen), text(field.value, field.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
    }
    EXPECT_EQ(nghttp2_hd_inflate_end_headers(in_.get()), 0);
    return fields;
  }

 private:
  struct Free {
    void operator()(nghttp2_hd_deflater* it) const { nghttp2_hd_deflate_del(it); }
    void operator()(nghttp2_hd_inflater* it) const { nghttp2_hd_inflate_del(it); }
  };
  static std::uint8_t* bytes(const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  }
  static std::string text(const std::uint8_t* at, std::size_t size) {
    return {reinterpret_cast<const char*>(at), size};
  }

  std::unique_ptr<nghttp2_hd_deflater, Free> out_;
  std::unique_ptr<nghttp2_hd_inflater, Free> in_;
};

}  // namespace hushgate::sim
