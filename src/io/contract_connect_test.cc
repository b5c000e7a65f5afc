// The io contract, connecting and accepting.
#include <cerrno>

#include "io/contract_bench.h"

namespace hushgate::io {
namespace {

class ContractConnect : public Contract {};
INSTANTIATE_TEST_SUITE_P(Io, ContractConnect, testing::ValuesIn(contract_backends()), backend_name);

TEST_P(ContractConnect, AConnectedStreamWakesItsOwnerAndCarriesBytes) {
  Owner owner;
  const auto listener = bench().listen(Window::usual);
  auto stream = loop().backend().connect(listener->address(), {}, &owner);
  ASSERT_TRUE(stream.has_value());
  if ((*stream)->connecting()) {
    EXPECT_FALSE((*stream)->writable());
    EXPECT_EQ((*stream)->take().kind, Take::Kind::nothing);
    ASSERT_TRUE(turn_until([&] { return owner.runs > 0; }));
  }
  EXPECT_FALSE((*stream)->connecting());
  EXPECT_FALSE((*stream)->failed());
  EXPECT_TRUE((*stream)->writable());
  EXPECT_EQ((*stream)->peer(), listener->address());
  ASSERT_NE((*stream)->local().ip(), nullptr);
  EXPECT_NE((*stream)->local().ip()->port, 0);
  const auto peer = listener->accept();
  ASSERT_NE(peer, nullptr);
  const Bytes piece = as_bytes("ping");
  EXPECT_EQ((*stream)->write({&piece, 1}), 4U);
  EXPECT_EQ(peer_receive(*peer, 4).bytes, "ping");
  peer->send("pong");
  EXPECT_EQ(take_exactly(**stream, 4).bytes, "pong");
}

TEST_P(ContractConnect, ARefusalComesAsAFailedStream) {
  Owner owner;
  auto stream = loop().backend().connect(bench().refused_address(), {}, &owner);
  ASSERT_TRUE(stream.has_value());
  ASSERT_TRUE(turn_until([&] { return !(*stream)->connecting(); }));
  EXPECT_EQ(owner.runs, 1);
  EXPECT_TRUE((*stream)->failed());
  EXPECT_EQ((*stream)->error(), ECONNREFUSED);
  EXPECT_EQ((*stream)->take().kind, Take::Kind::failed);
  quiet_turns();
  EXPECT_EQ(owner.runs, 1);
}

TEST_P(ContractConnect, NoSourcePortIsSaidAtOnceWithItsErrno) {
  Owner owner;
  const auto listener = bench().listen(Window::usual);
  const auto stream =
      loop().backend().connect(listener->address(), bench().exhausted_source(), &owner);
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().os_error, EADDRNOTAVAIL);
  quiet_turns(1);
  EXPECT_EQ(owner.runs, 0);
}

TEST_P(ContractConnect, NoDescriptorIsSaidAtOnceWithItsErrno) {
  const auto listener = bench().listen(Window::usual);
  const SocketAddress address = listener->address();
  bench().exhaust_descriptors();
  const auto stream = loop().backend().connect(address, {}, nullptr);
  bench().restore_descriptors();
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().os_error, EMFILE);
}

TEST_P(ContractConnect, ABlackHoleKeepsAStreamConnectingUntilItIsClosed) {
  const auto address = bench().black_hole();
  if (!address) GTEST_SKIP() << "loopback has no black hole: simulation only";
  Owner owner;
  auto stream = loop().backend().connect(*address, {}, &owner);
  ASSERT_TRUE(stream.has_value());
  quiet_turns(20);
  EXPECT_TRUE((*stream)->connecting());
  EXPECT_EQ(owner.runs, 0);
}

TEST_P(ContractConnect, AStreamClosedWhileConnectingIsNotHeardOfAgain) {
  Owner owner;
  const auto listener = bench().listen(Window::usual);
  for (int i = 0; i < 20; ++i) {
    auto stream = loop().backend().connect(listener->address(), {}, &owner);
    ASSERT_TRUE(stream.has_value());
    close(std::move(*stream), i % 2 == 0 ? CloseHow::reset : CloseHow::fin);
  }
  quiet_turns();
  EXPECT_EQ(owner.runs, 0);
}

