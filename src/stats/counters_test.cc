#include "stats/counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace hushgate::stats {
namespace {

TEST(Counters, EveryCounterHasANameOfItsOwnInSnakeCase) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::string_view text = name(static_cast<Counter>(i));
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string_view::npos)
        << text;
    EXPECT_TRUE(names.insert(text).second) << text;
  }
}

TEST(Counters, TheNamesStandInTheOrderOfTheEnum) {
  EXPECT_EQ(name(Counter::clients_accepted), "clients_accepted");
  EXPECT_EQ(name(Counter::requests), "requests");
  EXPECT_EQ(name(Counter::swept_idle), "swept_idle");
  EXPECT_EQ(name(Counter::upstream_silent), "upstream_silent");
  EXPECT_EQ(name(Counter::replays), "replays");
  EXPECT_EQ(name(Counter::fates_unknown), "fates_unknown");
  EXPECT_EQ(name(Counter::pool_stray_bytes), "pool_stray_bytes");
  EXPECT_EQ(name(Counter::ports_exhausted), "ports_exhausted");
  EXPECT_EQ(name(Counter::pings_unanswered), "pings_unanswered");
  EXPECT_EQ(name(Counter::close_wait_reset), "close_wait_reset");
  EXPECT_EQ(name(Counter::tls_floods_ended), "tls_floods_ended");
}

TEST(Counters, EachCountsForItself) {
  Counters counters;
  for (std::size_t i = 0; i < kCounters; ++i) EXPECT_EQ(counters.get(static_cast<Counter>(i)), 0U);
  counters.add(Counter::reuses);
  counters.add(Counter::reuses, 4);
  counters.add(Counter::replays, 0);
  EXPECT_EQ(counters.get(Counter::reuses), 5U);
  EXPECT_EQ(counters.get(Counter::replays), 0U);
  EXPECT_EQ(counters.get(Counter::connects), 0U);
}

}  // namespace
}  // namespace hushgate::stats
