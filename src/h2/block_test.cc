#include "h2/block.h"

#include <gtest/gtest.h>

#include <string>

namespace hushgate::h2 {
namespace {

TEST(Block, KeepsFieldsInTheirOrderWithEveryRepetition) {
  Block block(1'000);
  EXPECT_TRUE(block.add(":method", "GET"));
  EXPECT_TRUE(block.add("cookie", "a=1"));
  EXPECT_TRUE(block.add("cookie", ""));
  EXPECT_TRUE(block.add("", "no name"));
  ASSERT_EQ(block.size(), 4U);
  EXPECT_EQ(block[0].name, ":method");
  EXPECT_EQ(block[0].value, "GET");
  EXPECT_EQ(block[1].value, "a=1");
  EXPECT_EQ(block[2].name, "cookie");
  EXPECT_EQ(block[2].value, "");
  EXPECT_EQ(block[3].name, "");
  EXPECT_EQ(block[3].value, "no name");
}

TEST(Block, KeepsBytesAsTheyAre) {
  Block block(1'000);
  const std::string name("x\0y\xE9", 4);
  const std::string value("\r\n\0 ", 4);
  EXPECT_TRUE(block.add(name, value));
  EXPECT_EQ(block[0].name, name);
  EXPECT_EQ(block[0].value, value);
}

TEST(Block, LowersNamesAndNothingElse) {
  Block block(1'000);
  EXPECT_TRUE(block.add_lowered("X-Request-ID", "AbC"));
  EXPECT_TRUE(block.add_lowered("ETag_@[`\xC9", "X"));
  EXPECT_EQ(block[0].name, "x-request-id");
  EXPECT_EQ(block[0].value, "AbC");
  EXPECT_EQ(block[1].name, "etag_@[`\xC9");
}

TEST(Block, PutsTheValueBehindALoweredNameOfAnyLength) {
  for (std::size_t length = 0; length < 200; ++length) {
    Block block(1'000);
    EXPECT_TRUE(block.add_lowered(std::string(length, 'N'), "v"));
    EXPECT_TRUE(block.add_lowered("X", "w"));
    EXPECT_EQ(block[0].name, std::string(length, 'n'));
    EXPECT_EQ(block[0].value, "v") << length;
    EXPECT_EQ(block[1].value, "w") << length;
  }
}

TEST(Block, FindsTheFirstOfAName) {
  Block block(1'000);
  block.add("a", "1");
  block.add("b", "");
  block.add("a", "2");
  EXPECT_EQ(block.find("a"), "1");
  EXPECT_NE(block.find("b").data(), nullptr);
  EXPECT_EQ(block.find("A").data(), nullptr);
}

TEST(Block, HoldsItsBoundExactly) {
  for (const std::size_t size : {std::size_t{15}, std::size_t{16}, std::size_t{17}}) {
    Block block(16);
    const std::string value(size - 1 - Block::kLineBytes, 'v');
    EXPECT_EQ(block.add("n", value), size <= 16) << size;
    EXPECT_EQ(block.overflowed(), size > 16);
    EXPECT_EQ(block.text_bytes(), size > 16 ? 0 : size);
  }
}

TEST(Block, KeepsNothingMoreOnceSomethingDidNotFit) {
  Block block(16);
  EXPECT_TRUE(block.add("a", "1"));
  EXPECT_FALSE(block.add("b", "too long for it"));
  EXPECT_FALSE(block.add("c", ""));
  EXPECT_FALSE(block.add_lowered("D", ""));
  EXPECT_EQ(block.size(), 1U);
  EXPECT_TRUE(block.overflowed());
}

TEST(Block, IsAsNewWhenCleared) {
  Block block(16);
  block.add("b", "too long for it");
  block.clear();
  EXPECT_FALSE(block.overflowed());
  EXPECT_EQ(block.size(), 0U);
  EXPECT_EQ(block.text_bytes(), 0U);
  EXPECT_TRUE(block.add("a", "fits it now"));
}

TEST(Block, SurvivesManyFieldsAndForgetsTheirRoom) {
  Block block(Block::kMostBytes);
  const std::string value(100, 'v');
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 2 * Block::kKeptFields; ++i) {
      ASSERT_TRUE(block.add(std::to_string(i), value));
    }
    EXPECT_EQ(block[511].name, "511");
    EXPECT_EQ(block[511].value, value);
    block.clear();
  }
}

TEST(Block, ABoundBeyondItsOwnIsItsOwn) {
  const Block block(std::size_t{1} << 40);
  EXPECT_EQ(block.max_bytes(), Block::kMostBytes);
}

}  // namespace
}  // namespace hushgate::h2
