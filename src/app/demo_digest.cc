#include "app/demo_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace hushgate::app {
namespace {

std::uint32_t big_endian(const char* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::little) word = std::byteswap(word);
  return word;
}

// The function and the constant of a round.
struct Round {
  std::uint32_t f;
  std::uint32_t k;
};

Round round_of(std::size_t i, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  if (i < 20) return {(b & c) | (~b & d), 0x5A827999};
  if (i < 40) return {b ^ c ^ d, 0x6ED9EBA1};
  if (i < 60) return {(b & c) | (b & d) | (c & d), 0x8F1BBCDC};
  return {b ^ c ^ d, 0xCA62C1D6};
}

}  // namespace

void DemoSha1::take_block(const char* block) {
  std::array<std::uint32_t, 80> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(block + i * 4);
  for (std::size_t i = 16; i < w.size(); ++i) {
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const auto [f, k] = round_of(i, b, c, d);
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<std::uint32_t, 5> worked{a, b, c, d, e};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += worked[i];
}

void DemoSha1::update(std::string_view bytes) {
  const std::size_t held = total_bytes_ % kBlockBytes;
  total_bytes_ += bytes.size();
  if (held > 0) {
    const std::size_t fill = std::min(kBlockBytes - held, bytes.size());
    std::copy_n(bytes.data(), fill, partial_.data() + held);
    bytes.remove_prefix(fill);
    if (held + fill < kBlockBytes) return;
    take_block(partial_.data());
  }
  for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes)) take_block(bytes.data());
  std::ranges::copy(bytes, partial_.begin());
}

DemoSha1::Digest DemoSha1::finish() const {
  constexpr std::size_t kLengthAt = kBlockBytes - 8;
  DemoSha1 last = *this;
  const std::uint64_t bits = total_bytes_ * 8;
  std::string padding(1, '\x80');
  while ((total_bytes_ + padding.size()) % kBlockBytes != kLengthAt) padding += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) padding += static_cast<char>(bits >> shift & 0xFFU);
  last.update(padding);
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(last.state_[i / 4] >> (24 - i % 4 * 8) & 0xFFU);
  }
  return digest;
}

std::string hex_of(const DemoSha1::Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  while (!bytes.empty()) {
    const std::size_t here = std::min<std::size_t>(bytes.size(), 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8U | (i < here ? static_cast<std::uint8_t>(bytes[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= here ? kDigits[group >> (18 - i * 6) & 0x3FU] : '=';
    }
    bytes.remove_prefix(here);
  }
  return text;
}

}  // namespace hushgate::app
