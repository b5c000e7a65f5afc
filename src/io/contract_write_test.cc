// The io contract, sending and closing.
#include <array>
#include <cerrno>

#include "io/contract_bench.h"

namespace hushgate::io {
namespace {

class ContractWrite : public Contract {};
INSTANTIATE_TEST_SUITE_P(Io, ContractWrite, testing::ValuesIn(contract_backends()), backend_name);

Result<std::size_t> write_text(Stream& stream, std::string_view text) {
  const Bytes piece = as_bytes(text);
  return stream.write({&piece, 1});
}

TEST_P(ContractWrite, PiecesAreSentInOrderAndMayBeReusedAtOnce) {
  const Pair pair = accept_pair(nullptr);
  std::string one = "one ";
  std::string three = "three";
  const std::array<Bytes, 3> pieces{as_bytes(one), Bytes{}, as_bytes(three)};
  EXPECT_EQ(pair.stream->write(pieces), 9U);
  one.assign(4, '#');
  three.assign(5, '#');
  EXPECT_EQ(peer_receive(*pair.peer, 9).bytes, "one three");
  EXPECT_TRUE(pair.stream->writable());
}

TEST_P(ContractWrite, APeerThatStopsReadingIsWrittenToWithinBounds) {
  Owner owner;
  const Pair pair = accept_pair(&owner, Window::small);
  const std::size_t total = fill_up(*pair.stream);
  EXPECT_GT(total, 0U);
  EXPECT_FALSE(pair.stream->writable());
  EXPECT_EQ(write_text(*pair.stream, "x"), 0U);
  EXPECT_GT(pair.stream->unacknowledged(), 0U);
  EXPECT_LE(pair.stream->unacknowledged(), total);
}

TEST_P(ContractWrite, AShortWriteWakesItsOwnerWhenThereIsRoomAgain) {
  Owner owner;
  const Pair pair = accept_pair(&owner, Window::small);
  std::size_t written = fill(*pair.stream);
  owner.body = [&] { written += fill(*pair.stream, written); };
  std::string got;
  ASSERT_TRUE(turn_until([&] {
    for (;;) {
      const PeerRead read = pair.peer->receive(65'536);
      if (read.bytes.empty()) break;
      got += read.bytes;
    }
    return owner.runs >= 3;
  }));
  owner.body = nullptr;
  got += peer_receive(*pair.peer, written - got.size()).bytes;
  EXPECT_TRUE(got == pattern(written));
}

TEST_P(ContractWrite, AcknowledgedBytesAreNotCountedAndNeitherIsTheFin) {
  const Pair pair = accept_pair(nullptr);
  ASSERT_EQ(write_text(*pair.stream, "hello"), 5U);
  pair.stream->finish_writing();
  EXPECT_LE(pair.stream->unacknowledged(), 5U);
  EXPECT_EQ(peer_receive_to_end(*pair.peer).bytes, "hello");
  EXPECT_TRUE(turn_until([&] { return pair.stream->unacknowledged() == 0; }));
}

TEST_P(ContractWrite, AnAbortDuringABlockedSendEndsTheStreamAtOnce) {
  auto owner = std::make_unique<Owner>();
  Pair pair = accept_pair(owner.get(), Window::small);
  fill_up(*pair.stream);
  const int runs = owner->runs;
  close(std::move(pair.stream), CloseHow::reset);
  quiet_turns();
  EXPECT_EQ(owner->runs, runs);
  EXPECT_EQ(peer_receive_to_end(*pair.peer).end, PeerEnd::reset);
}

TEST_P(ContractWrite, CloseWithFinDeliversAllThatWasAccepted) {
  Pair pair = accept_pair(nullptr, Window::small);
  const std::size_t written = fill_up(*pair.stream);
  ASSERT_GT(written, 0U);
  close(std::move(pair.stream), CloseHow::fin);
  const PeerRead all = peer_receive_to_end(*pair.peer);
  EXPECT_EQ(all.end, PeerEnd::fin);
  EXPECT_TRUE(all.bytes == pattern(written));
}

TEST_P(ContractWrite, FinishWritingComesBehindAllThatWasAccepted) {
  Pair pair = accept_pair(nullptr, Window::small);
  const std::size_t written = fill_up(*pair.stream);
  pair.stream->finish_writing();
  const PeerRead all = peer_receive_to_end(*pair.peer);
  EXPECT_EQ(all.end, PeerEnd::fin);
  EXPECT_TRUE(all.bytes == pattern(written));
}

// A response can be lost so: whoever may have unread bytes ends through `closing` (next case).
TEST_P(ContractWrite, CloseWithUnreadBytesResetsThePeer) {
  Pair pair = accept_pair(nullptr);
  pair.peer->send("never read");
  ASSERT_TRUE(turn_until([&] { return pair.stream->readable(); }));
  close(std::move(pair.stream), CloseHow::fin);
  EXPECT_EQ(peer_receive_to_end(*pair.peer).end, PeerEnd::reset);
}

TEST_P(ContractWrite, FinThenDrainThenCloseDeliversTheResponse) {
  Pair pair = accept_pair(nullptr);
  pair.peer->send("too much");
  ASSERT_TRUE(turn_until([&] { return pair.stream->readable(); }));
  ASSERT_EQ(write_text(*pair.stream, "413"), 3U);
  pair.stream->finish_writing();
  pair.peer->send(" and more");
  EXPECT_EQ(take_exactly(*pair.stream, 17).bytes, "too much and more");
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::fin);
  close(std::move(pair.stream), CloseHow::fin);
  const PeerRead all = peer_receive_to_end(*pair.peer);
  EXPECT_EQ(all.bytes, "413");
  EXPECT_EQ(all.end, PeerEnd::fin);
}

TEST_P(ContractWrite, OurHalfCloseLeavesTheOtherDirectionOpen) {
  Owner owner;
  Pair pair = accept_pair(&owner);
  pair.stream->finish_writing();
  EXPECT_EQ(peer_receive_to_end(*pair.peer).end, PeerEnd::fin);
  EXPECT_EQ(pair.peer->send("still here"), 10U);
  EXPECT_EQ(take_exactly(*pair.stream, 10).bytes, "still here");
  EXPECT_FALSE(pair.stream->peer_finished());
  pair.peer->finish();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::fin);
  EXPECT_FALSE(pair.stream->failed());
}

TEST_P(ContractWrite, ThePeersHalfCloseLeavesTheOtherDirectionOpen) {
  Owner owner;
  Pair pair = accept_pair(&owner);
  pair.peer->send("request");
  pair.peer->finish();
  const Taken taken = take_exactly(*pair.stream, 8);
  EXPECT_EQ(taken.bytes, "request");
  EXPECT_EQ(taken.end, Take::Kind::fin);
  ASSERT_EQ(write_text(*pair.stream, "response"), 8U);
  EXPECT_EQ(peer_receive(*pair.peer, 8).bytes, "response");
  close(std::move(pair.stream), CloseHow::fin);
  EXPECT_EQ(peer_receive_to_end(*pair.peer).end, PeerEnd::fin);
}

TEST_P(ContractWrite, WritingToAPeerThatResetFailsForGood) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->reset();
  ASSERT_TRUE(turn_until([&] { return pair.stream->failed(); }));
  const auto result = write_text(*pair.stream, "x");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().os_error, ECONNRESET);
  EXPECT_FALSE(write_text(*pair.stream, "x").has_value());
}

