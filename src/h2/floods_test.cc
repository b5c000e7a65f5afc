#include "h2/floods.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>

namespace hushgate::h2 {
namespace {

constexpr std::array<Flood, kFloods> kAll{
    Flood::resets,     Flood::made_resets,  Flood::settings,      Flood::pings,
    Flood::priorities, Flood::empty_frames, Flood::window_updates};
constexpr Time kStart{std::chrono::hours(5)};

// How many more are borne at this time, up to `most`.
std::uint32_t borne(Floods& floods, Flood kind, Time now, std::uint32_t most) {
  std::uint32_t n = 0;
  while (n < most && floods.note(kind, now)) ++n;
  return n;
}

TEST(Floods, EachKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Flood kind : kAll) names.insert(name(kind));
  EXPECT_EQ(names.size(), kFloods);
  EXPECT_FALSE(names.contains(""));
}

TEST(Floods, ABudgetIsBorneAtOnceAndNotOneMore) {
  for (const Flood kind : kAll) {
    SCOPED_TRACE(name(kind));
    Floods floods;
    for (std::uint32_t i = 0; i < flood_budget(kind); ++i) EXPECT_TRUE(floods.note(kind, kStart));
    EXPECT_FALSE(floods.note(kind, kStart));
    EXPECT_FALSE(floods.note(kind, kStart));
  }
}

TEST(Floods, OneKindDoesNotUseTheBudgetOfAnother) {
  for (const Flood used : kAll) {
    Floods floods;
    borne(floods, used, kStart, 100'000);
    for (const Flood kind : kAll) EXPECT_EQ(floods.note(kind, kStart), kind != used);
  }
}

TEST(Floods, TheBudgetComesBackEvenly) {
  for (const Flood kind : kAll) {
    SCOPED_TRACE(name(kind));
    const std::uint32_t budget = flood_budget(kind);
    const Duration share = Duration{kFloodRefill} / budget;
    Floods floods;
    borne(floods, kind, kStart, 100'000);
    EXPECT_FALSE(floods.note(kind, kStart + share - Duration{1}));
    EXPECT_TRUE(floods.note(kind, kStart + share));
    EXPECT_FALSE(floods.note(kind, kStart + share));
    EXPECT_EQ(borne(floods, kind, kStart + share * 4, 100'000), 3U);
  }
}

TEST(Floods, AndIsWholeAfterItsTimeHoweverLongThatIsPast) {
  for (const Flood kind : kAll) {
    SCOPED_TRACE(name(kind));
    Floods floods;
    Time now = kStart;
    for (const Duration pause : {Duration{kFloodRefill}, Duration{std::chrono::hours(24 * 365)}}) {
      EXPECT_EQ(borne(floods, kind, now, 100'000), flood_budget(kind));
      now += pause;
    }
    EXPECT_EQ(borne(floods, kind, now, 100'000), flood_budget(kind));
  }
}

TEST(Floods, ASteadyRateAtTheBudgetIsBorneForever) {
  for (const Flood kind : kAll) {
    const Duration share = Duration{kFloodRefill} / flood_budget(kind);
    Floods floods;
    Time now = kStart;
    for (int i = 0; i < 20'000; ++i, now += share) ASSERT_TRUE(floods.note(kind, now));
  }
}

TEST(Floods, AndOneOfTwiceTheBudgetIsNot) {
  for (const Flood kind : kAll) {
    const std::uint32_t budget = flood_budget(kind);
    const Duration half = Duration{kFloodRefill} / budget / 2;
    Floods floods;
    std::uint32_t n = 0;
    for (Time now = kStart; n < 4 * budget && floods.note(kind, now); now += half) ++n;
    EXPECT_NEAR(n, 2 * budget, 2);
  }
}

TEST(Floods, WhoIsServedMayResetAsOften) {
  Floods floods;
  for (int i = 0; i < 50'000; ++i) {
    floods.note_stream();
    floods.note_served();
    ASSERT_TRUE(floods.note(Flood::resets, kStart));
  }
  EXPECT_EQ(borne(floods, Flood::resets, kStart, 100'000), flood_budget(Flood::resets));
}

TEST(Floods, ButWhoOnlyOpensAndResetsIsFoundSoon) {
  Floods floods;
  std::uint32_t streams = 0;
  do {
    floods.note_stream();
    ++streams;
  } while (floods.note(Flood::resets, kStart));
  EXPECT_EQ(streams, flood_budget(Flood::resets) + 1);
}

TEST(Floods, ThousandsOfServedStreamsAreNoLicenceForAsManyResetsAtOnce) {
  for (const Flood kind : {Flood::resets, Flood::made_resets}) {
    Floods floods;
    for (int i = 0; i < 100'000; ++i) floods.note_served();
    EXPECT_EQ(borne(floods, kind, kStart, 1'000'000), most_excuses(kind) + flood_budget(kind));
  }
}

TEST(Floods, DataThatIsSentExcusesTheWindowUpdatesThatItNeeds) {
  Floods floods;
  for (int i = 0; i < 50'000; ++i) {
    floods.note_data_sent(1);
    ASSERT_TRUE(floods.note(Flood::window_updates, kStart));  // the stream's
    ASSERT_TRUE(floods.note(Flood::window_updates, kStart));  // the connection's
    ASSERT_TRUE(floods.note(Flood::pings, kStart));
  }
}

TEST(Floods, AlsoWhenTheyComeMuchLater) {
  Floods floods;
  floods.note_data_sent(10'000);
  const Time later = kStart + std::chrono::hours(1);
  EXPECT_EQ(borne(floods, Flood::window_updates, later, 1'000'000),
            10'000 * kWindowUpdatesPerData + flood_budget(Flood::window_updates));
  EXPECT_EQ(borne(floods, Flood::pings, later, 1'000'000),
            10'000 * kPingsPerData + flood_budget(Flood::pings));
}

TEST(Floods, AStreamExcusesItsPriorities) {
  Floods floods;
  for (int i = 0; i < 10'000; ++i) {
    floods.note_stream();
    for (std::uint32_t n = 0; n < kPrioritiesPerStream; ++n) {
      ASSERT_TRUE(floods.note(Flood::priorities, kStart));
    }
  }
  EXPECT_EQ(borne(floods, Flood::priorities, kStart, 100'000), flood_budget(Flood::priorities));
}

TEST(Floods, ExcusesAreBoundedAndNothingExcusesSettingsOrEmptyFrames) {
  Floods floods;
  for (int i = 0; i < 3; ++i) {
    floods.note_data_sent(0xffff'ffffU);
    for (int n = 0; n < 10'000; ++n) floods.note_stream();
    for (int n = 0; n < 10'000; ++n) floods.note_served();
  }
  for (const Flood kind : kAll) {
    SCOPED_TRACE(name(kind));
    EXPECT_EQ(borne(floods, kind, kStart, 10'000'000), most_excuses(kind) + flood_budget(kind));
  }
  EXPECT_EQ(most_excuses(Flood::settings), 0U);
  EXPECT_EQ(most_excuses(Flood::empty_frames), 0U);
}

}  // namespace
}  // namespace hushgate::h2