TEST_P(ContractConnect, UnixSocketsConnectToo) {
  Owner owner;
  const auto listener = bench().listen_unix();
  auto stream = loop().backend().connect(listener->address(), {}, &owner);
  ASSERT_TRUE(stream.has_value());
  std::unique_ptr<Peer> peer;
  ASSERT_TRUE(turn_until([&] {
    if (!peer) peer = listener->accept();
    return peer && !(*stream)->connecting();
  }));
  EXPECT_FALSE((*stream)->failed());
  const Bytes piece = as_bytes("ping");
  EXPECT_EQ((*stream)->write({&piece, 1}), 4U);
  EXPECT_EQ(peer_receive(*peer, 4).bytes, "ping");
  peer->send("pong");
  peer->finish();
  const Taken taken = take_exactly(**stream, 5);
  EXPECT_EQ(taken.bytes, "pong");
  EXPECT_EQ(taken.end, Take::Kind::fin);
}

TEST_P(ContractConnect, AUnixSocketThatIsNotThereFails) {
  const auto stream = loop().backend().connect(
      SocketAddress::unix_socket("/nonexistent/hushgate.sock"), {}, nullptr);
  if (stream) {
    ASSERT_TRUE(turn_until([&] { return !(*stream)->connecting(); }));
    EXPECT_EQ((*stream)->error(), ENOENT);
  } else {
    EXPECT_EQ(stream.error().os_error, ENOENT);
  }
}

class ContractAccept : public Contract {};
INSTANTIATE_TEST_SUITE_P(Io, ContractAccept, testing::ValuesIn(contract_backends()), backend_name);

TEST_P(ContractAccept, MoreConnectionsThanATurnTakesAreAllAccepted) {
  constexpr std::size_t kCount = 150;
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  ASSERT_NE(listener->address().ip()->port, 0);
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::size_t i = 0; i < kCount; ++i) {
    peers.push_back(bench().connect(listener->address(), Window::usual));
  }
  ASSERT_TRUE(turn_until([&] { return acceptor.streams.size() == kCount; }));
  for (const StreamPtr& stream : acceptor.streams) {
    EXPECT_TRUE(stream->writable());
    ASSERT_NE(stream->peer().ip(), nullptr);
    EXPECT_NE(stream->peer().ip()->port, 0);
    EXPECT_EQ(stream->local(), listener->address());
  }
}

TEST_P(ContractAccept, APausedListenerTakesNothingAndResumes) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  quiet_turns(1);
  listener->pause();
  const auto peer = bench().connect(listener->address(), Window::usual);
  quiet_turns();
  EXPECT_EQ(acceptor.streams.size(), 0U);
  listener->resume();
  EXPECT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
}

TEST_P(ContractAccept, AListenerPausedByItsHandlerStopsThere) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  acceptor.on_accept = [&] { listener->pause(); };
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(bench().connect(listener->address(), Window::usual));
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(turn_until([&] { return acceptor.streams.size() == i; }));
    quiet_turns(2);
    EXPECT_EQ(acceptor.streams.size(), i);
    listener->resume();
  }
}

TEST_P(ContractAccept, WithoutDescriptorsItStandsStillAndDoesNotSpin) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  quiet_turns(1);
  const auto peer = bench().connect(listener->address(), Window::usual);
  bench().exhaust_descriptors();
  EXPECT_TRUE(turn_until([&] { return acceptor.shortages > 0; }));
  const Time before = loop().backend().now();
  quiet_turns(5);
  EXPECT_GE(loop().backend().now() - before, Ms(25));  // each turn slept: nothing was ready
  EXPECT_EQ(acceptor.shortages, 1);
  EXPECT_EQ(acceptor.streams.size(), 0U);
  bench().restore_descriptors();
  quiet_turns(2);
  EXPECT_EQ(acceptor.streams.size(), 0U);
  listener->resume();
  EXPECT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
}

