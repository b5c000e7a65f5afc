// WebSocket (RFC 6455) as an echo speaks it: the handshake, and frames in, frames out. No sockets,
// no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::uint64_t kMaxDemoFrameBytes = 1ULL
                                                    << 30U;  // of payload; one more: close 1009

// GET /ws: the answer to a handshake; to a browser that only looks, a page that tries it out.
DemoReply socket_reply(const DemoRequest& request);

// Sends every message back as it comes, frame by frame, without holding more of one than was fed
// (control frames apart, 125 bytes). Pings are answered, a close is answered by the same close.
// Text is not looked at: it was UTF-8 if it was UTF-8.
class DemoFrameEcho {
 public:
  // Takes all of `input` and appends what is to be sent to `output`.
  void feed(std::string_view input, std::string& output);
  // A close frame was written: nothing follows, and nothing more is understood.
  bool closed() const { return stage_ == Stage::closed; }

 private:
  enum class Stage : std::uint8_t {
    header,   // of a frame: header_ holds what has come of it
    payload,  // left_ bytes of it are to come, at least one
    closed,
  };

  std::string_view take_header(std::string_view input, std::string& output);
  std::string_view take_payload(std::string_view input, std::string& output);
  std::uint16_t fault_of_header() const;
  void begin_payload(std::string& output);
  void end_control(std::string& output);
  void close(std::uint16_t code, std::string& output);
  std::size_t header_bytes() const;
  std::uint8_t opcode() const;
  bool is_control() const;
  std::uint64_t length() const;

  Stage stage_ = Stage::header;
  std::string header_;       // at most 14 bytes
  std::uint64_t left_ = 0;   // of the payload
  std::size_t mask_at_ = 0;  // which of the mask's bytes is next
  std::string control_;      // the payload of a control frame
  bool in_message_ = false;  // a fragmented message has begun and not ended
};

}  // namespace hushgate::app
