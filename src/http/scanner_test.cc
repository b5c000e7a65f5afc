#include "http/scanner.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace hushgate::http {
namespace {

constexpr ScanBounds kWide{16'384, 65'536, 128};

bool same(const Scan& a, const Scan& b) {
  return std::tie(a.event, a.error, a.skipped, a.length) ==
         std::tie(b.event, b.error, b.skipped, b.length);
}

// The verdict, after proving that it is the same for every way to cut the bytes in two, and byte by
// byte.
Scan scan_all_ways(ScanRole role, const ScanBounds& bounds, std::string_view text) {
  HeadScanner whole(role, bounds);
  const Scan at_once = whole.scan(text);
  HeadScanner dripped(role, bounds);
  Scan last;
  for (std::size_t n = 1; n <= text.size() && last.event == ScanEvent::need_more; ++n) {
    last = dripped.scan(text.substr(0, n));
  }
  EXPECT_TRUE(same(at_once, last)) << "dripped: " << text.substr(0, 200);
  const std::size_t step = text.size() > 512 ? 61 : 1;
  for (std::size_t cut = 0; cut <= text.size(); cut += step) {
    HeadScanner halves(role, bounds);
    Scan scan = halves.scan(text.substr(0, cut));
    if (scan.event == ScanEvent::need_more) scan = halves.scan(text);
    EXPECT_TRUE(same(at_once, scan)) << "cut at " << cut;
  }
  return at_once;
}

Scan scan_request(std::string_view text, const ScanBounds& bounds = kWide) {
  return scan_all_ways(ScanRole::request, bounds, text);
}

void expect_complete(const Scan& scan, std::size_t skipped, std::size_t length) {
  EXPECT_EQ(scan.event, ScanEvent::complete);
  EXPECT_EQ(scan.skipped, skipped);
  EXPECT_EQ(scan.length, length);
}

void expect_refused(const Scan& scan, ErrorKind error) {
  EXPECT_EQ(scan.event, ScanEvent::refused);
  EXPECT_EQ(scan.error, error);
}

TEST(HeadScanner, FindsTheEndAndLeavesWhatFollows) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  expect_complete(scan_request(head), 0, head.size());
  expect_complete(scan_request(head + "GET /next\n\0"), 0, head.size());
  expect_complete(scan_request("GET / HTTP/1.0\r\n\r\n"), 0, 18);
}

TEST(HeadScanner, NeedsMoreUntilTheLastByte) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t n = 0; n < head.size(); ++n) {
    HeadScanner scanner(ScanRole::request, kWide);
    EXPECT_EQ(scanner.scan(std::string_view(head).substr(0, n)).event, ScanEvent::need_more) << n;
    EXPECT_EQ(scanner.begun(), n > 0 && !(n == 1 && head[0] == '\r'));
  }
}

TEST(HeadScanner, SkipsExactlyOneEmptyLineBeforeARequest) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const Scan scan = scan_request("\r\n" + head);
  expect_complete(scan, 2, head.size() + 2);
  EXPECT_EQ(scan.head("\r\n" + head + "rest"), head);
  expect_refused(scan_request("\r\n\r\n" + head), ErrorKind::bad_request);
  expect_refused(scan_request("\n" + head), ErrorKind::bad_request);
  expect_refused(scan_request("\r" + head), ErrorKind::bad_request);
  expect_refused(scan_all_ways(ScanRole::response, kWide, "\r\nHTTP/1.1 200 OK\r\n\r\n"),
                 ErrorKind::bad_request);
}

TEST(HeadScanner, RefusesEveryControlCharacterAnywhere) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\t' || byte == '\r' || byte == '\n' || (byte >= 0x20 && byte != 0x7F)) continue;
    for (const std::size_t at : {0u, 3u, 14u, 16u, 20u, 24u}) {
      std::string text = "GET / HTTP/1.1\r\nHost: abc\r\n\r\n";
      text.insert(at, 1, static_cast<char>(byte));
      expect_refused(scan_request(text), ErrorKind::bad_request);
    }
  }
}

TEST(HeadScanner, RefusesBareLineFeedsAndReturns) {
  for (const char* text :
       {"GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nX-A: a\n\nGET /smug HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"}) {
    expect_refused(scan_request(text), ErrorKind::bad_request);
  }
}

TEST(HeadScanner, RefusesBeforeTheHeadIsComplete) {
  HeadScanner scanner(ScanRole::request, kWide);
  expect_refused(scanner.scan(std::string_view("\x16\x03\x01\0\xC8", 5)), ErrorKind::bad_request);
}

