#include "app/demo_socket.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/demo_digest.h"

namespace hushgate::app {
namespace {

constexpr std::string_view kHandshakeSalt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kKeyBytes = 24;  // 16 bytes in base64
constexpr std::size_t kMaskBytes = 4;
constexpr std::size_t kMaxControlBytes = 125;

constexpr std::uint8_t kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0F;  // the first byte
constexpr std::uint8_t kMasked = 0x80, kLength = 0x7F;                   // the second
constexpr std::uint8_t kContinuation = 0, kBinary = 2, kClose = 8, kPing = 9, kPong = 10;
constexpr std::uint8_t kLength16 = 126, kLength64 = 127;

constexpr std::uint16_t kProtocolError = 1'002, kTooBig = 1'009;

constexpr std::string_view kPage = R"(<!doctype html>
<title>hushgate demo: WebSocket</title>
<form><input name="text" autofocus> <button>send</button></form>
<pre></pre>
<script>
  const say = (text) => { document.querySelector('pre').textContent += text + '\n'; };
  const socket = new WebSocket(location.href.replace(/^http/, 'ws'));
  socket.onopen = () => { say('open'); socket.send('hello'); };
  socket.onmessage = (event) => say('back: ' + event.data);
  socket.onclose = (event) => say('closed: ' + event.code);
  document.querySelector('form').onsubmit = (event) => {
    event.preventDefault();
    socket.send(event.target.text.value);
  };
</script>
)";

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

// Unmasked, as a server sends it.
void write_header(std::uint8_t first, std::uint64_t length, std::string& output) {
  output += static_cast<char>(first);
  if (length < kLength16) {
    output += static_cast<char>(length);
    return;
  }
  const bool is_short = length <= 0xFFFF;
  output += static_cast<char>(is_short ? kLength16 : kLength64);
  for (int shift = is_short ? 8 : 56; shift >= 0; shift -= 8) {
    output += static_cast<char>(length >> shift & 0xFFU);
  }
}

}  // namespace

DemoReply socket_reply(const DemoRequest& request) {
  const http::RequestHead& head = request.head;
  if (head.method != http::Method::get) return method_refused("GET");
  if (!head.wants_upgrade) {
    DemoReply page = text_reply(200, std::string(kPage));
    page.content_type = "text/html; charset=utf-8";
    return page;
  }
  const http::Field* upgrade = http::find_field(head.fields, http::FieldId::upgrade);
  const http::Field* key = http::find_field(head.fields, "sec-websocket-key");
  const http::Field* version = http::find_field(head.fields, "sec-websocket-version");
  if (upgrade == nullptr || !http::equals_lower(upgrade->value, "websocket") || key == nullptr ||
      key->value.size() != kKeyBytes || version == nullptr || version->value != "13") {
    return error_reply(400, "This is no handshake of WebSocket's version 13.");
  }
  DemoSha1 sha1;
  sha1.update(key->value);
  sha1.update(kHandshakeSalt);
  const DemoSha1::Digest digest = sha1.finish();
  DemoReply reply{.status = 101, .play = DemoPlay::socket};
  reply.fields =
      fmt::format("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
                  base64_of({reinterpret_cast<const char*>(digest.data()), digest.size()}));
  if (const auto* offered = http::find_field(head.fields, "sec-websocket-protocol")) {
    const auto first = http::TokenList(offered->value).next();
    reply.fields += fmt::format("Sec-WebSocket-Protocol: {}\r\n", first.value_or(""));
  }
  return reply;
}

void DemoFrameEcho::feed(std::string_view input, std::string& output) {
  while (!input.empty() && stage_ != Stage::closed) {
    input = stage_ == Stage::header ? take_header(input, output) : take_payload(input, output);
  }
}

std::string_view DemoFrameEcho::take_header(std::string_view input, std::string& output) {
  const std::size_t here = std::min(header_bytes() - header_.size(), input.size());
  header_ += input.substr(0, here);
  if (header_.size() == header_bytes()) {  // which grows once the second byte is there
    const std::uint16_t fault = fault_of_header();
    fault == 0 ? begin_payload(output) : close(fault, output);
  }
  return input.substr(here);
}

// 0: none.
std::uint16_t DemoFrameEcho::fault_of_header() const {
  const std::uint8_t first = byte_at(header_, 0);
  if ((first & kReserved) != 0 || (byte_at(header_, 1) & kMasked) == 0) return kProtocolError;
  if (is_control()) {
    const bool known = opcode() <= kPong;
    const bool whole = (first & kFinal) != 0 && length() <= kMaxControlBytes;
    return known && whole ? 0 : kProtocolError;
  }
  if (opcode() > kBinary || (opcode() == kContinuation) != in_message_) return kProtocolError;
  return length() <= kMaxDemoFrameBytes ? 0 : kTooBig;
}

void DemoFrameEcho::begin_payload(std::string& output) {
  left_ = length();
  mask_at_ = 0;
  control_.clear();
  if (!is_control()) {
    in_message_ = (byte_at(header_, 0) & kFinal) == 0;
    write_header(byte_at(header_, 0), left_, output);
  }
  stage_ = Stage::payload;
  if (left_ == 0) take_payload({}, output);
}

std::string_view DemoFrameEcho::take_payload(std::string_view input, std::string& output) {
  const std::string_view mask = std::string_view(header_).substr(header_.size() - kMaskBytes);
  const std::size_t here = std::min<std::uint64_t>(left_, input.size());
  std::string& to = is_control() ? control_ : output;
  for (const char c : input.substr(0, here)) {
    to += static_cast<char>(c ^ mask[mask_at_++ % kMaskBytes]);
  }
  left_ -= here;
  if (left_ == 0) {
    stage_ = Stage::header;
    if (is_control()) end_control(output);
    header_.clear();
  }
  return input.substr(here);
}

void DemoFrameEcho::end_control(std::string& output) {
  if (opcode() == kPong) return;
  write_header(kFinal | (opcode() == kPing ? kPong : kClose), control_.size(), output);
  output += control_;
  if (opcode() == kClose) stage_ = Stage::closed;
}

void DemoFrameEcho::close(std::uint16_t code, std::string& output) {
  write_header(kFinal | kClose, sizeof code, output);
  output += static_cast<char>(code >> 8U);
  output += static_cast<char>(code & 0xFFU);
  stage_ = Stage::closed;
}

// As far as it is known yet.
std::size_t DemoFrameEcho::header_bytes() const {
  if (header_.size() < 2) return 2;
  const std::uint8_t second = byte_at(header_, 1);
  const std::uint8_t length = second & kLength;
  const std::size_t more = length == kLength64 ? 8U : length == kLength16 ? 2U : 0U;
  return 2 + more + ((second & kMasked) != 0 ? kMaskBytes : 0);
}

std::uint8_t DemoFrameEcho::opcode() const { return byte_at(header_, 0) & kOpcode; }

bool DemoFrameEcho::is_control() const { return opcode() >= kClose; }

std::uint64_t DemoFrameEcho::length() const {
  const std::uint8_t length = byte_at(header_, 1) & kLength;
  if (length < kLength16) return length;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < (length == kLength16 ? 2U : 8U); ++i) {
    value = value << 8U | byte_at(header_, 2 + i);
  }
  return value;
}

}  // namespace hushgate::app
