// Whatever a peer sends comes to one head or to none: drawn from pieces that have split messages
// before.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "h2/message.h"
#include "h2/message_testing.h"
#include "http/scanner.h"

namespace hushgate::h2 {
namespace {

using testing::block_of;
using testing::Fields;

constexpr int kDraws = 20'000;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return engine_() % bound; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  std::string name() {
    static constexpr std::array kNames = {
        ":method",
        ":path",
        ":scheme",
        ":authority",
        ":protocol",
        ":status",
        "host",
        "content-length",
        "te",
        "cookie",
        "transfer-encoding",
        "x-a",
        "trailer",
        "connection",
        "upgrade",
        "expect",
        "http2-settings",
        "sec-websocket-key",
    };
    return bent(kNames[below(kNames.size())]);
  }
  std::string value() {
    static constexpr std::array kValues = {
        "GET", "CONNECT", "/", "*", "https",   "a.example", "websocket",    "200",
        "0",   "5",       "x", "",  "chunked", "trailers",  "100-continue",
    };
    return bent(kValues[below(kValues.size())]);
  }

 private:
  std::string bent(std::string text) {
    static constexpr std::array<std::string_view, 8> kPieces = {
        "\r\n", "\n", "\r", std::string_view("\0", 1), " ", ":", "\r\n\r\nGET / HTTP/1.1\r\n", "A"};
    if (one_in(8)) text.insert(below(text.size() + 1), kPieces[below(kPieces.size())]);
    return text;
  }

  std::mt19937 engine_;
};

Fields drawn(Dice& dice, Fields fields) {
  for (std::size_t changes = dice.below(4); changes > 0; --changes) {
    const auto at = static_cast<std::ptrdiff_t>(dice.below(fields.size() + 1));
    if (dice.one_in(3) && at < std::ssize(fields)) {
      fields.erase(fields.begin() + at);
    } else {
      fields.insert(fields.begin() + at, {dice.name(), dice.value()});
    }
  }
  return fields;
}

void expect_one_head(http::ScanRole role, std::string_view text, unsigned seed) {
  http::HeadScanner scanner(role, http::ScanBounds::of(Limits{}));
  const http::Scan scan = scanner.scan(text);
  ASSERT_EQ(scan.event, http::ScanEvent::complete) << "seed " << seed << ": " << text;
  EXPECT_EQ(scan.skipped, 0U) << "seed " << seed << ": " << text;
  EXPECT_EQ(scan.length, text.size()) << "seed " << seed << ": " << text;
}

TEST(RandomMessages, ARequestIsOneHeadOrMalformed) {
  int taken = 0;
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    Dice dice(seed);
    const Fields start = dice.one_in(3) ? testing::connect("websocket")
                                        : testing::request(dice.one_in(2) ? "GET" : "POST");
    const Block block = block_of(drawn(dice, start));
    std::string text;
    if (!request_text(block, dice.one_in(2) ? Stream::open : Stream::ended, "key", text)) {
      ASSERT_EQ(text, "") << seed;
      continue;
    }
    ++taken;
    expect_one_head(http::ScanRole::request, text, seed);
  }
  EXPECT_GT(taken, kDraws / 10);
  EXPECT_LT(taken, kDraws * 9 / 10);
}

TEST(RandomMessages, AResponseIsOneHeadOrMalformed) {
  int taken = 0;
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    Dice dice(seed);
    const Block block = block_of(drawn(dice, testing::response(dice.one_in(5) ? "103" : "200")));
    const Asked asked{.method = http::Method::get,
                      .protocol = dice.one_in(3) ? "websocket" : std::string_view()};
    std::string text;
    if (!response_text(block, asked, dice.one_in(2) ? Stream::open : Stream::ended, text)) {
      ASSERT_EQ(text, "") << seed;
      continue;
    }
    ++taken;
    expect_one_head(http::ScanRole::response, text, seed);
  }
  EXPECT_GT(taken, kDraws / 10);
  EXPECT_LT(taken, kDraws * 9 / 10);
}

TEST(RandomMessages, TrailersEndTheirMessageOrAreMalformed) {
  int taken = 0;
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    Dice dice(seed);
    const Block block = block_of(drawn(dice, {{"x-sum", "7"}}));
    std::string text;
    if (!trailer_text(block, text)) {
      ASSERT_EQ(text, "") << seed;
      continue;
    }
    ++taken;
    ASSERT_TRUE(text.starts_with("0\r\n"));
    expect_one_head(http::ScanRole::trailers, std::string_view(text).substr(3), seed);
  }
  EXPECT_GT(taken, kDraws / 10);
}

}  // namespace
}  // namespace hushgate::h2
