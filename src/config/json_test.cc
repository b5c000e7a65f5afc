#include "config/json.h"

#include <gtest/gtest.h>

namespace hushgate::config {
namespace {

std::string faults_of(std::string_view text) {
  std::string all;
  for (const SyntaxFault& fault : parse_json(text).faults) {
    if (!all.empty()) all += '\n';
    all +=
        std::to_string(fault.at.line) + ':' + std::to_string(fault.at.column) + ": " + fault.text;
  }
  return all;
}

TEST(Json, EveryKeyAndValueKnowsItsPlace) {
  const Parsed parsed = parse_json(
      "// first\n"
      "{ /* a: , */ \"a\" : 1,\n"
      "  \"b\\u0041\":\"x\\ny\" , \"c\": [true ,false, null,\n"
      "   -1.5e3], // , :\n"
      "  \"\xc3\xa4\xc3\xb6\": {\"d\": {}}, \"e\": NaN }\n");
  ASSERT_TRUE(parsed.faults.empty()) << parsed.faults[0].text;
  const Value& root = parsed.root;
  EXPECT_EQ(root.at, (Position{2, 1}));
  ASSERT_EQ(root.items.size(), 5U);
  EXPECT_EQ(root.items[0].key_at, (Position{2, 14}));
  EXPECT_EQ(root.items[0].at, (Position{2, 20}));
  EXPECT_EQ(root.items[0].text, "1");
  EXPECT_EQ(root.items[1].key, "bA");
  EXPECT_EQ(root.items[1].key_at, (Position{3, 3}));
  EXPECT_EQ(root.items[1].at, (Position{3, 13}));
  EXPECT_EQ(root.items[1].text, "x\ny");
  const Value& c = root.items[2];
  EXPECT_EQ(c.at, (Position{3, 27}));
  EXPECT_EQ(c.items.at(0).at, (Position{3, 28}));
  EXPECT_EQ(c.items.at(1).at, (Position{3, 34}));
  EXPECT_EQ(c.items.at(2).type, Value::Type::null);
  EXPECT_EQ(c.items.at(3).at, (Position{4, 4}));
  EXPECT_EQ(c.items.at(3).text, "-1.5e3");
  EXPECT_EQ(root.items[3].at, (Position{5, 9}));
  EXPECT_EQ(root.items[3].find("d")->at, (Position{5, 15}));
  EXPECT_EQ(root.items[4].text, "NaN");
  EXPECT_EQ(root.find("zzz"), nullptr);
}

TEST(Json, ValuesAreShownAsTheyWereWritten) {
  const Parsed parsed = parse_json(R"([null, true, 1e3, "a\"b", [], {}])");
  std::string shown;
  for (const Value& item : parsed.root.items) shown += item.shown() + ' ';
  EXPECT_EQ(shown, R"(null true 1e3 "a\"b" an array an object )");
  EXPECT_EQ(parse_json(std::string(100, '1')).root.shown(), std::string(60, '1') + "...");
}

TEST(Json, AByteOrderMarkIsSkipped) {
  const Parsed parsed = parse_json("\xef\xbb\xbf{\"a\": 1}");
  ASSERT_TRUE(parsed.faults.empty());
  EXPECT_EQ(parsed.root.items[0].key_at, (Position{1, 2}));
}

TEST(Json, EveryDuplicateKeyIsReported) {
  EXPECT_EQ(faults_of("{\"a\": 1, \"b\": {\"c\": 1,\n \"c\": 2}, \"a\": {}}"),
            "2:2: duplicate key b.c; it may be set once only\n"
            "2:11: duplicate key a; it may be set once only");
  EXPECT_EQ(faults_of("{\"a\": [{\"b\": 1}, {\"b\": 1}]}"), "");
}

struct Broken {
  const char* text;
  const char* fault;
};

TEST(Json, BreaksOfTheGrammarAreExplainedWhereTheyAre) {
  for (const Broken& c : {
           Broken{"", "1:1: the file holds no JSON; it must hold one object { ... }"},
           {"// only a comment", "1:18: the file holds no JSON; it must hold one object { ... }"},
           {"{} {}", "1:4: nothing may follow the closing } of the configuration"},
           {"{\n  \"a\": 1,\n}",
            "3:1: a key in double quotes must come here (and no comma may stand before a closing "
            "})"},
           {"{\n  \"a\": 1\n  \"b\": 2\n}",
            "3:3: a comma or a closing } must come here (is a comma missing on the line above?)"},
           {"{a: 1}",
            "1:2: a key in double quotes must come here (and no comma may stand before a closing "
            "})"},
           {"{\"a\" 1}", "1:6: in a: a colon must follow a key"},
           {"{\"a\": }",
            "1:7: in a: this is no JSON value; write a number, a \"string\", true, false, [ ... ] "
            "or { ... }"},
           {"{\"a\": yes}",
            "1:7: in a: this is no JSON value; write a number, a \"string\", true, false, [ ... ] "
            "or { ... }"},
           {"{\"a\": [1, 2}", "1:12: in a: a comma or a closing ] must come here"},
           {"{\"a\": \"x", "1:9: in a: a string must end with a double quote on its line"},
           {"{\"a\": \"\\x\"}",
            "1:8: in a: this escape does not exist; write \\\\ for a backslash"},
           {"{\"a\": {\"b\": 1.}}", "1:15: in a.b: digits must follow the point of a number"},
           {"{\"a\": 1 /* no end", "1:18: a comment must begin with // or /* and end"},
           {"{\"a\": \"b\n\"}", "1:9: in a: a string must end with a double quote on its line"},
           {"{\"a\": \"b\tc\"}",
            "1:9: in a: a control character in a string must be written as an escape, as in \\t"},
           {"{\"a\": \"\xff\"}", "1:8: in a: strings must be UTF-8 without control characters"},
       }) {
    EXPECT_EQ(faults_of(c.text), c.fault) << c.text;
  }
  EXPECT_EQ(faults_of(std::string_view("{\n\0}", 4)), "2:1: a NUL byte; the file must be text");
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(faults_of(nested(kMaxDepth)), "");
  EXPECT_EQ(faults_of(nested(kMaxDepth + 1)), "1:17: more than 16 levels of { and [");
  EXPECT_NE(faults_of(std::string(1'000'000, '[')), "");
}

TEST(Json, SizeIsBounded) {
  EXPECT_EQ(faults_of("1" + std::string(kMaxFileBytes - 1, ' ')), "");
  EXPECT_EQ(faults_of("1" + std::string(kMaxFileBytes, ' ')),
            "0:0: the file has more than 4194304 bytes");
}

}  // namespace
}  // namespace hushgate::config
