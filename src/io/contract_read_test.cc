// The io contract, receiving: pauses, ends, resets, leases.
#include <cerrno>

#include "io/contract_bench.h"

namespace hushgate::io {
namespace {

constexpr std::size_t kFloodBytes = 64U << 20U;
constexpr std::size_t kStallLimitBytes =
    16U << 20U;  // both kernels' buffers and the completed receives together

class ContractRead : public Contract {};
INSTANTIATE_TEST_SUITE_P(Io, ContractRead, testing::ValuesIn(contract_backends()), backend_name);

// Sends until the peer's kernel takes nothing for a number of turns.
std::size_t flood(Peer& peer, const std::function<void()>& turns) {
  std::size_t sent = 0;
  int stalled = 0;
  while (sent < kFloodBytes && stalled < 5) {
    const std::size_t taken = peer.send(pattern(65'536, sent));
    sent += taken;
    stalled = taken == 0 ? stalled + 1 : 0;
    turns();
  }
  return sent;
}

TEST_P(ContractRead, AQuietStreamGivesNothingAndWakesNobody) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  EXPECT_TRUE(pair.stream->writable());
  EXPECT_FALSE(pair.stream->readable());
  quiet_turns();
  EXPECT_EQ(owner.runs, 0);
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::nothing);
}

TEST_P(ContractRead, BytesWakeTheOwnerAndComeInOrder) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  const std::string sent = pattern(50'000);
  ASSERT_EQ(pair.peer->send(sent), sent.size());
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  EXPECT_TRUE(pair.stream->readable());
  EXPECT_EQ(take_exactly(*pair.stream, sent.size()).bytes, sent);
  EXPECT_FALSE(pair.stream->readable());
}

TEST_P(ContractRead, EveryBurstAfterADrainWakesAgain) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  for (int round = 0; round < 20; ++round) {
    const int runs = owner.runs;
    ASSERT_EQ(pair.peer->send("x"), 1U);
    ASSERT_TRUE(turn_until([&] { return owner.runs > runs; })) << round;
    ASSERT_EQ(take_all(*pair.stream).bytes, "x") << round;
  }
}

TEST_P(ContractRead, APausedStreamStallsItsPeerAndLosesNothing) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  const std::size_t sent = flood(*pair.peer, [&] { quiet_turns(1); });
  EXPECT_LT(sent, kStallLimitBytes);
  RecordProperty("bytes_that_the_peer_could_send", static_cast<int>(sent));
  quiet_turns();
  EXPECT_EQ(pair.peer->send("more"), 0U);
  EXPECT_TRUE(pair.stream->readable());
  EXPECT_FALSE(pair.stream->peer_finished());
  EXPECT_TRUE(take_exactly(*pair.stream, sent).bytes == pattern(sent));
}

TEST_P(ContractRead, AFinIsSeenWhilePaused) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->send("unread");
  ASSERT_TRUE(turn_until([&] { return pair.stream->readable(); }));
  quiet_turns();
  const int runs = owner.runs;
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  EXPECT_GT(owner.runs, runs);
  EXPECT_FALSE(pair.stream->failed());
  const Taken taken = take_exactly(*pair.stream, 7);
  EXPECT_EQ(taken.bytes, "unread");
  EXPECT_EQ(taken.end, Take::Kind::fin);
}

TEST_P(ContractRead, AFinIsSeenBehindAFullWindow) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  std::size_t sent = 0;
  while (sent < 40'000) sent += pair.peer->send(pattern(1'000, sent));
  ASSERT_TRUE(turn_until([&] { return pair.stream->readable(); }));
  quiet_turns();
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  const Taken taken = take_exactly(*pair.stream, sent + 1);
  EXPECT_TRUE(taken.bytes == pattern(sent));
  EXPECT_EQ(taken.end, Take::Kind::fin);
}

// More receives than a backend completes on its own account: from then on nothing is received, only
// looked for.
std::size_t pile_up(Peer& peer, const std::function<void()>& turn) {
  std::size_t sent = 0;
  for (int i = 0; i < 40; ++i) {
    sent += peer.send(pattern(500, sent));
    turn();
  }
  return sent;
}

