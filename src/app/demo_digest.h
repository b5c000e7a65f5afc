// SHA-1 (FIPS 180-4) and base64 (RFC 4648), for WebSocket's handshake and for checking what was
// uploaded. Nothing here is secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hushgate::app {

class DemoSha1 {
 public:
  using Digest = std::array<std::uint8_t, 20>;

  void update(std::string_view bytes);
  Digest finish() const;  // of all bytes so far; more may follow

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void take_block(const char* block);

  std::array<std::uint32_t, 5> state_{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::array<char, kBlockBytes> partial_{};  // its first total_bytes_ % kBlockBytes are valid
  std::uint64_t total_bytes_ = 0;
};

std::string hex_of(const DemoSha1::Digest& digest);  // as sha1sum prints it
std::string base64_of(std::string_view bytes);

}  // namespace hushgate::app
