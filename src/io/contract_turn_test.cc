// The io contract, turns: slots that are used again, runnables that end, other threads, time.
#include <atomic>
#include <thread>

#include "io/contract_bench.h"

namespace hushgate::io {
namespace {

class ContractTurn : public Contract {};
INSTANTIATE_TEST_SUITE_P(Io, ContractTurn, testing::ValuesIn(contract_backends()), backend_name);

// Both have events in the same turn; whoever runs first closes the other and opens a new connection
// in its place.
TEST_P(ContractTurn, StaleEventsOfAClosedStreamNeverReachTheNext) {
  const auto listener = bench().listen(Window::usual);
  for (int round = 0; round < 30; ++round) {
    Owner owners[2];
    Owner fresh_owner;
    Pair pairs[2] = {accept_pair(&owners[0]), accept_pair(&owners[1])};
    Result<StreamPtr> fresh = fail(ErrorKind::none);
    for (const std::size_t i : {0U, 1U}) {
      owners[i].body = [&, i] {
        if (!pairs[1 - i].stream) return;
        owners[1 - i].unlink();
        close(std::move(pairs[1 - i].stream), CloseHow::reset);
        fresh = loop().backend().connect(listener->address(), {}, &fresh_owner);
      };
    }
    pairs[0].peer->send("a");
    pairs[1].peer->send("b");
    if (round % 3 == 1) pairs[1].peer->finish();
    if (round % 3 == 2) pairs[0].peer->reset();
    bench().deliver();
    ASSERT_TRUE(turn_until([&] { return owners[0].runs + owners[1].runs > 0; }));
    ASSERT_TRUE(fresh.has_value());
    std::unique_ptr<Peer> peer;
    ASSERT_TRUE(turn_until([&] {
      if (!peer) peer = listener->accept();
      return peer && !(*fresh)->connecting();
    }));
    quiet_turns(2);
    EXPECT_FALSE((*fresh)->failed());
    EXPECT_FALSE((*fresh)->readable());
    EXPECT_FALSE((*fresh)->peer_finished());
    EXPECT_LE(fresh_owner.runs, 1);
    peer->send("own");
    EXPECT_EQ(take_exactly(**fresh, 3).bytes, "own");
  }
}

TEST_P(ContractTurn, SlotsAreUsedAgainAndAgainWithoutMixingStreamsUp) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  for (int round = 0; round < 200; ++round) {
    const auto peer = bench().connect(listener->address(), Window::usual);
    const std::string word = std::to_string(round);
    peer->send(word);
    ASSERT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
    ASSERT_EQ(take_exactly(*acceptor.streams.front(), word.size()).bytes, word);
    close(std::move(acceptor.streams.front()), round % 2 == 0 ? CloseHow::reset : CloseHow::fin);
    acceptor.streams.clear();
  }
}

TEST_P(ContractTurn, ClosingInAnyOrderWithinTheReadyRunIsSafe) {
  std::vector<std::unique_ptr<Owner>> owners;
  std::vector<Pair> pairs;
  for (int i = 0; i < 10; ++i) {
    owners.push_back(std::make_unique<Owner>());
    pairs.push_back(accept_pair(owners.back().get()));
  }
  int closers = 0;
  for (auto& owner : owners) {
    owner->body = [&] {
      ++closers;
      for (Pair& pair : pairs) {
        if (pair.stream) pair.stream->set_owner(nullptr);
        close(std::move(pair.stream), CloseHow::reset);
      }
    };
  }
  for (Pair& pair : pairs) pair.peer->send("all at once");
  bench().deliver();
  ASSERT_TRUE(turn_until([&] { return closers > 0; }));
  quiet_turns();
  for (Pair& pair : pairs) EXPECT_EQ(peer_receive_to_end(*pair.peer).end, PeerEnd::reset);
}

TEST_P(ContractTurn, ARunnableDestroyedWhileReadyNeverRuns) {
  auto doomed = std::make_unique<Owner>();
  int runs = 0;
  doomed->body = [&] { ++runs; };
  const Pair pair = accept_pair(doomed.get());
  Owner first;
  first.body = [&] {
    pair.stream->set_owner(nullptr);
    doomed.reset();
  };
  loop().ready(first);
  pair.peer->send("x");
  bench().deliver();
  quiet_turns();
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(take_exactly(*pair.stream, 1).bytes, "x");
}

TEST_P(ContractTurn, PostFromAnotherThreadEndsAWait) {
  std::atomic<int> ran{0};
  std::thread other([&] {
    loop().post([&] { ++ran; });
    loop().post([&] {
      ++ran;
      loop().stop();
    });
  });
  loop().run();
  other.join();
  EXPECT_EQ(ran, 2);
}

TEST_P(ContractTurn, AWakeBeforeTheWaitIsNotLost) {
  loop().backend().wake();
  loop().turn(kNever);
  loop().backend().wake();
  loop().turn(kNever);
}

TEST_P(ContractTurn, AWaitEndsAtItsTimeAndNotBefore) {
  quiet_turns(1);
  for (const int ms : {1, 7, 30}) {
    const Time until = loop().backend().now() + Ms(ms) + std::chrono::microseconds(300);
    for (int turns = 0; loop().now() < until; ++turns) {
      loop().turn(until);
      ASSERT_LT(turns, 10) << "wakes too early again and again";
    }
  }
}

TEST_P(ContractTurn, AnAlarmRingsInATurnThatBeginsAtOrAfterIt) {
  Owner owner;
  Alarm alarm(owner);
  const Time due = loop().backend().now() + Ms(25);
  loop().set_alarm(alarm, due);
  while (owner.runs == 0) {
    loop().turn(kNever);
    if (owner.runs == 0) ASSERT_TRUE(alarm.pending());
  }
  EXPECT_GE(loop().now(), due);
  EXPECT_FALSE(alarm.pending());
}

TEST_P(ContractTurn, WorkLeftForTheNextTurnDoesNotLetTheLoopSleep) {
  Owner owner;
  owner.body = [&] {
    if (owner.runs < 5) loop().ready_next_turn(owner);
  };
  loop().ready(owner);
  for (int i = 1; i <= 5; ++i) {
    loop().turn(kNever);
    EXPECT_EQ(owner.runs, i);
  }
}

}  // namespace
}  // namespace hushgate::io