TEST_P(ContractAccept, WithoutDescriptorsAnEmptyQueueIsNoShortage) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  quiet_turns(1);
  const auto peer = bench().connect(listener->address(), Window::usual);
  acceptor.on_accept = [&] { bench().exhaust_descriptors(); };  // it was the last one
  ASSERT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
  quiet_turns(3);
  EXPECT_EQ(acceptor.shortages, 0);
  bench().restore_descriptors();
}

TEST_P(ContractAccept, WhenSomethingWasFreedItGoesOnAtOnce) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  quiet_turns(1);
  const auto peer = bench().connect(listener->address(), Window::usual);
  bench().exhaust_descriptors();
  acceptor.on_shortage = [&] {
    bench().restore_descriptors();
    return true;
  };
  EXPECT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
  EXPECT_EQ(acceptor.shortages, 1);
}

TEST_P(ContractAccept, AClosedStreamsDescriptorIsFreeAtOnce) {
  for (const CloseHow how : {CloseHow::fin, CloseHow::reset}) {
    const auto listener = bench().listen(Window::usual);
    const SocketAddress address = listener->address();
    Owner owner;
    Pair pair = accept_pair(&owner);
    quiet_turns(2);
    bench().exhaust_descriptors();
    EXPECT_FALSE(loop().backend().connect(address, {}, nullptr).has_value());
    close(std::move(pair.stream), how);
    EXPECT_TRUE(loop().backend().connect(address, {}, nullptr).has_value());
    bench().restore_descriptors();
  }
}

TEST_P(ContractAccept, WithoutDescriptorsAnEmptyQueueDoesNotSpin) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  const auto peer = bench().connect(listener->address(), Window::usual);
  acceptor.on_accept = [&] { bench().exhaust_descriptors(); };
  ASSERT_TRUE(turn_until([&] { return acceptor.streams.size() == 1; }));
  quiet_turns(3);
  const Time before = loop().backend().now();
  quiet_turns(5);
  EXPECT_GE(loop().backend().now() - before, Ms(25));
  EXPECT_EQ(acceptor.shortages, 0);
  bench().restore_descriptors();
  const auto next = bench().connect(listener->address(), Window::usual);
  acceptor.on_accept = nullptr;
  EXPECT_TRUE(turn_until([&] { return acceptor.streams.size() == 2; }));
}

TEST_P(ContractAccept, DrainAndCloseTakesWhatIsQueuedAndNothingAfter) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  quiet_turns(1);
  const SocketAddress address = listener->address();
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 20; ++i) peers.push_back(bench().connect(address, Window::usual));
  bench().deliver();
  listener->drain_and_close();
  EXPECT_EQ(acceptor.streams.size(), 20U);
  auto late = loop().backend().connect(address, {}, nullptr);
  ASSERT_TRUE(late.has_value());
  ASSERT_TRUE(turn_until([&] { return !(*late)->connecting(); }));
  EXPECT_EQ((*late)->error(), ECONNREFUSED);
  peers.front()->send("served");
  bool got = false;
  ASSERT_TRUE(turn_until([&] {
    for (const StreamPtr& stream : acceptor.streams) {
      got = got || take_all(*stream).bytes == "served";
    }
    return got;
  }));
}

TEST_P(ContractAccept, AConnectionThatWasResetInTheQueueHurtsNobody) {
  Acceptor acceptor;
  const auto listener = listen(acceptor);
  bench().connect(listener->address(), Window::usual)->reset();
  const auto peer = bench().connect(listener->address(), Window::usual);
  peer->send("alive");
  bool got = false;
  EXPECT_TRUE(turn_until([&] {
    for (const StreamPtr& stream : acceptor.streams) {
      got = got || take_all(*stream).bytes == "alive";
    }
    return got;
  }));
}

TEST_P(ContractAccept, AListenerMayGoAwayInTheTurnInWhichItWasReady) {
  Acceptor acceptor;
  auto listener = listen(acceptor);
  Owner first;
  first.body = [&] { listener.reset(); };
  const auto peer = bench().connect(listener->address(), Window::usual);
  bench().deliver();
  loop().ready(first);
  quiet_turns();
  EXPECT_EQ(acceptor.streams.size(), 0U);
}

}  // namespace
}  // namespace hushgate::io
