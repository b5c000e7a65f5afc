#include "proxy/out_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "proxy/testing.h"

namespace hushgate::proxy {
namespace {

using testing::ScriptedStream;

TEST(OutBuffer, WhatIsTakenAtOnceNeverWaits) {
  ScriptedStream stream;
  OutBuffer out;
  const std::array pieces{as_bytes("abc"), as_bytes("def")};
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  EXPECT_EQ(stream.written, "abcdef");
  EXPECT_EQ(stream.writes, 1);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.accepted(), 6U);
}

TEST(OutBuffer, NothingToSendIsNoCall) {
  ScriptedStream stream;
  OutBuffer out;
  const std::array pieces{Bytes{}, Bytes{}};
  EXPECT_TRUE(out.flush(stream).has_value());
  EXPECT_TRUE(out.send(stream, pieces).has_value());
  EXPECT_EQ(stream.writes, 0);
}

TEST(OutBuffer, TheTailGoesBeforeThePiecesInOneCall) {
  ScriptedStream stream;
  OutBuffer out;
  out.tail() += "head ";
  const std::array pieces{as_bytes("one "), Bytes{}, as_bytes("two")};
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  EXPECT_EQ(stream.written, "head one two");
  EXPECT_EQ(stream.writes, 1);
  EXPECT_EQ(stream.most_pieces, 3U);  // the empty one is not offered
}

TEST(OutBuffer, TheOrderIsKeptWhereverAWriteEnds) {
  const std::string whole = "tail|first|second|third";
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    for (std::size_t second = 0; second + first <= whole.size(); ++second) {
      ScriptedStream stream;
      stream.takes = {first, second};
      OutBuffer out;
      out.tail() += "tail|";
      const std::array pieces{as_bytes("first|"), as_bytes("second|")};
      ASSERT_TRUE(out.send(stream, pieces).has_value());
      EXPECT_EQ(out.accepted(), std::min(first, std::size_t{18}));
      EXPECT_EQ(out.waiting(), 18 - out.accepted());
      stream.make_writable();
      const std::array more{as_bytes("third")};
      ASSERT_TRUE(out.send(stream, more).has_value());
      while (!out.empty()) {
        stream.make_writable();
        ASSERT_TRUE(out.flush(stream).has_value());
      }
      EXPECT_EQ(stream.written, whole) << first << " then " << second;
      EXPECT_EQ(out.accepted(), whole.size());
    }
  }
}

TEST(OutBuffer, AFullStreamIsNotAskedAgainUntilItHasRoom) {
  ScriptedStream stream;
  stream.takes = {2};
  OutBuffer out;
  const std::array pieces{as_bytes("abcd")};
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  ASSERT_TRUE(out.flush(stream).has_value());
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  EXPECT_EQ(stream.writes, 1);
  EXPECT_EQ(out.waiting(), 6U);
  stream.make_writable();
  ASSERT_TRUE(out.flush(stream).has_value());
  EXPECT_EQ(stream.written, "abcdabcd");
}

TEST(OutBuffer, AFailureDropsEverythingAndSaysWhy) {
  ScriptedStream stream;
  stream.takes = {1};
  OutBuffer out;
  const std::array pieces{as_bytes("abc")};
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  stream.make_writable();
  stream.die();
  const Result<void> result = out.send(stream, pieces);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().os_error, EPIPE);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.accepted(), 1U);
}

TEST(OutBuffer, AsManyPiecesAsAreAllowedFitBehindATail) {
  ScriptedStream stream;
  OutBuffer out;
  out.tail() += "t";
  const std::vector<Bytes> pieces(OutBuffer::kMaxPieces, as_bytes("x"));
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  EXPECT_EQ(stream.written, "t" + std::string(OutBuffer::kMaxPieces, 'x'));
  EXPECT_EQ(stream.most_pieces, io::Stream::kMaxPieces);
}

TEST(OutBuffer, ARestartForgetsWhatWaitsAndCountsAnew) {
  ScriptedStream stream;
  stream.takes = {1};
  OutBuffer out;
  const std::array pieces{as_bytes("abc")};
  ASSERT_TRUE(out.send(stream, pieces).has_value());
  out.restart();
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.waiting(), 0U);
  EXPECT_EQ(out.accepted(), 0U);
}

TEST(OutBuffer, KeepsNoRoomOnceNothingWaits) {
  ScriptedStream stream;
  OutBuffer out;
  out.large_tail().assign(1'000, 'x');
  ASSERT_TRUE(out.flush(stream).has_value());
  EXPECT_FALSE(has_room(out.tail()));
  out.large_tail().assign(10'000, 'x');
  out.restart();
  EXPECT_FALSE(has_room(out.tail()));
}

}  // namespace
}  // namespace hushgate::proxy
