#include "h2/websocket.h"

#include <array>
#include <string_view>

#include "http/text.h"
#include "tls/digest.h"

namespace hushgate::h2 {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455 section 1.3
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kKeyDigits = 22;  // 16 bytes, of which the last four bits are 0

// One step of splitmix64.
std::uint64_t mixed(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
  return z ^ (z >> 31U);
}

}  // namespace

std::string websocket_key(Time now, std::int32_t stream) {
  std::uint64_t state = static_cast<std::uint64_t>(now.time_since_epoch().count()) ^
                        (static_cast<std::uint64_t>(stream) << 40U);
  std::string key;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kKeyDigits; ++i, bits >>= 6U) {
    if (i % 10 == 0) bits = mixed(state);
    key.push_back(kBase64[bits & (i + 1 == kKeyDigits ? 0x30U : 0x3FU)]);
  }
  return key.append("==");
}

std::string websocket_accept(std::string_view key) {
  return tls::sha1_base64(std::string(key).append(kGuid));
}

std::string websocket_accept(const http::RequestHead& head) {
  const http::Field* const key = http::find_field(head.fields, "sec-websocket-key");
  return key == nullptr ? std::string() : websocket_accept(key->value);
}

bool is_accepted(const http::ResponseHead& head, std::string_view accept) {
  if (accept.empty()) return true;
  const http::Field* const field = http::find_field(head.fields, "sec-websocket-accept");
  return field != nullptr && field->value == accept;
}

}  // namespace hushgate::h2
