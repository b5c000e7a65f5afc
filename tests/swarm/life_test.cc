#include "tests/swarm/life.h"

#include <gtest/gtest.h>

#include "tests/swarm/draw.h"
#include "tests/swarm/edits.h"

namespace hushgate::swarm {
namespace {

TEST(Life, TheSameSeedIsTheSameLifeToTheLastEventAndAnotherSeedAnother) {
  const Outcome one = live(draw(7), Keep::hash_only);
  const Outcome again = live(draw(7), Keep::text);
  EXPECT_EQ(one.hash, again.hash);
  EXPECT_EQ(one.events, again.events);
  EXPECT_EQ(again.timeline.size(), again.events);
  EXPECT_NE(one.hash, live(draw(8), Keep::hash_only).hash);
}

TEST(Life, NobodyObjectsToTheFirstSeeds) {
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Outcome outcome = live(draw(seed), Keep::hash_only);
    EXPECT_EQ(outcome.invariant, "") << "seed " << seed << ": " << outcome.objection;
    answered += outcome.answered;
  }
  EXPECT_GT(answered, 100U);
}

TEST(Edits, AreToldInOneLineAndReadBack) {
  const std::vector<Edit> edits{{'c', 3, 0}, {'c', 1, 5}, {'p', 2, 7}, {'a', 17, 0},
                                {'o', 2, 0}, {'w', 1, 0}, {'n', 0, 0}};
  EXPECT_EQ(to_text(edits), "c3 c1.5 p2.7 a17.0 o2 w1 n");
  EXPECT_EQ(to_text(edits_of(to_text(edits))), to_text(edits));
  EXPECT_TRUE(edits_of("").empty());
}

TEST(Edits, TakeAwayWhatTheyName) {
  Plan plan = draw(11);
  ASSERT_FALSE(plan.clients.empty());
  const Plan without = edited(plan, edits_of("c0 w1 n"));
  EXPECT_TRUE(without.clients[0].steps.empty());
  EXPECT_EQ(without.weather.short_takes_percent, 0U);
  EXPECT_TRUE(without.names.empty());
  EXPECT_EQ(edited(plan, edits_of("c999 p999.1 o999 a99999.0")).clients.size(),
            plan.clients.size());
}

TEST(Shrink, LeavesWhatTheFailureNeedsAndNothingElse) {
  const Plan plan = draw(11);
  ASSERT_GT(plan.clients.size(), 1U);
  const auto needs_client_1 = [](const Plan& smaller) {
    return smaller.clients[1].steps.size() >= 1;
  };
  const Plan smallest = edited(plan, shrink(plan, needs_client_1, 10'000));
  for (std::size_t i = 0; i < smallest.clients.size(); ++i) {
    EXPECT_EQ(smallest.clients[i].steps.size(), i == 1 ? 1U : 0U) << i;
  }
  for (const Ordeal& ordeal : smallest.ordeals) EXPECT_EQ(ordeal.at, kNotAtAll);
}

TEST(Journal, HashesWhatHappenedInItsOrder) {
  Journal one(Keep::hash_only), other(Keep::hash_only), text(Keep::text);
  const Time at{Ms{3}};
  one.note(at, "net", "{} bytes", 1);
  one.note(at, "net", "{} bytes", 2);
  other.note(at, "net", "{} bytes", 2);
  other.note(at, "net", "{} bytes", 1);
  text.note(at, "net", "{} bytes", 1);
  text.note(at, "net", "{} bytes", 2);
  EXPECT_NE(one.hash(), other.hash());
  EXPECT_EQ(one.hash(), text.hash());
  EXPECT_EQ(text.lines().back(), "      3.000000 ms  net         2 bytes");
}

}  // namespace
}  // namespace hushgate::swarm