TEST_P(ContractRead, AFinIsSeenBehindManyReceivesThatNobodyTook) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  const std::size_t sent = pile_up(*pair.peer, [&] { quiet_turns(1); });
  EXPECT_EQ(owner.runs, 1);  // what lies there is no news
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  EXPECT_EQ(owner.runs, 2);
  const Taken taken = take_exactly(*pair.stream, sent + 1);
  EXPECT_TRUE(taken.bytes == pattern(sent));
  EXPECT_EQ(taken.end, Take::Kind::fin);
}

TEST_P(ContractRead, AResetIsSeenBehindManyReceivesThatNobodyTook) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pile_up(*pair.peer, [&] { quiet_turns(1); });
  pair.peer->reset();
  ASSERT_TRUE(turn_until([&] { return pair.stream->failed(); }));
  EXPECT_EQ(pair.stream->error(), ECONNRESET);
  EXPECT_EQ(owner.runs, 2);
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
}

TEST_P(ContractRead, AfterALongPauseTheStreamGoesOn) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  std::size_t sent = pile_up(*pair.peer, [&] { quiet_turns(1); });
  EXPECT_TRUE(take_exactly(*pair.stream, sent).bytes == pattern(sent));
  for (int round = 0; round < 3; ++round) {
    const int runs = owner.runs;
    pair.peer->send("next");
    ASSERT_TRUE(turn_until([&] { return owner.runs > runs; }));
    EXPECT_EQ(take_exactly(*pair.stream, 4).bytes, "next");
  }
}

// Both directions of the peer have ended for us, and still a reset must show: the client is gone.
TEST_P(ContractRead, AResetBehindAFinIsSeen) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::fin);
  quiet_turns();
  const int runs = owner.runs;
  pair.peer->reset();
  ASSERT_TRUE(turn_until([&] { return pair.stream->failed(); }));
  EXPECT_GT(owner.runs, runs);
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
}

TEST_P(ContractRead, AResetIsSeenWhilePaused) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->send("unread");
  ASSERT_TRUE(turn_until([&] { return pair.stream->readable(); }));
  quiet_turns();
  const int runs = owner.runs;
  pair.peer->reset();
  ASSERT_TRUE(turn_until([&] { return pair.stream->failed(); }));
  EXPECT_GT(owner.runs, runs);
  EXPECT_EQ(pair.stream->error(), ECONNRESET);
  const Taken taken = take_all(*pair.stream);
  EXPECT_TRUE(taken.bytes == "unread" || taken.bytes.empty());
  EXPECT_EQ(taken.end, Take::Kind::failed);
  EXPECT_EQ(taken.os_error, ECONNRESET);
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
}

TEST_P(ContractRead, AResetWithoutBytesIsSeenAndNeverLooksLikeAFin) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->reset();
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  EXPECT_TRUE(pair.stream->failed());
  EXPECT_FALSE(pair.stream->peer_finished());
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
}

TEST_P(ContractRead, AResetThatTakeFindsFirstStays) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->reset();
  bench().deliver();
  Taken taken;
  ASSERT_TRUE(turn_until([&] {
    taken = take_all(*pair.stream);
    return taken.end == Take::Kind::failed;
  }));
  EXPECT_TRUE(pair.stream->failed());
  quiet_turns();
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
  EXPECT_EQ(pair.stream->error(), ECONNRESET);
}

TEST_P(ContractRead, DataAndFinInOneEventAreReadToTheEndAndTheFinIsReturnedAgain) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  const std::string sent = pattern(30'000);
  ASSERT_EQ(pair.peer->send(sent), sent.size());
  pair.peer->finish();
  std::string got;
  Take::Kind end = Take::Kind::nothing;
  // Reads only when woken, and then while the stream says readable: nothing may be forgotten.
  owner.body = [&] {
    while (pair.stream->readable()) {
      const Take take = pair.stream->take();
      if (take.kind != Take::Kind::data) {
        end = take.kind;
        if (end != Take::Kind::nothing) return;
      }
      got += as_text(take.lease.bytes());
    }
  };
  ASSERT_TRUE(turn_until([&] { return end == Take::Kind::fin; }));
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(pair.stream->peer_finished());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.stream->take().kind, Take::Kind::fin);
}

