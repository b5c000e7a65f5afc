#include "proxy/body.h"

#include <gtest/gtest.h>

#include <string>

#include "proxy/testing.h"

namespace hushgate::proxy {
namespace {

using http::Framing;
using http::FramingKind;
using testing::ScriptedStream;

constexpr http::TrailerBounds kBounds{1'000, 10};
constexpr std::string_view kFive = "5\r\nhello\r\n";

BodyReader reader_of(Framing framing, http::TrailerBounds bounds = kBounds) {
  BodyReader reader;
  reader.begin(framing, bounds);
  return reader;
}

// Feeds `in` in pieces of `step` bytes, as a session does: what is not consumed is handed in again.
struct Relay {
  Relay(Framing framing, FramingKind as, std::string_view in, std::size_t step,
        http::TrailerBounds bounds = kBounds)
      : reader(reader_of(framing, bounds)) {
    std::size_t at = 0;
    while (at < in.size() && !reader.ended() && error == ErrorKind::none) {
      const Relayed moved = relay_body(as_bytes(in.substr(at, step)), reader, as, out, stream);
      at += moved.consumed;
      payload += moved.payload;
      error = moved.error;
      failed = failed || moved.failed;
    }
    surplus = in.substr(at);
  }

  BodyReader reader;
  OutBuffer out;
  ScriptedStream stream;
  std::uint64_t payload = 0;
  ErrorKind error = ErrorKind::none;
  bool failed = false;
  std::string surplus;
};

// The payload of a chunked text that must be well formed to its end, and its trailers.
struct Decoded {
  explicit Decoded(std::string_view text) : reader(reader_of({FramingKind::chunked, 0})) {
    Bytes in = as_bytes(text);
    while (!in.empty() && !reader.ended()) {
      const BodyReader::Piece piece = reader.read(in);
      EXPECT_EQ(piece.error, ErrorKind::none) << text;
      if (piece.error != ErrorKind::none) return;
      payload += as_text(piece.data);
      in = in.subspan(piece.consumed);
    }
    complete = reader.ended() && in.empty();
  }
  BodyReader reader;
  std::string payload;
  bool complete = false;
};

TEST(RelayBody, ALengthPassesAsItIsHoweverItWasCut) {
  for (std::size_t step = 1; step <= 12; ++step) {
    const Relay relay({FramingKind::length, 11}, FramingKind::length, "hello worldGET", step);
    EXPECT_EQ(relay.stream.written, "hello world");
    EXPECT_EQ(relay.payload, 11U);
    EXPECT_EQ(relay.surplus, "GET");
    EXPECT_TRUE(relay.reader.ended());
  }
}

TEST(RelayBody, AChunkedBodyIsWrittenAnewHoweverItWasCut) {
  const std::string in = "5;ext=1\r\nhello\r\n1\r\n \r\n005\r\nworld\r\n0\r\n\r\nGET /";
  for (std::size_t step = 1; step <= in.size(); ++step) {
    const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked, in, step);
    const Decoded decoded(relay.stream.written);
    EXPECT_EQ(decoded.payload, "hello world") << step;
    EXPECT_TRUE(decoded.complete) << relay.stream.written;
    EXPECT_EQ(relay.stream.written.find("ext"), std::string::npos);
    EXPECT_EQ(relay.payload, 11U);
    EXPECT_EQ(relay.surplus, "GET /");
  }
}

TEST(RelayBody, AWholeChunkedBodyGoesOutAsOneChunkAndItsEnd) {
  const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked,
                    "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", 100);
  EXPECT_EQ(relay.stream.written, "b\r\nhello world\r\n0\r\n\r\n");
  EXPECT_EQ(relay.stream.writes, 1);
}

TEST(RelayBody, TrailersPassThroughWithoutFramingOrRoutingFields) {
  const std::string in = "5\r\nhello\r\n0\r\nX-Sum: 7\r\nContent-Length: 3\r\nHost: evil\r\n\r\n";
  for (std::size_t step = 1; step <= in.size(); ++step) {
    const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked, in, step);
    EXPECT_TRUE(relay.stream.written.ends_with("0\r\nX-Sum: 7\r\n\r\n")) << relay.stream.written;
    EXPECT_TRUE(Decoded(relay.stream.written).complete);
  }
}

TEST(RelayBody, TrailersBehindAnEmptyBodyPassToo) {
  const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked, "0\r\nX-Sum: 7\r\n\r\n", 100);
  EXPECT_EQ(relay.stream.written, "0\r\nX-Sum: 7\r\n\r\n");
}

TEST(RelayBody, AChunkedBodyToAClientOfHttp10LosesItsChunksAndTrailers) {
  const Relay relay({FramingKind::chunked, 0}, FramingKind::until_eof,
                    "5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n", 4);
  EXPECT_EQ(relay.stream.written, "hello");
  EXPECT_TRUE(relay.reader.ended());
}

