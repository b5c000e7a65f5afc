#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hushgate {
namespace {

class Lines final : public LogSink {
 public:
  void write(std::string_view lines) override {
    text += lines;
    ++writes;
  }
  std::uint64_t dropped() const override { return 0; }

  std::string text;
  int writes = 0;
};

// 2001-09-09T01:46:40Z, on a steady clock that began an hour before.
constexpr Time kNow{std::chrono::hours(1)};
constexpr Duration kOffset = std::chrono::seconds(1'000'000'000) - std::chrono::hours(1);

std::string json_value(std::string_view value) {
  Lines lines;
  LogBuffer log(lines, LogFormat::json, kOffset);
  log.line(kNow, LogLevel::info, "e").text("v", value);
  log.flush();
  const std::size_t at = lines.text.find("\"v\":");
  return lines.text.substr(at + 4, lines.text.size() - at - 4 - 2);  // without }\n
}

std::string text_value(std::string_view value) {
  Lines lines;
  LogBuffer log(lines, LogFormat::text, kOffset);
  log.line(kNow, LogLevel::info, "e").text("v", value);
  log.flush();
  const std::size_t at = lines.text.find("v=");
  return lines.text.substr(at + 2, lines.text.size() - at - 2 - 1);
}

TEST(Log, AJsonLineHasTimeLevelEventAndFieldsInTheirOrder) {
  Lines lines;
  LogBuffer log(lines, LogFormat::json, kOffset);
  log.line(kNow + Ms{7}, LogLevel::warning, "swept")
      .text("client", "10.0.0.1:5")
      .number("bytes", 18'446'744'073'709'551'615ULL)
      .ms("age_ms", std::chrono::microseconds(1'234'567));
  log.flush();
  EXPECT_EQ(lines.text,
            "{\"time\":\"2001-09-09T01:46:40.007Z\",\"level\":\"warning\",\"event\":\"swept\","
            "\"client\":\"10.0.0.1:5\",\"bytes\":18446744073709551615,\"age_ms\":1234.567}\n");
}

TEST(Log, ATextLineIsForEyes) {
  Lines lines;
  LogBuffer log(lines, LogFormat::text, kOffset);
  log.line(kNow, LogLevel::error, "failed").text("path", "/a").number("status", 502);
  log.flush();
  EXPECT_EQ(lines.text, "01:46:40.000 error   failed path=/a status=502\n");
}

struct Escape {
  std::string raw;
  std::string_view json;
};

TEST(Log, HostileBytesNeverBreakAJsonString) {
  const std::vector<Escape> table{
      {"plain", "\"plain\""},
      {"", "\"\""},
      {"a\"b", "\"a\\\"b\""},
      {"a\\b", "\"a\\\\b\""},
      {"a\nb", "\"a\\u000ab\""},
      {"a\r\nb", "\"a\\u000d\\u000ab\""},
      {std::string("a\0b", 3), "\"a\\u0000b\""},
      {"\x1b[31m", "\"\\u001b[31m\""},
      {"\x7f", "\"\\u007f\""},
      {"\xc3\xa9", "\"\\u00c3\\u00a9\""},
      {"\xff\xfe", "\"\\u00ff\\u00fe\""},
      {"\"}\n{\"event\":\"forged", "\"\\\"}\\u000a{\\\"event\\\":\\\"forged\""},
  };
  for (const Escape& row : table) EXPECT_EQ(json_value(row.raw), row.json);
}

TEST(Log, EveryByteGivesOneLineOfPrintableAscii) {
  for (const LogFormat format : {LogFormat::json, LogFormat::text}) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    Lines lines;
    LogBuffer log(lines, format, kOffset);
    log.line(kNow, LogLevel::info, "e").text("v", all);
    log.flush();
    ASSERT_TRUE(lines.text.ends_with('\n'));
    lines.text.pop_back();
    for (const char c : lines.text) {
      EXPECT_GE(c, 0x20);
      EXPECT_LT(c, 0x7F);
    }
  }
}

TEST(Log, ATextValueIsQuotedWhenItCouldBeReadAsTwo) {
  EXPECT_EQ(text_value("/plain"), "/plain");
  EXPECT_EQ(text_value(""), "\"\"");
  EXPECT_EQ(text_value("a b"), "\"a b\"");
  EXPECT_EQ(text_value("a=b"), "\"a=b\"");
  EXPECT_EQ(text_value("a\"b"), "\"a\\\"b\"");
  EXPECT_EQ(text_value("a\\b"), "\"a\\\\b\"");
  EXPECT_EQ(text_value("\x1b[31m"), "\\u001b[31m");
}

TEST(Log, LinesWaitUntilTheyAreFlushedAndThenGoAsOneWrite) {
  Lines lines;
  LogBuffer log(lines, LogFormat::json, kOffset);
  EXPECT_TRUE(log.empty());
  log.line(kNow, LogLevel::info, "one");
  log.line(kNow, LogLevel::info, "two");
  EXPECT_FALSE(log.empty());
  EXPECT_EQ(lines.writes, 0);
  log.flush();
  log.flush();
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(lines.writes, 1);
}

TEST(Log, ABusyTurnDoesNotLetTheBufferGrowWithoutEnd) {
  Lines lines;
  LogBuffer log(lines, LogFormat::json, kOffset);
  const std::string value(1'000, 'x');
  for (int i = 0; i < 140; ++i) log.line(kNow, LogLevel::info, "e").text("v", value);
  EXPECT_GE(lines.writes, 1);
  EXPECT_TRUE(lines.text.ends_with("}\n"));
}

TEST(Log, WhatIsLeftIsWrittenAtItsEnd) {
  Lines lines;
  {
    LogBuffer log(lines, LogFormat::json, kOffset);
    log.line(kNow, LogLevel::info, "last");
  }
  EXPECT_EQ(lines.writes, 1);
}

TEST(Log, MillisecondsHaveThreeDecimals) {
  Lines lines;
  LogBuffer log(lines, LogFormat::text, kOffset);
  log.line(kNow, LogLevel::info, "e").ms("a", Duration::zero()).ms("b", Ms{1'500});
  log.flush();
  EXPECT_NE(lines.text.find("a=0.000 b=1500.000"), std::string::npos) << lines.text;
}

}  // namespace
}  // namespace hushgate
