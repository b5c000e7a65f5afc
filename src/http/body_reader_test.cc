#include "http/body_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace hushgate::http {
namespace {

constexpr TrailerBounds kBounds{1'000, 10};

BodyReader reader_of(Framing framing) {
  BodyReader reader;
  reader.begin(framing, kBounds);
  return reader;
}

// Of a text that is well formed and holds nothing behind the body.
std::string payload_of(BodyReader& reader, std::string_view text) {
  std::string payload;
  for (Bytes in = as_bytes(text); !in.empty();) {
    const BodyReader::Piece piece = reader.read(in);
    EXPECT_EQ(piece.error, ErrorKind::none) << text;
    if (piece.error != ErrorKind::none || piece.consumed == 0) break;
    payload += as_text(piece.data);
    in = in.subspan(piece.consumed);
  }
  return payload;
}

TEST(BodyReader, ALengthIsReadToItsLastByteAndNotFurther) {
  BodyReader reader = reader_of({FramingKind::length, 5});
  EXPECT_EQ(reader.left(), 5U);
  EXPECT_EQ(as_text(reader.read(as_bytes("abc")).data), "abc");
  EXPECT_EQ(reader.left(), 2U);
  EXPECT_FALSE(reader.ended());
  const BodyReader::Piece last = reader.read(as_bytes("deGET /"));
  EXPECT_EQ(as_text(last.data), "de");
  EXPECT_EQ(last.consumed, 2U);
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(reader.left(), 0U);
  EXPECT_EQ(reader.read(as_bytes("GET /")).consumed, 0U);
}

TEST(BodyReader, ABodylessMessageHasEndedBeforeItsFirstByte) {
  EXPECT_TRUE(reader_of({FramingKind::none, 0}).ended());
  EXPECT_TRUE(reader_of({FramingKind::length, 0}).ended());
  EXPECT_EQ(reader_of({FramingKind::none, 0}).left(), 0U);
  EXPECT_FALSE(reader_of({FramingKind::chunked, 0}).ended());
  EXPECT_FALSE(reader_of({FramingKind::until_eof, 0}).ended());
}

TEST(BodyReader, OnlyAnEofDelimitedBodyEndsWithItsInput) {
  BodyReader reader = reader_of({FramingKind::until_eof, 0});
  EXPECT_EQ(as_text(reader.read(as_bytes("all of it")).data), "all of it");
  EXPECT_TRUE(reader.ends_with_eof());
  EXPECT_FALSE(reader.ended());
  EXPECT_EQ(reader.left(), std::nullopt);
  reader.end_of_input();
  EXPECT_TRUE(reader.ended());
  EXPECT_FALSE(reader_of({FramingKind::length, 5}).ends_with_eof());
  EXPECT_FALSE(reader_of({FramingKind::chunked, 0}).ends_with_eof());
}

TEST(BodyReader, AChunkedBodyTellsNotWhatIsLeft) {
  BodyReader reader = reader_of({FramingKind::chunked, 0});
  EXPECT_EQ(reader.left(), std::nullopt);
  EXPECT_EQ(payload_of(reader, "5\r\nhello\r\n0\r\n\r\n"), "hello");
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(reader.left(), 0U);
}

TEST(BodyReader, BehindABrokenChunkNothingHasAMeaning) {
  BodyReader reader = reader_of({FramingKind::chunked, 0});
  const BodyReader::Piece broken = reader.read(as_bytes("zz\r\nhello"));
  EXPECT_EQ(broken.error, ErrorKind::bad_request);
  EXPECT_EQ(broken.consumed, 9U);
  const BodyReader::Piece after = reader.read(as_bytes("5\r\nhello\r\n0\r\n\r\n"));
  EXPECT_EQ(after.consumed, 15U);
  EXPECT_TRUE(after.data.empty());
  EXPECT_FALSE(reader.ended());
}

TEST(BodyReader, CanBeginAgain) {
  BodyReader reader = reader_of({FramingKind::chunked, 0});
  reader.read(as_bytes("0\r\nX: y\r\n\r\n"));
  EXPECT_EQ(reader.trailers().size(), 1U);
  reader.begin({FramingKind::length, 1}, kBounds);
  EXPECT_TRUE(reader.trailers().empty());
  EXPECT_FALSE(reader.ended());
}

}  // namespace
}  // namespace hushgate::http
