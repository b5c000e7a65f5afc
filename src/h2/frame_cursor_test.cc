#include "h2/frame_cursor.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace hushgate::h2 {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kTwoFrames =
    "\0\0\3\0\1\0\0\0\5abc"
    "\0\0\0\6\0\x80\0\1\0"sv;

struct Seen {
  std::vector<FrameHead> heads;
  std::string bytes;
};

// In pieces of `size`.
Seen read(FrameCursor cursor, std::string_view text, std::size_t size) {
  Seen seen;
  while (!text.empty()) {
    std::string_view piece = text.substr(0, size);
    text.remove_prefix(piece.size());
    while (!piece.empty()) {
      const FrameCursor::Slice slice = cursor.next(as_bytes(piece));
      if (slice.begins) seen.heads.push_back(slice.head);
      seen.bytes.append(as_text(slice.bytes));
      piece.remove_prefix(slice.consumed);
    }
  }
  return seen;
}

TEST(FrameCursor, FindsEveryFrameHoweverTheBytesAreCut) {
  for (std::size_t size = 1; size <= kTwoFrames.size(); ++size) {
    const Seen seen = read(FrameCursor(0), kTwoFrames, size);
    ASSERT_EQ(seen.heads.size(), 2U) << size;
    EXPECT_EQ(seen.heads[0].length, 3U);
    EXPECT_EQ(seen.heads[0].type, 0);
    EXPECT_EQ(seen.heads[0].stream, 5);
    EXPECT_EQ(seen.heads[1].length, 0U);
    EXPECT_EQ(seen.heads[1].type, 6);
    EXPECT_EQ(seen.heads[1].stream, 256) << "the reserved bit is none of the number";
    EXPECT_EQ(seen.bytes, kTwoFrames);
  }
}

TEST(FrameCursor, SkipsWhatIsBeforeTheFirstFrame) {
  const std::string text = std::string(kPrefaceBytes, 'x') + std::string(kTwoFrames);
  for (const std::size_t size : {1U, 23U, 24U, 25U, 60U}) {
    EXPECT_EQ(read(FrameCursor(kPrefaceBytes), text, size).heads.size(), 2U) << size;
  }
}

TEST(FrameCursor, GivesAFrameWithItsHeadInOneSlice) {
  FrameCursor cursor(0);
  EXPECT_EQ(cursor.next(as_bytes(kTwoFrames)).bytes.size(), kFrameHeadBytes + 3);
}

TEST(FrameCursor, GivesNothingOfAHeadThatIsNotWhole) {
  FrameCursor cursor(0);
  for (std::size_t at = 0; at + 1 < kFrameHeadBytes; ++at) {
    EXPECT_TRUE(cursor.next(as_bytes(kTwoFrames.substr(at, 1))).bytes.empty()) << at;
  }
  EXPECT_EQ(cursor.next(as_bytes(kTwoFrames.substr(kFrameHeadBytes - 1))).bytes.size(),
            kFrameHeadBytes);
}

}  // namespace
}  // namespace hushgate::h2