TEST(HeadScanner, BoundsTheRequestLineWithoutItsCrlf) {
  const ScanBounds bounds{20, 1000, 10};
  const auto with_line = [](std::size_t length) {
    return std::string(length, 'x') + "\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(scan_request(with_line(19), bounds).event, ScanEvent::complete);
  EXPECT_EQ(scan_request(with_line(20), bounds).event, ScanEvent::complete);
  expect_refused(scan_request(with_line(21), bounds), ErrorKind::target_too_long);
  expect_refused(scan_request(std::string(21, 'x'), bounds), ErrorKind::target_too_long);
  EXPECT_EQ(scan_request(std::string(20, 'x'), bounds).event, ScanEvent::need_more);
  // The skipped empty line is not counted.
  EXPECT_EQ(scan_request("\r\n" + with_line(20), bounds).event, ScanEvent::complete);
  expect_refused(scan_request("\r\n" + with_line(21), bounds), ErrorKind::target_too_long);
  // Nor is what a bad byte would have been behind the bound.
  expect_refused(scan_request(std::string(30, 'x') + "\n", bounds), ErrorKind::target_too_long);
  expect_refused(scan_request(std::string(20, 'x') + "\n", bounds), ErrorKind::bad_request);
}

TEST(HeadScanner, BoundsTheWholeHead) {
  const ScanBounds bounds{50, 60, 10};
  const auto of_bytes = [](std::size_t bytes) {
    const std::string start = "GET / HTTP/1.1\r\nX: ";
    return start + std::string(bytes - start.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(scan_request(of_bytes(59), bounds).event, ScanEvent::complete);
  EXPECT_EQ(scan_request(of_bytes(60), bounds).event, ScanEvent::complete);
  expect_refused(scan_request(of_bytes(61), bounds), ErrorKind::head_too_large);
  expect_refused(scan_request(of_bytes(62), bounds), ErrorKind::head_too_large);
  expect_refused(scan_request(of_bytes(63), bounds), ErrorKind::head_too_large);
  expect_refused(scan_request(of_bytes(64), bounds), ErrorKind::head_too_large);
  expect_refused(scan_request(of_bytes(300), bounds), ErrorKind::head_too_large);
  EXPECT_EQ(scan_request(of_bytes(60) + "more", bounds).event, ScanEvent::complete);
  EXPECT_EQ(scan_request("\r\n" + of_bytes(60), bounds).event, ScanEvent::complete);
  expect_refused(scan_request("\r\n" + of_bytes(61), bounds), ErrorKind::head_too_large);
}

TEST(HeadScanner, ARequestLineOverTheBoundOfTheHeadIsTheHeadsFault) {
  const ScanBounds bounds{100, 50, 10};
  expect_refused(scan_request(std::string(200, 'x'), bounds), ErrorKind::head_too_large);
  EXPECT_EQ(scan_request(std::string(50, 'x'), bounds).event, ScanEvent::need_more);
  expect_refused(scan_request(std::string(51, 'x'), bounds), ErrorKind::head_too_large);
}

TEST(HeadScanner, BoundsTheNumberOfFields) {
  const ScanBounds bounds{100, 10'000, 5};
  const auto with_fields = [](std::size_t count) {
    std::string text = "GET / HTTP/1.1\r\n";
    for (std::size_t i = 0; i < count; ++i) text += "A: b\r\n";
    return text + "\r\n";
  };
  EXPECT_EQ(scan_request(with_fields(4), bounds).event, ScanEvent::complete);
  EXPECT_EQ(scan_request(with_fields(5), bounds).event, ScanEvent::complete);
  expect_refused(scan_request(with_fields(6), bounds), ErrorKind::head_too_large);
}

TEST(HeadScanner, AResponseHasNoBoundOnItsFirstLineButTheHeads) {
  const ScanBounds bounds{10, 200, 5};
  const std::string line = "HTTP/1.1 200 " + std::string(100, 'r') + "\r\n";
  const Scan scan = scan_all_ways(ScanRole::response, bounds, line + "A: b\r\n\r\n");
  expect_complete(scan, 0, line.size() + 8);
  expect_refused(scan_all_ways(ScanRole::response, bounds, std::string(300, 'x')),
                 ErrorKind::head_too_large);
}

TEST(HeadScanner, TrailersAreFieldsWithoutAFirstLine) {
  const ScanBounds bounds{0, 40, 2};
  expect_complete(scan_all_ways(ScanRole::trailers, bounds, "\r\nGET /"), 0, 2);
  expect_complete(scan_all_ways(ScanRole::trailers, bounds, "A: b\r\n\r\nGET /"), 0, 8);
  expect_complete(scan_all_ways(ScanRole::trailers, bounds, "A: b\r\nC: d\r\n\r\n"), 0, 14);
  expect_refused(scan_all_ways(ScanRole::trailers, bounds, "A: b\r\nC: d\r\nE: f\r\n\r\n"),
                 ErrorKind::head_too_large);
  expect_refused(scan_all_ways(ScanRole::trailers, bounds, "A: " + std::string(40, 'x')),
                 ErrorKind::head_too_large);
}

TEST(HeadScanner, IsReadyForTheNextHeadAfterReset) {
  HeadScanner scanner(ScanRole::request, kWide);
  const std::string head = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  expect_complete(scanner.scan(head), 2, head.size());
  scanner.reset();
  EXPECT_FALSE(scanner.begun());
  expect_complete(scanner.scan(std::string_view(head).substr(2)), 0, head.size() - 2);
}

TEST(HeadScanner, AHeadOfTheDefaultBoundsIsAcceptedAndOneByteMoreIsNot) {
  const ScanBounds bounds = ScanBounds::of(Limits{});
  const auto with_target = [](std::size_t line_bytes) {
    return "GET /" + std::string(line_bytes - 14, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(scan_request(with_target(16'384), bounds).event, ScanEvent::complete);
  expect_refused(scan_request(with_target(16'385), bounds), ErrorKind::target_too_long);
}

}  // namespace
}  // namespace hushgate::http
