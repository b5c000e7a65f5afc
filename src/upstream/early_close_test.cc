#include "upstream/early_close.h"

#include <gtest/gtest.h>

namespace hushgate::upstream {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kStart{std::chrono::hours(1)};
constexpr Duration kConfigured = seconds(4);

TEST(EarlyClose, NothingIsKnownAtFirst) {
  const EarlyClose early;
  EXPECT_EQ(early.limit(kConfigured, kStart), kConfigured);
}

TEST(EarlyClose, OneCloseIsNoHabit) {
  EarlyClose early;
  EXPECT_FALSE(early.observe(seconds(1), kStart));
  EXPECT_EQ(early.limit(kConfigured, kStart), kConfigured);
}

TEST(EarlyClose, ARestartClosesEverythingAtOneMomentAndTeachesNothing) {
  EarlyClose early;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(early.observe(seconds(1) + Ms{i * 4}, kStart + Ms{i}));
  }
  EXPECT_EQ(early.limit(kConfigured, kStart), kConfigured);
}

TEST(EarlyClose, TwoRestartsThatMeetDifferentAgesTeachNothing) {
  EarlyClose early;
  EXPECT_FALSE(early.observe(seconds(1), kStart));
  EXPECT_FALSE(early.observe(seconds(3), kStart + minutes(1)));
  EXPECT_EQ(early.limit(kConfigured, kStart + minutes(1)), kConfigured);
}

TEST(EarlyClose, TheSameAgeAtDifferentMomentsIsAHabit) {
  EarlyClose early;
  EXPECT_FALSE(early.observe(seconds(1), kStart));
  EXPECT_TRUE(early.observe(Ms{1'010}, kStart + Ms{200}));
  const Duration limit = early.limit(kConfigured, kStart + Ms{200});
  EXPECT_LT(limit, seconds(1));
  EXPECT_GE(limit, Ms{700});
}

TEST(EarlyClose, TooSoonAfterTheFirstIsOneEvent) {
  EarlyClose early;
  EXPECT_FALSE(early.observe(seconds(1), kStart));
  EXPECT_FALSE(early.observe(seconds(1), kStart + Ms{199}));
  EXPECT_TRUE(early.observe(seconds(1), kStart + Ms{200}));
}

TEST(EarlyClose, YoungConnectionsDoNotCount) {
  EarlyClose early;
  EXPECT_FALSE(early.observe(Ms{49}, kStart));
  EXPECT_FALSE(early.observe(Ms{49}, kStart + seconds(1)));
  EXPECT_FALSE(early.observe(Ms{50}, kStart + seconds(2)));
  EXPECT_TRUE(early.observe(Ms{50}, kStart + seconds(3)));
  EXPECT_GT(early.limit(kConfigured, kStart + seconds(3)), Duration::zero());
}

TEST(EarlyClose, AShorterHabitReplacesALongerOneAndNotTheOtherWayRound) {
  EarlyClose early;
  early.observe(seconds(2), kStart);
  EXPECT_TRUE(early.observe(seconds(2), kStart + seconds(1)));
  early.observe(seconds(1), kStart + seconds(2));
  EXPECT_TRUE(early.observe(seconds(1), kStart + seconds(3)));
  const Duration shortest = early.limit(kConfigured, kStart + seconds(3));
  EXPECT_LT(shortest, seconds(1));
  early.observe(seconds(2), kStart + seconds(4));
  EXPECT_FALSE(early.observe(seconds(2), kStart + seconds(5)));
  EXPECT_EQ(early.limit(kConfigured, kStart + seconds(5)), shortest);
}

TEST(EarlyClose, WhatWasLearnedNeverLengthens) {
  EarlyClose early;
  early.observe(seconds(3), kStart);
  early.observe(seconds(3), kStart + seconds(1));
  EXPECT_EQ(early.limit(seconds(1), kStart + seconds(1)), seconds(1));
}

TEST(EarlyClose, AHabitThatIsNotSeenAgainIsForgotten) {
  EarlyClose early;
  early.observe(seconds(1), kStart);
  early.observe(seconds(1), kStart + seconds(1));
  const Time learned = kStart + seconds(1);
  EXPECT_LT(early.limit(kConfigured, learned + minutes(10)), kConfigured);
  EXPECT_EQ(early.limit(kConfigured, learned + minutes(10) + Ms{1}), kConfigured);
}

}  // namespace
}  // namespace hushgate::upstream