TEST_P(ContractRead, AFinAloneWakesTheOwnerOnce) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::fin);
  const int runs = owner.runs;
  quiet_turns();
  EXPECT_EQ(owner.runs, runs);
}

TEST_P(ContractRead, ALeaseEndsInItsTurnAndTheBufferIsLentAgain) {
  Owner owner;
  const Pair one = accept_pair(&owner);
  const Pair two = accept_pair(&owner);
  for (int round = 0; round < 200; ++round) {
    one.peer->send("first");
    two.peer->send("second");
    ASSERT_EQ(take_exactly(*one.stream, 5).bytes, "first") << round;
    ASSERT_EQ(take_exactly(*two.stream, 6).bytes, "second") << round;
  }
}

TEST_P(ContractRead, StreamsThatNobodyReadsDoNotStarveTheOthers) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 350; ++i) {
    peers.push_back(bench().connect(listener->address(), Window::usual));
    peers.back()->send("unread");
  }
  ASSERT_TRUE(turn_until([&] { return acceptor.streams.size() == peers.size(); }));
  quiet_turns(3);
  const Pair pair = accept_pair(nullptr);
  pair.peer->send("read");
  EXPECT_EQ(take_exactly(*pair.stream, 4).bytes, "read");
}

TEST_P(ContractRead, ALeaseMayBeMovedAndGoesBackOnce) {
  const Pair pair = accept_pair(nullptr);
  pair.peer->send("bytes");
  Take take;
  ASSERT_TRUE(turn_until([&] {
    if (take.kind != Take::Kind::data) take = pair.stream->take();
    if (take.kind != Take::Kind::data) return false;
    Lease moved = std::move(take.lease);
    EXPECT_TRUE(take.lease.bytes().empty());
    EXPECT_FALSE(moved.bytes().empty());
    moved = Lease();
    return true;
  }));
  take_all(*pair.stream);
}

TEST_P(ContractRead, AStreamWithoutAnOwnerKeepsItsEventsInItsFlags) {
  const Pair pair = accept_pair(nullptr);
  pair.peer->send("kept");
  ASSERT_TRUE(turn_until([&] { return pair.stream->readable(); }));
  Owner owner;
  pair.stream->set_owner(&owner);
  quiet_turns();
  EXPECT_EQ(take_exactly(*pair.stream, 4).bytes, "kept");
  pair.peer->send("later");
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  take_all(*pair.stream);
  pair.stream->set_owner(nullptr);
}

TEST_P(ContractRead, StillQuietLooksAtWhatTheTurnHasNotCollected) {
  Owner owner;
  const Pair quiet = accept_pair(&owner);
  const Pair bytes = accept_pair(&owner);
  const Pair fin = accept_pair(&owner);
  const Pair reset = accept_pair(&owner);
  for (const Pair* pair : {&quiet, &bytes, &fin, &reset}) {
    EXPECT_TRUE(pair->stream->still_quiet());
  }
  bytes.peer->send("surprise");
  fin.peer->finish();
  reset.peer->reset();
  bench().deliver();
  EXPECT_TRUE(quiet.stream->still_quiet());
  EXPECT_FALSE(bytes.stream->still_quiet());
  EXPECT_FALSE(fin.stream->still_quiet());
  EXPECT_FALSE(reset.stream->still_quiet());
  quiet_turns(2);
  EXPECT_TRUE(quiet.stream->still_quiet());
  EXPECT_FALSE(bytes.stream->still_quiet());
  EXPECT_EQ(take_exactly(*bytes.stream, 8).bytes, "surprise");
  EXPECT_EQ(take_all(*fin.stream).end, Take::Kind::fin);
  EXPECT_EQ(take_all(*reset.stream).end, Take::Kind::failed);
}

TEST_P(ContractRead, BytesThatTheTurnCollectedButNobodyTookAreNotQuiet) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->send("late");
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  EXPECT_FALSE(pair.stream->still_quiet());
  EXPECT_EQ(take_exactly(*pair.stream, 4).bytes, "late");
  quiet_turns(2);
  EXPECT_TRUE(pair.stream->still_quiet());
}

}  // namespace
}  // namespace hushgate::io