TEST(RelayBody, AnEofDelimitedBodyIsChunkedAndEndedByHand) {
  Relay relay({FramingKind::until_eof, 0}, FramingKind::chunked, "hello", 3);
  EXPECT_EQ(relay.stream.written, "3\r\nhel\r\n2\r\nlo\r\n");
  relay.reader.end_of_input();
  ASSERT_TRUE(finish_body(relay.reader, FramingKind::chunked, relay.out, relay.stream).has_value());
  EXPECT_EQ(relay.stream.written, "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
}

TEST(RelayBody, FinishingAnythingButChunksWritesNothing) {
  Relay relay({FramingKind::until_eof, 0}, FramingKind::until_eof, "hello", 5);
  ASSERT_TRUE(
      finish_body(relay.reader, FramingKind::until_eof, relay.out, relay.stream).has_value());
  EXPECT_EQ(relay.stream.written, "hello");
}

TEST(RelayBody, MoreChunksThanPiecesArePassedInSeveralWrites) {
  std::string in, payload;
  for (std::size_t i = 0; i < 5 * OutBuffer::kMaxPieces; ++i) {
    const char c = static_cast<char>('a' + i % 26);
    in += std::string("1\r\n") + c + "\r\n";
    payload += c;
  }
  in += "0\r\n\r\n";
  const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked, in, in.size());
  const Decoded decoded(relay.stream.written);
  EXPECT_EQ(decoded.payload, payload);
  EXPECT_TRUE(decoded.complete);
  EXPECT_GT(relay.stream.writes, 4);
  EXPECT_LE(relay.stream.most_pieces, io::Stream::kMaxPieces);
}

TEST(RelayBody, TheBoundOfPiecesIsMetExactly) {
  for (const std::size_t chunks :
       {OutBuffer::kMaxPieces - 2, OutBuffer::kMaxPieces - 1, OutBuffer::kMaxPieces}) {
    std::string in;
    for (std::size_t i = 0; i < chunks; ++i) in += "1\r\nx\r\n";
    in += "0\r\n\r\n";
    const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked, in, in.size());
    const Decoded decoded(relay.stream.written);
    EXPECT_EQ(decoded.payload, std::string(chunks, 'x'));
    EXPECT_TRUE(decoded.complete);
    EXPECT_EQ(relay.stream.written.find("0\r\n\r\n"), relay.stream.written.size() - 5);
  }
}

TEST(RelayBody, ABrokenChunkIsCutVisibly) {
  for (const std::string_view broken :
       {"5\r\nhelloXX", "5\r\nhello\r\nzz\r\n", "5\r\nhello\r\n-1\r\n", "5\r\nhello\n0\r\n\r\n"}) {
    for (std::size_t step = 1; step <= broken.size(); ++step) {
      const Relay relay({FramingKind::chunked, 0}, FramingKind::chunked, broken, step);
      EXPECT_EQ(relay.error, ErrorKind::bad_request) << broken;
      EXPECT_EQ(relay.stream.written.find("0\r\n\r\n"), std::string::npos);
      EXPECT_FALSE(relay.reader.ended());
    }
  }
}

TEST(RelayBody, TrailersOverTheirBoundAreRefused) {
  const std::string in = "0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n";
  EXPECT_EQ(Relay({FramingKind::chunked, 0}, FramingKind::chunked, in, 7, {1'000, 3}).error,
            ErrorKind::none);
  EXPECT_EQ(Relay({FramingKind::chunked, 0}, FramingKind::chunked, in, 7, {1'000, 2}).error,
            ErrorKind::head_too_large);
  EXPECT_EQ(Relay({FramingKind::chunked, 0}, FramingKind::chunked, in, 7, {10, 10}).error,
            ErrorKind::head_too_large);
}

TEST(RelayBody, ADeadStreamIsSaid) {
  BodyReader reader = reader_of({FramingKind::length, 5});
  OutBuffer out;
  ScriptedStream stream;
  stream.die();
  EXPECT_TRUE(relay_body(as_bytes("hello"), reader, FramingKind::length, out, stream).failed);
}

TEST(RelayBody, WhatAFullStreamDoesNotTakeWaitsInOrder) {
  for (std::size_t taken = 0; taken <= 20; ++taken) {
    BodyReader reader = reader_of({FramingKind::chunked, 0});
    OutBuffer out;
    ScriptedStream stream;
    stream.takes = {taken};
    const std::string in = std::string(kFive) + "0\r\n\r\n";
    ASSERT_FALSE(relay_body(as_bytes(in), reader, FramingKind::chunked, out, stream).failed);
    stream.make_writable();
    ASSERT_TRUE(out.flush(stream).has_value());
    EXPECT_EQ(stream.written, "5\r\nhello\r\n0\r\n\r\n") << taken;
  }
}

TEST(DiscardBody, ReadsToTheEndAndLeavesTheSurplus) {
  BodyReader length = reader_of({FramingKind::length, 5});
  const Relayed of_length = discard_body(as_bytes("helloGET"), length);
  EXPECT_EQ(of_length.consumed, 5U);
  EXPECT_EQ(of_length.payload, 5U);
  EXPECT_TRUE(length.ended());
  BodyReader chunked = reader_of({FramingKind::chunked, 0});
  const std::string in = std::string(kFive) + "0\r\n\r\nGET";
  const Relayed of_chunks = discard_body(as_bytes(in), chunked);
  EXPECT_EQ(of_chunks.consumed, in.size() - 3);
  EXPECT_EQ(of_chunks.payload, 5U);
  EXPECT_TRUE(chunked.ended());
  BodyReader broken = reader_of({FramingKind::chunked, 0});
  EXPECT_EQ(discard_body(as_bytes("x"), broken).error, ErrorKind::bad_request);
}

}  // namespace
}  // namespace hushgate::proxy
