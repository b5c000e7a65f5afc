// Characters and small texts of HTTP/1: what a token is, comparison without case, the fast search
// for control bytes. Everything here is pure and total: any bytes may be handed in.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hushgate::http {

namespace detail {

constexpr std::array<bool, 256> make_set(std::string_view characters) {
  std::array<bool, 256> set{};
  for (const char c : characters) set[static_cast<unsigned char>(c)] = true;
  return set;
}

// RFC 9110 section 5.6.2.
inline constexpr std::array<bool, 256> kTchar =
    make_set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

inline constexpr std::uint64_t kEveryByte = 0x0101010101010101;
inline constexpr std::uint64_t kHighBits = kEveryByte * 0x80;

}  // namespace detail

inline constexpr bool is_tchar(char c) { return detail::kTchar[static_cast<unsigned char>(c)]; }

inline constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// OWS of RFC 9110 section 5.6.3.
inline constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

constexpr bool is_token(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!is_tchar(c)) return false;
  }
  return true;
}

// ASCII letters compare without case. `lower` holds no capital letters.
constexpr bool equals_lower(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (to_lower(text[i]) != lower[i]) return false;
  }
  return true;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

constexpr std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// 1*DIGIT up to `max`, leading zeros allowed; anything else is nullopt.
std::optional<std::uint64_t> parse_decimal(std::string_view text, std::uint64_t max);

#if defined(__SSE2__)
namespace detail {

// Bit i is set if byte i of the 16 at `from` is a control character other than HTAB.
inline unsigned control_mask(const char* from) {
  __m128i block;
  std::memcpy(&block, from, sizeof block);
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block);
  const __m128i tab = _mm_cmpeq_epi8(block, _mm_set1_epi8('\t'));
  const __m128i del = _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7F));
  const __m128i found = _mm_or_si128(_mm_andnot_si128(tab, low), del);
  return static_cast<unsigned>(_mm_movemask_epi8(found));
}

}  // namespace detail
#endif

// The first byte in [from, end) that is a control character other than HTAB: 0x00 to 0x1F, 0x7F.
// `end` if there is none. Sixteen or eight bytes a step: this is the hot loop of head scanning.
inline const char* find_control(const char* from, const char* end) {
  using namespace detail;
#if defined(__SSE2__)
  for (; end - from >= 16; from += 16) {
    const unsigned mask = control_mask(from);
    if (mask != 0) return from + std::countr_zero(mask);
  }
#endif
  while (end - from >= 8) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
    const std::uint64_t del = word ^ (kEveryByte * 0x7F);
    // The lowest marked byte is exact; those above it may be marked by a borrow.
    const std::uint64_t marks =
        ((word - kEveryByte * 0x20) & ~word & kHighBits) | ((del - kEveryByte) & ~del & kHighBits);
    if (marks == 0) {
      from += 8;
      continue;
    }
    from += std::countr_zero(marks) / 8;
    if (*from != '\t') return from;
    ++from;
  }
  for (; from != end; ++from) {
    const auto c = static_cast<unsigned char>(*from);
    if ((c < 0x20 && c != '\t') || c == 0x7F) return from;
  }
  return end;
}

}  // namespace hushgate::http
