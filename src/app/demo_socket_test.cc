#include "app/demo_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "http/parser.h"

namespace hushgate::app {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::string_literals;

DemoReply shake(const std::string& fields) {
  const std::string bytes = "GET /ws HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  http::RequestHead head;
  EXPECT_TRUE(http::parse_request_head(bytes, head));
  return socket_reply({.head = head, .path = head.path, .body = {}});
}

constexpr const char* kUpgrade = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n";
constexpr const char* kKey = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
constexpr const char* kVersion = "Sec-WebSocket-Version: 13\r\n";

TEST(DemoSocket, TheHandshakeIsTheStandardsOwnExample) {
  const DemoReply reply = shake(std::string(kUpgrade) + kKey + kVersion);
  EXPECT_EQ(reply.status, 101);
  EXPECT_EQ(reply.play, DemoPlay::socket);
  EXPECT_THAT(reply.fields, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_THAT(reply.fields, Not(HasSubstr("Sec-WebSocket-Protocol")));
}

TEST(DemoSocket, TheFirstProtocolThatIsOfferedIsTaken) {
  const DemoReply reply =
      shake(std::string(kUpgrade) + kKey + kVersion + "Sec-WebSocket-Protocol: chat, more\r\n");
  EXPECT_THAT(reply.fields, HasSubstr("Sec-WebSocket-Protocol: chat\r\n"));
}

TEST(DemoSocket, WhatIsNoHandshakeIsRefusedAndALookGetsAPage) {
  EXPECT_EQ(shake(std::string(kUpgrade) + kKey).status, 400);
  EXPECT_EQ(shake(std::string(kUpgrade) + kVersion).status, 400);
  EXPECT_EQ(shake(std::string(kUpgrade) + kKey + "Sec-WebSocket-Version: 8\r\n").status, 400);
  EXPECT_EQ(shake("Connection: Upgrade\r\nUpgrade: other\r\n"s + kKey + kVersion).status, 400);
  const DemoReply page = shake("");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
}

// A client's frame: its first byte, and the payload masked.
std::string frame(unsigned first, std::string_view payload) {
  std::string text(1, static_cast<char>(first));
  const std::size_t size = payload.size();
  if (size < 126) {
    text += static_cast<char>(0x80U | size);
  } else if (size < 65'536) {
    text += static_cast<char>(0x80U | 126U);
    for (int shift = 8; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift & 0xFFU);
  } else {
    text += static_cast<char>(0x80U | 127U);
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift & 0xFFU);
  }
  constexpr std::string_view kMask = "\x01\x7F\x80\xFE";
  text += kMask;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(payload[i] ^ kMask[i % 4]);
  return text;
}

std::string echo_of(std::string_view input, std::size_t piece = std::string::npos) {
  DemoFrameEcho frames;
  std::string output;
  for (std::size_t at = 0; at < input.size(); at += std::min(piece, input.size() - at)) {
    frames.feed(input.substr(at, piece), output);
  }
  return output;
}

TEST(DemoSocket, MessagesComeBackUnmaskedWithTheirLength) {
  EXPECT_EQ(echo_of(frame(0x81, "hello")), "\x81\x05hello");
  EXPECT_EQ(echo_of(frame(0x82, "")), "\x82\0"s);
  EXPECT_EQ(echo_of(frame(0x81, std::string(125, 'x'))).substr(0, 2), "\x81\x7D");
  EXPECT_EQ(echo_of(frame(0x81, std::string(126, 'x'))).substr(0, 4), "\x81\x7E\x00\x7E"s);
  EXPECT_EQ(echo_of(frame(0x81, std::string(65'535, 'x'))).substr(0, 4), "\x81\x7E\xFF\xFF");
  EXPECT_EQ(echo_of(frame(0x81, std::string(65'536, 'x'))).substr(0, 10),
            "\x81\x7F\0\0\0\0\0\x01\0\0"s);
}

TEST(DemoSocket, ComesOutTheSameHoweverTheBytesWereCut) {
  const std::string input = frame(0x01, "frag") + frame(0x89, "ping") + frame(0x00, "") +
                            frame(0x80, std::string(300, 'y')) + frame(0x8A, "pong") +
                            frame(0x81, "next");
  const std::string output =
      "\x01\x04"
      "frag\x8A\x04ping" +
      "\0\0"s + "\x80\x7E\x01\x2C"s + std::string(300, 'y') + "\x81\x04next";
  for (std::size_t piece = 1; piece <= input.size(); ++piece) {
    EXPECT_EQ(echo_of(input, piece), output) << piece;
  }
}

TEST(DemoSocket, ACloseIsAnsweredByTheSameCloseAndEndsIt) {
  DemoFrameEcho frames;
  std::string output;
  frames.feed(frame(0x88,
                    "\x0F\xA1"
                    "enough") +
                  frame(0x81, "late"),
              output);
  EXPECT_TRUE(frames.closed());
  EXPECT_EQ(output,
            "\x88\x08\x0F\xA1"
            "enough");
  EXPECT_EQ(echo_of(frame(0x88, "")), "\x88\0"s);
}

TEST(DemoSocket, WhatNoClientMaySendEndsItWithAProtocolError) {
  for (const std::string& input :
       std::initializer_list<std::string>{"\x81\x01x",                         // unmasked
                                          frame(0xC1, "x"),                    // reserved bit
                                          frame(0x83, "x"), frame(0x8B, "x"),  // unknown opcodes
                                          frame(0x80, "x"),                    // continues nothing
                                          frame(0x09, "x"),  // a ping in fragments
                                          frame(0x89, std::string(126, 'x'))}) {  // a ping too long
    EXPECT_EQ(echo_of(input), "\x88\x02\x03\xEA") << input[0];
  }
  EXPECT_EQ(echo_of(frame(0x01, "a") + frame(0x81, "b")),
            "\x01\x01"
            "a\x88\x02\x03\xEA");
  const std::string header = "\x82\xFF\0\0\0\0"s;
  EXPECT_EQ(echo_of(header + "\x40\0\0\x01mask"s), "\x88\x02\x03\xF1") << "one byte over 1 GiB";
  EXPECT_EQ(echo_of(header + "\x40\0\0\0mask"s), "\x82\x7F\0\0\0\0\x40\0\0\0"s);
}

}  // namespace
}  // namespace hushgate::app