TEST_P(ContractWrite, AResetDuringABlockedSendWakesTheOwner) {
  Owner owner;
  const Pair pair = accept_pair(&owner, Window::small);
  fill_up(*pair.stream);
  const int runs = owner.runs;
  pair.peer->reset();
  ASSERT_TRUE(turn_until([&] { return pair.stream->failed(); }));
  EXPECT_GT(owner.runs, runs);
}

TEST_P(ContractWrite, WritingToAPeerThatClosedEndsInFailure) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  pair.peer->close();
  ASSERT_TRUE(turn_until([&] { return pair.stream->peer_finished(); }));
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::fin);
  EXPECT_FALSE(pair.stream->failed());
  EXPECT_TRUE(write_text(*pair.stream, "nobody reads this").has_value());
  ASSERT_TRUE(turn_until([&] { return pair.stream->failed(); }));
  EXPECT_TRUE(pair.stream->error() == EPIPE || pair.stream->error() == ECONNRESET);
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
}

TEST_P(ContractWrite, AStreamDroppedByItsOwnerIsReset) {
  Pair pair = accept_pair(nullptr);
  ASSERT_EQ(write_text(*pair.stream, "cut"), 3U);
  pair.stream.reset();
  EXPECT_EQ(peer_receive_to_end(*pair.peer).end, PeerEnd::reset);
}

TEST_P(ContractWrite, AResetLeavesAtOnceWithoutAnotherTurn) {
  Owner owner;
  Pair idle = accept_pair(&owner);
  Pair blocked = accept_pair(&owner, Window::small);
  fill_up(*blocked.stream);
  close(std::move(idle.stream), CloseHow::reset);
  close(std::move(blocked.stream), CloseHow::reset);
  bench().deliver();
  EXPECT_EQ(idle.peer->receive(10).end, PeerEnd::reset);
  PeerRead read;
  do {
    read = blocked.peer->receive(65'536);
  } while (!read.bytes.empty());
  EXPECT_EQ(read.end, PeerEnd::reset);
}

TEST_P(ContractWrite, BothDirectionsOfManyStreamsCarryMuchAtOnce) {
  constexpr std::size_t kStreams = 8;
  constexpr std::size_t kEachBytes = 400'000;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < kStreams; ++i) pairs.push_back(accept_pair(nullptr));
  struct Progress {
    std::size_t peer_sent = 0;
    std::size_t sent = 0;
    std::string got;
    std::string peer_got;
  };
  std::array<Progress, kStreams> progress;
  const auto step = [&](Pair& pair, Progress& at) {
    at.peer_sent += pair.peer->send(
        pattern(std::min<std::size_t>(9'000, kEachBytes - at.peer_sent), at.peer_sent));
    const std::string chunk = pattern(std::min<std::size_t>(7'000, kEachBytes - at.sent), at.sent);
    if (!chunk.empty() && pair.stream->writable()) at.sent += *write_text(*pair.stream, chunk);
    at.got += take_all(*pair.stream).bytes;
    at.peer_got += pair.peer->receive(20'000).bytes;
    return at.got.size() == kEachBytes && at.peer_got.size() == kEachBytes;
  };
  EXPECT_TRUE(turn_until([&] {
    bool all = true;
    for (std::size_t i = 0; i < kStreams; ++i) all = step(pairs[i], progress[i]) && all;
    return all;
  }));
  for (const Progress& at : progress) {
    EXPECT_TRUE(at.got == pattern(kEachBytes));
    EXPECT_TRUE(at.peer_got == pattern(kEachBytes));
  }
}

}  // namespace
}  // namespace hushgate::io
