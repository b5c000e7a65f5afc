#include "base/spare_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace hushgate {
namespace {

std::string with_room(std::size_t bytes) {
  std::string text;
  text.reserve(bytes);
  return text;
}

// What other tests of this thread have left.
void use_up_spare_room() {
  std::vector<std::string> taken(kMaxSpareTexts);
  for (std::string& text : taken) find_room(text);
}

TEST(SpareRoom, GoesFromWhoIsEmptyToWhoIsFilledNextAndContentStays) {
  use_up_spare_room();
  std::string one = with_room(1'000);
  const void* const room = one.data();
  one = "gone soon";
  give_room(one);
  EXPECT_TRUE(one.empty());
  EXPECT_FALSE(has_room(one));
  std::string two = "kept";
  take_room(two);
  EXPECT_EQ(two, "kept");
  EXPECT_EQ(two.data(), room);
}

TEST(SpareRoom, OfAHugeTextIsNotKept) {
  use_up_spare_room();
  std::string huge = with_room(kWarmBytes + 1);
  give_room(huge);
  EXPECT_FALSE(has_room(huge));
  std::string next;
  take_room(next);
  EXPECT_FALSE(has_room(next));
}

TEST(SpareRoom, IsKeptOfSoManyTextsAndNotMore) {
  use_up_spare_room();
  std::vector<std::string> texts(kMaxSpareTexts + 10);
  for (std::string& text : texts) text.reserve(100);
  for (std::string& text : texts) give_room(text);
  std::size_t found = 0;
  for (std::string& text : texts) {
    take_room(text);
    found += has_room(text);
  }
  EXPECT_EQ(found, kMaxSpareTexts);
}

TEST(SpareRoom, WhoHasRoomKeepsItsOwn) {
  use_up_spare_room();
  std::string spare = with_room(500);
  give_room(spare);
  std::string text = with_room(100);
  const void* const room = text.data();
  take_room(text);
  EXPECT_EQ(text.data(), room);
  use_up_spare_room();
}

}  // namespace
}  // namespace hushgate
