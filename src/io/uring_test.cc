// What io_uring does differently behind the same contract.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "io/contract_bench.h"

namespace hushgate::io {
namespace {

class Uring : public Contract {};
INSTANTIATE_TEST_SUITE_P(Io, Uring, testing::Values("uring", "olduring"), backend_name);

Result<std::size_t> write_text(Stream& stream, std::string_view text) {
  const Bytes piece = as_bytes(text);
  return stream.write({&piece, 1});
}

// The request is submitted at the turn's end: what came between the look and that is no answer.
TEST_P(Uring, ARequestIsNotSubmittedBehindAByteThatCameAfterTheLook) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  quiet_turns(2);
  ASSERT_TRUE(pair.stream->still_quiet());
  ASSERT_EQ(write_text(*pair.stream, "request"), 7U);
  pair.peer->send("stray");
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  EXPECT_TRUE(pair.stream->failed());
  EXPECT_EQ(take_all(*pair.stream).bytes, "");
  EXPECT_EQ(take_all(*pair.stream).end, Take::Kind::failed);
  quiet_turns(2);
  EXPECT_EQ(pair.peer->receive(10).bytes, "");
}

TEST_P(Uring, WhatIsWrittenAtOnceIsWithTheKernelAndNothingThatComesLaterTakesItBack) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  quiet_turns(2);
  pair.stream->write_at_once();
  ASSERT_TRUE(pair.stream->still_quiet());
  ASSERT_EQ(write_text(*pair.stream, "request"), 7U);
  EXPECT_EQ(pair.peer->receive(7).bytes, "request") << "it waits for the end of the turn";
  pair.peer->send("answer");
  ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  EXPECT_FALSE(pair.stream->failed());
  EXPECT_EQ(take_exactly(*pair.stream, 6).bytes, "answer");
}

TEST_P(Uring, ARequestBehindALookThatStaysTrueIsSubmitted) {
  Owner owner;
  const Pair pair = accept_pair(&owner);
  const Pair other = accept_pair(nullptr);
  quiet_turns(2);
  ASSERT_TRUE(pair.stream->still_quiet());
  ASSERT_EQ(write_text(*pair.stream, "request"), 7U);
  other.peer->send("of another one");
  EXPECT_EQ(peer_receive(*pair.peer, 7).bytes, "request");
  EXPECT_FALSE(pair.stream->failed());
  EXPECT_EQ(take_exactly(*other.stream, 14).bytes, "of another one");
}

TEST_P(Uring, WhatALookFoundForAnotherStreamIsToldInTheNextTurn) {
  Owner asked;
  Owner owner;
  const Pair quiet = accept_pair(&asked);
  const Pair pair = accept_pair(&owner);
  quiet_turns(2);
  pair.peer->send("bytes");
  EXPECT_TRUE(quiet.stream->still_quiet());
  EXPECT_EQ(pair.stream->untaken(), 5U);
  EXPECT_EQ(owner.runs, 0);
  loop().turn(kNever);
  EXPECT_EQ(owner.runs, 1);
  EXPECT_EQ(take_exactly(*pair.stream, 5).bytes, "bytes");
  EXPECT_EQ(pair.stream->untaken(), 0U);
}

TEST_P(Uring, SmallWritesThatASocketHasNoRoomForAreSentLater) {
  Owner owner;
  const Pair pair = accept_pair(&owner, Window::small);
  std::size_t written = 0;
  for (int turns = 0; turns < 3'000 && pair.stream->writable(); ++turns) {
    written += *write_text(*pair.stream, pattern(1'000, written));
    loop().turn(Time::min());
  }
  EXPECT_FALSE(pair.stream->writable());
  EXPECT_EQ(write_text(*pair.stream, "x"), 0U);
  const int runs = owner.runs;
  EXPECT_TRUE(peer_receive(*pair.peer, written).bytes == pattern(written));
  ASSERT_TRUE(turn_until([&] { return pair.stream->writable(); }));
  EXPECT_GT(owner.runs, runs);
  EXPECT_TRUE(turn_until([&] { return pair.stream->unacknowledged() == 0; }));
}

TEST_P(Uring, MoreSmallWritesThanTheOutboxHoldsAllArrive) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 80; ++i) pairs.push_back(accept_pair(nullptr));
  for (Pair& pair : pairs) {
    for (std::size_t at = 0; at < 6'000; at += 1'500) {
      ASSERT_EQ(write_text(*pair.stream, pattern(1'500, at)), 1'500U);
    }
  }
  for (Pair& pair : pairs) EXPECT_TRUE(peer_receive(*pair.peer, 6'000).bytes == pattern(6'000));
}

TEST_P(Uring, PiecesOfSeveralStreamsInTurnStayInOrder) {
  const Pair one = accept_pair(nullptr);
  const Pair two = accept_pair(nullptr);
  for (std::size_t at = 0; at < 5'000; at += 500) {
    ASSERT_EQ(write_text(*one.stream, pattern(500, at)), 500U);
    ASSERT_EQ(write_text(*two.stream, pattern(500, at + 7)), 500U);
  }
  EXPECT_TRUE(peer_receive(*one.peer, 5'000).bytes == pattern(5'000));
  EXPECT_TRUE(peer_receive(*two.peer, 5'000).bytes == pattern(5'000, 7));
}

// As a worker's life: opened here, used there, ended here.
TEST_P(Uring, AnotherThreadMayUseItUntilItLeaves) {
  Acceptor acceptor;
  auto listener = listen(acceptor);
  const auto peer = bench().connect(listener->address(), Window::usual);
  peer->send("unread");
  std::thread user([&] {
    EXPECT_TRUE(turn_until(
        [&] { return acceptor.streams.size() == 1 && acceptor.streams.front()->readable(); }));
    loop().backend().leave();
  });
  user.join();
  peer->send("more that nobody receives");
  acceptor.streams.clear();
  listener.reset();
  end_loop();
  EXPECT_EQ(peer_receive_to_end(*peer).end, PeerEnd::reset);
}

TEST_P(Uring, LeavingWaitsForBytesThatThePeerStillTakes) {
  Pair pair = accept_pair(nullptr, Window::small);
  const std::size_t written = fill_up(*pair.stream);
  close(std::move(pair.stream), CloseHow::fin);
  std::string got;
  std::thread reader([&] {
    for (PeerRead read; read.end == PeerEnd::none && got.size() < written;) {
      read = pair.peer->receive(65'536);
      got += read.bytes;
    }
  });
  loop().backend().leave();
  reader.join();
  end_loop();
  EXPECT_TRUE(got == pattern(written));
}

TEST_P(Uring, LeavingDoesNotWaitForAPeerThatTakesNothing) {
  Pair pair = accept_pair(nullptr, Window::small);
  fill_up(*pair.stream);
  close(std::move(pair.stream), CloseHow::fin);
  loop().backend().leave();
  end_loop();
}

}  // namespace
}  // namespace hushgate::io
