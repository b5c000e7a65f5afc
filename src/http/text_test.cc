#include "http/text.h"

#include <gtest/gtest.h>

#include <string>

namespace hushgate::http {
namespace {

const char* find_control_slowly(const char* from, const char* end) {
  for (; from != end; ++from) {
    const auto c = static_cast<unsigned char>(*from);
    if ((c < 0x20 && c != '\t') || c == 0x7F) break;
  }
  return from;
}

TEST(Text, FindControlFindsEveryByteAtEveryPlaceOfEveryLength) {
  for (std::size_t length = 0; length <= 36; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, 'x');
        text[at] = static_cast<char>(byte);
        const char* end = text.data() + text.size();
        ASSERT_EQ(find_control(text.data(), end), find_control_slowly(text.data(), end))
            << "byte " << byte << " at " << at << " of " << length;
      }
    }
  }
}

TEST(Text, FindControlIsNotMisledByTabsAndHighBytesBeforeAControl) {
  for (const char filler : {'\t', '\x80', '\xFF', ' ', '~', '\x21'}) {
    for (const char control : {'\0', '\x01', '\n', '\r', '\x1F', '\x7F'}) {
      for (std::size_t at = 0; at < 40; ++at) {
        std::string text(40, filler);
        text[at] = control;
        ASSERT_EQ(find_control(text.data(), text.data() + text.size()), text.data() + at);
      }
    }
  }
}

TEST(Text, DecimalIsDigitsUpToItsMaximum) {
  constexpr std::uint64_t kMax = 9223372036854775807u;
  EXPECT_EQ(parse_decimal("0", kMax), 0u);
  EXPECT_EQ(parse_decimal("0005", kMax), 5u);
  EXPECT_EQ(parse_decimal("9223372036854775806", kMax), kMax - 1);
  EXPECT_EQ(parse_decimal("9223372036854775807", kMax), kMax);
  for (const char* bad : {"", "+5", "-5", "0x5", "5.0", "5e0", "5 0", "5,", "five", "0_5", " 5",
                          "5 ", "9223372036854775808", "18446744073709551621",
                          "340282366920938463463374607431768211461", "\xEF\xBC\x95", "\"5\""}) {
    EXPECT_EQ(parse_decimal(bad, kMax), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_decimal("65535", 65535), 65535u);
  EXPECT_EQ(parse_decimal("65536", 65535), std::nullopt);
}

TEST(Text, TokensHoldTcharsOnly) {
  EXPECT_TRUE(is_token("X-A!#$%&'*+.^_`|~09az"));
  for (const char* bad : {"", "a b", "a:b", "a(b", "a\tb", "a\"", "a,b", "a/b", "\xA0", "a@b"}) {
    EXPECT_FALSE(is_token(bad)) << bad;
  }
}

TEST(Text, ComparisonIgnoresTheCaseOfLettersOnly) {
  EXPECT_TRUE(equals_lower("KEEP-Alive", "keep-alive"));
  EXPECT_FALSE(equals_lower("keep\ralive", "keep-alive"));
  EXPECT_FALSE(equals_lower("\x54\x45\x80", "te\xA0"));
  EXPECT_TRUE(equals_ignoring_case("aBc", "AbC"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
}

}  // namespace
}  // namespace hushgate::http
