#include "upstream/resolver.h"

#include <gtest/gtest.h>

#include "upstream/testing.h"

namespace hushgate::upstream {
namespace {

using std::chrono::seconds;
using testing::Owner;
using testing::ScriptedNames;

IpAddress v4(std::uint8_t last) { return IpAddress::v4(192, 0, 2, last); }
IpAddress v6(std::uint8_t last) {
  return IpAddress::v6({0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
}
using List = std::vector<IpAddress>;

TEST(Interleaved, AlternatesFamiliesBeginningWithTheFirst) {
  EXPECT_EQ(interleaved({}), List{});
  EXPECT_EQ(interleaved({v4(1)}), List{v4(1)});
  EXPECT_EQ(interleaved({v6(1), v6(2), v4(1), v4(2)}), (List{v6(1), v4(1), v6(2), v4(2)}));
  EXPECT_EQ(interleaved({v4(1), v4(2), v4(3), v6(1)}), (List{v4(1), v6(1), v4(2), v4(3)}));
  EXPECT_EQ(interleaved({v4(1), v4(2)}), (List{v4(1), v4(2)}));
}

TEST(Interleaved, KeepsNoMoreThanAreTriedAndBothFamilies) {
  List many;
  for (std::uint8_t i = 0; i < 30; ++i) many.push_back(v6(i));
  for (std::uint8_t i = 0; i < 30; ++i) many.push_back(v4(i));
  const List kept = interleaved(many);
  EXPECT_EQ(kept.size(), kMaxAddresses);
  EXPECT_EQ(kept[0], v6(0));
  EXPECT_EQ(kept[1], v4(0));
}

struct NameBench : testing::Bench {
  Name name{loop, names, "api.test"};
  Owner owner;
  NameWait wait{owner};
};

TEST(Name, IsAskedOnceHoweverManyNeedIt) {
  NameBench bench;
  Owner second;
  NameWait second_wait(second);
  EXPECT_EQ(bench.name.state(), Name::State::unasked);
  bench.name.need(bench.wait, bench.now());
  bench.name.need(second_wait, bench.now());
  EXPECT_EQ(bench.name.state(), Name::State::asking);
  EXPECT_EQ(bench.names.asked, std::vector<std::string>{"api.test"});
  bench.names.answer(List{v4(1)});
  EXPECT_EQ(bench.name.state(), Name::State::known);
  EXPECT_EQ(bench.name.addresses(), List{v4(1)});
  bench.run_for(Ms{1});
  EXPECT_EQ(bench.owner.runs, 1);
  EXPECT_EQ(second.runs, 1);
}

TEST(Name, AWaiterThatLeavesIsNotWoken) {
  NameBench bench;
  {
    NameWait gone(bench.owner);
    bench.name.need(gone, bench.now());
  }
  bench.names.answer(List{v4(1)});
  bench.run_for(Ms{1});
  EXPECT_EQ(bench.owner.runs, 0);
}

TEST(Name, AFailureIsToldAndTheNextOneAsksAgain) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(fail(ErrorKind::dns_error, -2));
  EXPECT_EQ(bench.name.state(), Name::State::failed);
  EXPECT_EQ(bench.name.error(), (Error{ErrorKind::dns_error, -2}));
  bench.run_for(Ms{1});
  EXPECT_EQ(bench.owner.runs, 1);
  bench.name.need(bench.wait, bench.now());
  EXPECT_EQ(bench.name.state(), Name::State::asking);
  bench.names.answer(List{v4(1)});
  EXPECT_EQ(bench.name.state(), Name::State::known);
}

TEST(Name, AFreshAnswerIsNotAskedForAgain) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(1)});
  bench.run_for(seconds(30));
  bench.name.need(bench.wait, bench.now());
  EXPECT_EQ(bench.names.asked.size(), 1U);
}

TEST(Name, AnOldAnswerIsUsedWhileItIsAskedForInTheBackground) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(1)});
  bench.run_for(seconds(30) + Ms{1});
  bench.name.need(bench.wait, bench.now());
  bench.name.need(bench.wait, bench.now());
  EXPECT_EQ(bench.names.asked.size(), 2U);
  EXPECT_EQ(bench.name.state(), Name::State::known);
  EXPECT_EQ(bench.name.addresses(), List{v4(1)});
  EXPECT_FALSE(bench.wait.linked());
  bench.names.answer(List{v4(2)});
  EXPECT_EQ(bench.name.addresses(), List{v4(2)});
}

TEST(Name, ARefreshThatFailsKeepsTheOldAnswer) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(1)});
  bench.run_for(seconds(31));
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(fail(ErrorKind::dns_error, -3));
  EXPECT_EQ(bench.name.state(), Name::State::known);
  EXPECT_EQ(bench.name.addresses(), List{v4(1)});
  // ... and is not repeated for every request.
  bench.name.need(bench.wait, bench.now());
  EXPECT_EQ(bench.names.asked.size(), 2U);
  bench.run_for(seconds(1) + Ms{1});
  bench.name.need(bench.wait, bench.now());
  EXPECT_EQ(bench.names.asked.size(), 3U);
}

TEST(Name, DoubtAsksAtOnceButNotTwiceInASecond) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(1)});
  bench.run_for(seconds(2));
  bench.name.doubt(bench.now());
  EXPECT_EQ(bench.names.asked.size(), 2U);
  bench.names.answer(List{v4(2)});
  for (int i = 0; i < 10; ++i) bench.name.doubt(bench.now());
  EXPECT_EQ(bench.names.asked.size(), 2U);
  bench.run_for(seconds(1) + Ms{1});
  bench.name.doubt(bench.now());
  EXPECT_EQ(bench.names.asked.size(), 3U);
}

TEST(Name, AnAnswerThatComesAfterItsEndIsDropped) {
  testing::Bench bench;
  Owner owner;
  NameWait wait(owner);
  auto name = std::make_unique<Name>(bench.loop, bench.names, "api.test");
  name->need(wait, bench.now());
  name.reset();
  EXPECT_FALSE(wait.linked());
  bench.names.answer(List{v4(1)});
  bench.run_for(Ms{1});
  EXPECT_EQ(owner.runs, 0);
}

TEST(Name, ALiteralIsNeverAskedFor) {
  testing::Bench bench;
  Owner owner;
  NameWait wait(owner);
  Name name(bench.loop, bench.names, v4(7));
  EXPECT_EQ(name.state(), Name::State::known);
  name.need(wait, bench.now());
  name.doubt(bench.now() + std::chrono::hours(1));
  EXPECT_EQ(name.addresses(), List{v4(7)});
  EXPECT_TRUE(bench.names.asked.empty());
}

TEST(Name, TheAddressThatAcceptedIsFirstFromThenOn) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v6(1), v4(1), v6(2)});
  bench.name.prefer(v6(2));
  EXPECT_EQ(bench.name.addresses(), (List{v6(2), v6(1), v4(1)}));
  EXPECT_EQ(bench.name.winner(), v6(2));
  bench.run_for(seconds(31));
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(1), v6(2)});
  EXPECT_EQ(bench.name.addresses(), (List{v6(2), v4(1)}));
}

TEST(Name, AWinnerThatIsNoLongerAnsweredIsNotTried) {
  NameBench bench;
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(1)});
  bench.name.prefer(v4(1));
  bench.run_for(seconds(31));
  bench.name.need(bench.wait, bench.now());
  bench.names.answer(List{v4(2), v4(3)});
  EXPECT_EQ(bench.name.addresses(), (List{v4(2), v4(3)}));
}

}  // namespace
}  // namespace hushgate::upstream
