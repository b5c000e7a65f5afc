#include "app/demo_json.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace hushgate::app {
namespace {

TEST(DemoJson, StringsAreEscapedAndForeignBytesBecomeLatin1) {
  for (const auto& [bytes, json] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", R"("")"},
           {"plain", R"("plain")"},
           {"a\"b\\c\n", R"("a\"b\\c\n")"},
           {std::string("\0\x1f", 2), R"("\u0000\u001F")"},
           {"gr\xC3\xBC\xC3\x9F", "\"gr\xC3\xBC\xC3\x9F\""},
           {"gr\xFC\xDF", "\"gr\xC3\xBC\xC3\x9F\""},
           {"\xC3", "\"\xC3\x83\""}}) {
    EXPECT_EQ(json_string(bytes), json);
  }
}

TEST(DemoJson, CompactingKeepsTheValueAndRefusesWhatIsNoJson) {
  EXPECT_EQ(compact_json(" { \"a\" : [ 1 , 2.5 , null ] } "), R"({"a":[1,2.5,null]})");
  EXPECT_EQ(compact_json("\"x\""), R"("x")");
  EXPECT_EQ(compact_json("1"), "1");
  for (const char* text :
       {"", " ", "{", "{\"a\":1,}", "[1] 2", "// c\n1", "NaN", "\"\xFF\"", "01"}) {
    EXPECT_EQ(compact_json(text), std::nullopt) << text;
  }
}

TEST(DemoJson, DeepNestingCostsNoStack) {
  constexpr std::size_t kDepth = 500'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_EQ(compact_json(deep), deep);
  EXPECT_FALSE(read_chat_ask(deep));
  EXPECT_TRUE(read_chat_ask(R"({"messages":[],"tools":)" + deep + "}"));
}

TEST(DemoJson, TextIsNeverCutInsideACharacter) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abcd", 3), "abc");
  EXPECT_EQ(cut_text("a\xC3\xBC", 2), "a");
  EXPECT_EQ(cut_text("a\xC3\xBC", 3), "a\xC3\xBC");
  EXPECT_EQ(cut_text("\xF0\x9F\x98\x80", 3), "");
  EXPECT_EQ(cut_text("\x80\x80\x80\x80\x80\x80", 5).size(), 2U);
  EXPECT_EQ(cut_text("x", 0), "");
}

TEST(DemoJson, AChatRequestIsReadByTheKeysThatLeadToIt) {
  const auto ask =
      read_chat_ask(R"({"model":"m","stream":true,"stream_options":{"include_usage":true},)"
                    R"("messages":[{"role":"user","content":"one two"},{"content":" three "}],)"
                    R"("tools":[{"model":"other","content":"not counted"}]})");
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->model, "m");
  EXPECT_EQ(ask->delivery, ChatDelivery::stream);
  EXPECT_EQ(ask->usage, ChatUsage::included);
  EXPECT_EQ(ask->prompt_words, 3U);
}

TEST(DemoJson, WhatLiesElsewhereInAChatRequestMeansNothing) {
  const auto ask =
      read_chat_ask(R"({"x":{"stream":true,"include_usage":true,"model":"m"},"stream":[true],)"
                    R"("include_usage":true,"messages":[]})");
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->model, "");
  EXPECT_EQ(ask->delivery, ChatDelivery::whole);
  EXPECT_EQ(ask->usage, ChatUsage::left_out);
  for (const char* body : {"", "[]", "{}", "null", R"({"messages":{}})", R"([{"messages":[]}])",
                           R"({"x":{"messages":[]}})", R"({"messages":[])"}) {
    EXPECT_FALSE(read_chat_ask(body)) << body;
  }
}

}  // namespace
}  // namespace hushgate::app
