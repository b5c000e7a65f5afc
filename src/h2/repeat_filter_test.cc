#include "h2/repeat_filter.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace hushgate::h2 {
namespace {

TEST(RepeatFilter, KnowsAFieldAgainByNameAndValue) {
  RepeatFilter filter;
  EXPECT_FALSE(filter.seen_before("via", "2 hushgate"));
  EXPECT_TRUE(filter.seen_before("via", "2 hushgate"));
  EXPECT_FALSE(filter.seen_before("via", "2 hushgatf"));
  EXPECT_FALSE(filter.seen_before("vib", "2 hushgate"));
  EXPECT_TRUE(filter.seen_before("vib", "2 hushgate"));
}

TEST(RepeatFilter, KnowsEmptyAndLongTextsApart) {
  RepeatFilter filter;
  EXPECT_FALSE(filter.seen_before("a", ""));
  EXPECT_TRUE(filter.seen_before("a", ""));
  const std::string long_text(5000, 'x');
  EXPECT_FALSE(filter.seen_before("a", long_text));
  EXPECT_TRUE(filter.seen_before("a", long_text));
  EXPECT_FALSE(filter.seen_before("a", long_text + "x"));
  EXPECT_FALSE(filter.seen_before("a", long_text.substr(1) + "y"));
}

TEST(RepeatFilter, TakesTheBoundaryOfNameAndValueIntoAccount) {
  RepeatFilter filter;
  EXPECT_FALSE(filter.seen_before("ab", "c"));
  EXPECT_FALSE(filter.seen_before("a", "bc"));
}

// What a gateway sends: some fields that stay, and an identifier that is new each time.
TEST(RepeatFilter, KeepsWhatStaysBesideWhatIsNewEachTime) {
  constexpr std::array<std::pair<const char*, const char*>, 6> kStaying{{
      {":method", "GET"},
      {":scheme", "https"},
      {":authority", "api.example.com"},
      {"user-agent", "client/1.2.3"},
      {"accept", "application/json"},
      {"x-forwarded-for", "192.0.2.7"},
  }};
  RepeatFilter filter;
  int known = 0;
  int identifiers_known = 0;
  constexpr int kMessages = 10'000;
  for (int i = 0; i < kMessages; ++i) {
    for (const auto& [name, value] : kStaying) known += filter.seen_before(name, value) ? 1 : 0;
    const std::string id = "0193a2b4-7c5d-7000-8000-" + std::to_string(1'000'000'000'000 + i);
    identifiers_known += filter.seen_before("x-request-id", id) ? 1 : 0;
  }
  EXPECT_GT(known, kMessages * 6 * 97 / 100);
  EXPECT_LT(identifiers_known, kMessages / 100);
}

}  // namespace
}  // namespace hushgate::h2
