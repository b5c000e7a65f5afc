#include "http/chunked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/limits.h"

namespace hushgate::http {
namespace {

constexpr TrailerBounds kWide{65'536, 128};

struct Decoded {
  ChunkedEvent event = ChunkedEvent::need_more;
  ErrorKind error = ErrorKind::none;
  std::string body;
  std::string rest;      // not consumed when it ended
  std::string trailers;  // "name=value;" each

  friend bool operator==(const Decoded&, const Decoded&) = default;
};

void PrintTo(const Decoded& d, std::ostream* os) {
  *os << "event " << int(d.event) << " error " << int(d.error) << " body '" << d.body << "' rest '"
      << d.rest << "' trailers '" << d.trailers << "'";
}

// Hands the bytes over in pieces that end at `cuts`, each continued until it is consumed.
Decoded decode_in_pieces(std::string_view text, const std::vector<std::size_t>& cuts,
                         TrailerBounds bounds) {
  ChunkedDecoder decoder(bounds);
  Trailers trailers;
  Decoded decoded;
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    while (at < cut && decoded.event == ChunkedEvent::need_more) {
      const ChunkedStep step = decoder.decode(as_bytes(text.substr(at, cut - at)), trailers);
      at += step.consumed;
      decoded.body += as_text(step.data);
      EXPECT_EQ(step.data.empty(), step.event != ChunkedEvent::data);
      if (step.event == ChunkedEvent::need_more) EXPECT_EQ(at, cut);
      if (step.event == ChunkedEvent::data) continue;
      decoded.event = step.event;
      decoded.error = step.error;
    }
  }
  EXPECT_EQ(decoder.done(), decoded.event == ChunkedEvent::done);
  if (decoded.event == ChunkedEvent::done) decoded.rest = text.substr(at);
  if (decoded.event != ChunkedEvent::done) return decoded;
  for (const Field& field : trailers.fields) {
    decoded.trailers += std::string(field.name) + "=" + std::string(field.value) + ";";
  }
  return decoded;
}

// The outcome, after proving that it does not depend on how the bytes are cut.
Decoded decode(std::string_view text, TrailerBounds bounds = kWide) {
  const Decoded at_once = decode_in_pieces(text, {text.size()}, bounds);
  std::vector<std::size_t> every;
  for (std::size_t n = 1; n <= text.size(); ++n) every.push_back(n);
  EXPECT_EQ(at_once, decode_in_pieces(text, every, bounds)) << text.substr(0, 100);
  for (std::size_t cut = 1; cut < std::min<std::size_t>(text.size(), 400); ++cut) {
    EXPECT_EQ(at_once, decode_in_pieces(text, {cut, text.size()}, bounds)) << "cut at " << cut;
  }
  return at_once;
}

void expect_body(std::string_view text, std::string_view body, std::string_view trailers = "") {
  const Decoded decoded = decode(text);
  EXPECT_EQ(decoded.event, ChunkedEvent::done) << text;
  EXPECT_EQ(decoded.body, body) << text;
  EXPECT_EQ(decoded.trailers, trailers) << text;
}

void expect_error(std::string_view text, ErrorKind error = ErrorKind::bad_request,
                  TrailerBounds bounds = kWide) {
  const Decoded decoded = decode(text, bounds);
  EXPECT_EQ(decoded.event, ChunkedEvent::error) << text.substr(0, 100);
  EXPECT_EQ(decoded.error, error) << text.substr(0, 100);
}

TEST(Chunked, BodiesAreDecoded) {
  expect_body("5\r\nhello\r\n0\r\n\r\n", "hello");
  expect_body("0\r\n\r\n", "");
  expect_body("1\r\na\r\n2\r\nbc\r\n00000a\r\n0123456789\r\nB\r\n01234567890\r\n0\r\n\r\n",
              "abc012345678901234567890");
  expect_body("0005\r\nhello\r\n000\r\n\r\n", "hello");
  expect_body("5\r\n\r\n0\r\n\r\n0\r\n\r\n", "\r\n0\r\n");
}

TEST(Chunked, WhatFollowsIsLeftAlone) {
  const Decoded decoded = decode("5\r\nhello\r\n0\r\n\r\nGET /next");
  EXPECT_EQ(decoded.event, ChunkedEvent::done);
  EXPECT_EQ(decoded.rest, "GET /next");
  EXPECT_EQ(decode("0\r\nX-T: 1\r\n\r\nHTTP/1.1 200").rest, "HTTP/1.1 200");
}

TEST(Chunked, ExtensionsAreCheckedAndDropped) {
  for (const char* line :
       {"5;a=b", "5;a", "5;a=\"b;\\\"c\"", "5;a=\"\"", "5;a;b=c;d", "5 ;a=b", "5\t; a = b ; c",
        "5;a=\"\xE9\t x\"", "5;a=\"x\" ;b", "5;chunk-signature=0123abc"}) {
    expect_body(std::string(line) + "\r\nhello\r\n0;c\r\n\r\n", "hello");
  }
}

TEST(Chunked, MalformedExtensionsAreRefused) {
  for (const char* line : {"5;", "5; ", "5;;a", "5;=b", "5;a=", "5;a=\"b", "5;a=\"b\"c", "5;a=b c",
                           "5;a b", "5;a=\"\x01\"", "5;a\x7F", "5;a=\"\\\r\n", "5;a\xE9", "5;a=b=c",
                           "5;a=@", "5;a ", "5;a=b "}) {
    expect_error(std::string(line) + "\r\nhello\r\n0\r\n\r\n");
  }
  expect_error(std::string("5;a=\"\0\"\r\nhello\r\n0\r\n\r\n", 21));
}

TEST(Chunked, SizesThatAreNoHexNumbersAreRefused) {
  for (const char* line : {"-5", "+5", " 5", "\t5", "", "5g", "5,5", "0_5", "0x5", "g", "5 ", "5\t",
                           "5 5", "ZZ", "\"5\"", "5.", "\xEF\xBC\x95"}) {
    expect_error(std::string(line) + "\r\nhello\r\n0\r\n\r\n");
  }
  expect_error(std::string("5\0\r\nhello\r\n0\r\n\r\n", 16));
}

TEST(Chunked, SizesAreBoundedAndDoNotWrap) {
  const auto size_of = [](std::string_view line) {
    ChunkedDecoder decoder(kWide);
    Trailers trailers;
    const std::string text = std::string(line) + "\r\n";
    EXPECT_EQ(decoder.decode(as_bytes(text), trailers).event, ChunkedEvent::need_more) << line;
    return decoder.left_in_chunk();
  };
  EXPECT_EQ(size_of("7ffffffffffffffe"), 0x7FFFFFFFFFFFFFFEu);
  EXPECT_EQ(size_of("7FFFFFFFFFFFFFFF"), 0x7FFFFFFFFFFFFFFFu);
  EXPECT_EQ(size_of("100000005"), 0x100000005u);
  EXPECT_EQ(size_of("0000000000000005"), 5u);
  for (const char* line : {"8000000000000000", "ffffffffffffffff", "10000000000000005",
                           "00000000000000005", "fffffffffffffffff"}) {
    expect_error(std::string(line) + "\r\nhello\r\n0\r\n\r\n");
  }
  expect_error(std::string(40, '0') + "5\r\nhello\r\n0\r\n\r\n");
}

TEST(Chunked, BareReturnsAndLineFeedsAreRefusedEverywhere) {
  for (const char* text :
       {"5\nhello\r\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n", "5\r\r\nhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n", "5;a\rb\r\nhello\r\n0\r\n\r\n", "2;\nxx\r\n4\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r0\r\n\r\n", "5\r\nhello0\r\n\r\n",
        "5\r\nhelloXX0\r\n\r\n", "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\n\n",
        "5\r\nhello\r\n0\r\n\rX", "5\r\nhello\r\n0\r\nX-T: 1\n\r\n",
        "5\r\nhello\r\n0\r\nX-T: 1\rY\r\n\r\n", "5\r\nhello\r\nZZ\r\n\r\n"}) {
    expect_error(text);
  }
}

TEST(Chunked, ACutBodyIsNeverDone) {
  const std::string text = "5;a=\"b\"\r\nhello\r\n0\r\nX-T: 1\r\n\r\n";
  for (std::size_t n = 0; n < text.size(); ++n) {
    EXPECT_EQ(decode(text.substr(0, n)).event, ChunkedEvent::need_more) << n;
  }
}

TEST(Chunked, TheChunkLineIsBounded) {
  const auto with_line = [](std::size_t bytes) {  // the CRLF included
    return "5;" + std::string(bytes - 4, 'a') + "\r\nhello\r\n0\r\n\r\n";
  };
  expect_body(with_line(kMaxChunkLineBytes - 1), "hello");
  expect_body(with_line(kMaxChunkLineBytes), "hello");
  expect_error(with_line(kMaxChunkLineBytes + 1));
  expect_error("5;" + std::string(65'536, 'a') + "\r\nhello\r\n0\r\n\r\n");
  // Every line anew, not all together.
  std::string many;
  for (int i = 0; i < 300; ++i) many += "1\r\nx\r\n";
  expect_body(many + "0\r\n\r\n", std::string(300, 'x'));
}

TEST(Chunked, TrailersAreCollected) {
  expect_body("5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", "hello", "X-T=1;");
  expect_body("0\r\nX-T:  1 \r\nGrpc-Status:0\r\nX-E:\r\n\r\n", "", "X-T=1;Grpc-Status=0;X-E=;");
}

TEST(Chunked, MalformedTrailersAreRefused) {
  for (const char* trailer :
       {"GET /smug HTTP/1.1\r\n", "X-T : 1\r\n", " X-T: 1\r\n", "X-T: 1\r\n b\r\n", ": 1\r\n",
        "X-T\r\n", "X-T: \x01\r\n", "\n", "X T: 1\r\n"}) {
    expect_error("5\r\nhello\r\n0\r\n" + std::string(trailer) + "\r\n");
  }
  expect_error(std::string("0\r\nX-T: a\0b\r\n\r\n", 15));
}

TEST(Chunked, TrailersAreBoundedInBytes) {
  const auto with_section = [](std::size_t bytes) {  // all of the section, its empty line included
    return "0\r\nX: " + std::string(bytes - 7, 'a') + "\r\n\r\n";
  };
  EXPECT_EQ(decode(with_section(39), {40, 5}).event, ChunkedEvent::done);
  EXPECT_EQ(decode(with_section(40), {40, 5}).event, ChunkedEvent::done);
  expect_error(with_section(41), ErrorKind::head_too_large, {40, 5});
  expect_error(with_section(400), ErrorKind::head_too_large, {40, 5});
  EXPECT_EQ(decode(with_section(40) + std::string(100, 'z'), {40, 5}).event, ChunkedEvent::done);
}

TEST(Chunked, TrailersAreBoundedInNumber) {
  const auto with_fields = [](int count) {
    std::string text = "0\r\n";
    for (int i = 0; i < count; ++i) text += "X: a\r\n";
    return text + "\r\n";
  };
  EXPECT_EQ(decode(with_fields(4), {1000, 5}).event, ChunkedEvent::done);
  EXPECT_EQ(decode(with_fields(5), {1000, 5}).event, ChunkedEvent::done);
  expect_error(with_fields(6), ErrorKind::head_too_large, {1000, 5});
  EXPECT_EQ(decode(with_fields(0), {0, 0}).event, ChunkedEvent::done);
  expect_error(with_fields(1), ErrorKind::head_too_large, {0, 0});
}

TEST(Chunked, DataIsAViewIntoTheInput) {
  const std::string text = "5\r\nhello\r\n3\r\nabc\r\n";
  ChunkedDecoder decoder(kWide);
  Trailers trailers;
  const ChunkedStep first = decoder.decode(as_bytes(text), trailers);
  EXPECT_EQ(as_text(first.data).data(), text.data() + 3);
  EXPECT_EQ(first.consumed, 10u);  // with its CRLF
  const ChunkedStep second = decoder.decode(as_bytes(text).subspan(10), trailers);
  EXPECT_EQ(as_text(second.data), "abc");
  EXPECT_EQ(second.consumed, 8u);
}

TEST(Chunked, HeadersAreWrittenForEverySize) {
  const auto header = [](std::uint64_t size) {
    char out[kMaxChunkHeaderBytes];
    return std::string(out, write_chunk_header(size, out));
  };
  EXPECT_EQ(header(1), "1\r\n");
  EXPECT_EQ(header(0xF), "f\r\n");
  EXPECT_EQ(header(0x10), "10\r\n");
  EXPECT_EQ(header(0xABC), "abc\r\n");
  EXPECT_EQ(header(65'536), "10000\r\n");
  EXPECT_EQ(header(0xFFFFFFFFFFFFFFFF), "ffffffffffffffff\r\n");
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t size = std::uint64_t{1} << bit;
    EXPECT_EQ(std::stoull(header(size), nullptr, 16), size);
  }
}

TEST(Chunked, WhatIsEncodedDecodesToTheSame) {
  std::string encoded;
  for (const std::size_t size : {1u, 15u, 16u, 17u, 255u, 256u}) {
    char header[kMaxChunkHeaderBytes];
    encoded.append(header, write_chunk_header(size, header));
    encoded += std::string(size, 'q') + "\r\n";
  }
  expect_body(encoded + std::string(kLastChunk), std::string(560, 'q'));
}

}  // namespace
}  // namespace hushgate::http
