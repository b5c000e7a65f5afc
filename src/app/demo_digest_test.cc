#include "app/demo_digest.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace hushgate::app {
namespace {

std::string sha1_of(std::string_view bytes) {
  DemoSha1 sha1;
  sha1.update(bytes);
  return hex_of(sha1.finish());
}

TEST(DemoDigest, IsWhatTheStandardAndSha1sumSay) {
  EXPECT_EQ(sha1_of(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_of(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(DemoDigest, ComesOutTheSameHoweverTheBytesWereCut) {
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes += static_cast<char>(i);
  for (std::size_t size : {55U, 56U, 63U, 64U, 65U, 119U, 128U, 200U}) {
    const std::string_view whole = std::string_view(bytes).substr(0, size);
    for (std::size_t piece = 1; piece <= size; ++piece) {
      DemoSha1 sha1;
      for (std::size_t at = 0; at < size; at += piece) sha1.update(whole.substr(at, piece));
      EXPECT_EQ(hex_of(sha1.finish()), sha1_of(whole)) << size << " in pieces of " << piece;
    }
  }
}

TEST(DemoDigest, Base64IsPadded) {
  for (const auto& [bytes, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64_of(bytes), text);
  }
  EXPECT_EQ(base64_of("\xFF\xFE\xFD"), "//79");
}

}  // namespace
}  // namespace hushgate::app
