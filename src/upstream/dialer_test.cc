#include "upstream/dialer.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "upstream/testing.h"

namespace hushgate::upstream {
namespace {

using stats::Counter;
using std::chrono::seconds;
using testing::Dial;
using testing::kGate;
using testing::kLatency;
using testing::kServer;
using testing::Server;

const IpAddress kSix = *IpAddress::parse("fd00::1");
const IpAddress kOther = IpAddress::v4(10, 0, 0, 2);
constexpr Duration kRoundTrip = 2 * kLatency;

using List = std::vector<IpAddress>;

struct DialBench : testing::Bench {
  void swallow(const IpAddress& at) { network.set_fate(IpPort{at, 80}, io::SimFate::black_hole); }
  // Starts a dialer whose name has these addresses; how long it took to end.
  Duration dial(Dial& dial, const List& addresses) {
    const Time from = now();
    dial.start();
    if (!names.pending.empty()) {
      names.answer(addresses);
      dial.step();
    }
    return wait(dial, from);
  }
  Duration wait(Dial& dial, Time from) {
    while (!dial.connection && !dial.failed() && now() - from < seconds(60)) run_for(kLatency);
    return dial.ended - from;
  }
};

TEST(Dialer, ConnectsToALiteralWithinARoundTrip) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {}), kRoundTrip);
  ASSERT_TRUE(dial.connection);
  EXPECT_EQ(dial.connection->stream().peer(), SocketAddress(IpPort{kServer, 80}));
  EXPECT_TRUE(bench.names.asked.empty());
  EXPECT_EQ(bench.count(Counter::connects), 1U);
}

TEST(Dialer, TheSecondAddressStartsAQuarterOfASecondLaterAndTheLoserIsReset) {
  DialBench bench;
  bench.swallow(kSix);
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kAddressRaceDelay + kRoundTrip);
  ASSERT_TRUE(dial.connection);
  EXPECT_EQ(dial.connection->stream().peer(), SocketAddress(IpPort{kServer, 80}));
  EXPECT_EQ(bench.network.host(kGate).descriptors, 1U);
}

TEST(Dialer, TheNextAddressIsTriedAtOnceAfterARefusal) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), 2 * kRoundTrip);
  ASSERT_TRUE(dial.connection);
  EXPECT_EQ(bench.count(Counter::connects_failed), 1U);
}

TEST(Dialer, TheFirstThatAnswersWinsWhicheverItIs) {
  DialBench bench;
  Server six{bench.network, IpPort{kSix, 80}};
  Server four{bench.network, IpPort{kServer, 80}};
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kRoundTrip);
  EXPECT_EQ(six.peers.size(), 1U);
  EXPECT_EQ(four.peers.size(), 0U);
}

TEST(Dialer, EachSilentAddressDelaysTheNextByTheSameStep) {
  DialBench bench;
  const List addresses{kSix, IpAddress::v4(10, 0, 0, 2), *IpAddress::parse("fd00::3"), kServer};
  for (std::size_t i = 0; i < 3; ++i) bench.swallow(addresses[i]);
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, addresses), 3 * kAddressRaceDelay + kRoundTrip);
  EXPECT_TRUE(dial.connection);
  EXPECT_EQ(bench.network.host(kGate).descriptors, 1U);
}

TEST(Dialer, TheWinnerIsTriedFirstTheNextTime) {
  DialBench bench;
  bench.swallow(kSix);
  Server server{bench.network, IpPort{kServer, 80}};
  Dial first(bench.endpoint()), second(bench.endpoint());
  bench.dial(first, {kSix, kServer});
  EXPECT_EQ(bench.dial(second, {}), kRoundTrip);
  EXPECT_TRUE(second.connection);
}

TEST(Dialer, WhenAllRefuseItSaysSoAndWhere) {
  DialBench bench;
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), 2 * kRoundTrip);
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::connection_refused, ECONNREFUSED}));
  EXPECT_EQ(dial.dialer.failed_address().ip()->port, 80);
  bench.run_for(kRoundTrip);
  EXPECT_EQ(bench.network.host(kGate).descriptors, 0U);
}

TEST(Dialer, ARefusalSaysMoreThanASilence) {
  for (const List& order : {List{kSix, kServer}, List{kServer, kSix}}) {
    DialBench bench;
    bench.swallow(kSix);
    Dial dial(bench.endpoint());
    bench.dial(dial, order);
    ASSERT_TRUE(dial.failed());
    EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_refused);
    EXPECT_EQ(dial.dialer.failed_address(), SocketAddress(IpPort{kServer, 80}));
  }
}

TEST(Dialer, ASilentAddressHasItsOwnTimeout) {
  DialBench bench;
  bench.use_literal();
  bench.swallow(kServer);
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {}), bench.limits.connect_timeout);
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::connection_timeout, ETIMEDOUT}));
}

TEST(Dialer, TwoSilentAddressesOverlap) {
  DialBench bench;
  bench.swallow(kSix);
  bench.swallow(kServer);
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), bench.limits.connect_timeout + kAddressRaceDelay);
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_timeout);
}

TEST(Dialer, ConnectTotalEndsEverything) {
  DialBench bench;
  bench.limits.connect_total = Ms{3'000};
  bench.swallow(kSix);
  bench.swallow(kServer);
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), bench.limits.connect_total);
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_timeout);
  bench.run_for(kRoundTrip);
  EXPECT_EQ(bench.network.host(kGate).descriptors, 0U);
}

TEST(Dialer, AnAddressThatFailsAtOnceCostsNoTime) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  bench.backend->fails_at_once[SocketAddress(IpPort{kSix, 80}).to_string()] = ENETUNREACH;
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kRoundTrip);
  EXPECT_TRUE(dial.connection);
}

TEST(Dialer, AnUnreachableNetworkIsAFailureWithItsErrno) {
  DialBench bench;
  bench.use_literal();
  bench.backend->fails_at_once[SocketAddress(IpPort{kServer, 80}).to_string()] = EHOSTUNREACH;
  Dial dial(bench.endpoint());
  bench.dial(dial, {});
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::connection_failed, EHOSTUNREACH}));
}

TEST(Dialer, CancellingResetsWhatIsUnderWay) {
  DialBench bench;
  bench.swallow(kSix);
  bench.swallow(kServer);
  {
    Dial dial(bench.endpoint());
    dial.start();
    bench.names.answer(List{kSix, kServer});
    dial.step();
    bench.run_for(Ms{300});
    EXPECT_EQ(bench.network.host(kGate).descriptors, 2U);
    dial.dialer.cancel();
    EXPECT_EQ(dial.dialer.state(), Dialer::State::idle);
    EXPECT_EQ(bench.network.host(kGate).descriptors, 0U);
  }
  bench.run_for(seconds(20));
}

TEST(Dialer, MayBeStartedAgainAfterAFailure) {
  DialBench bench;
  bench.use_literal();
  Dial dial(bench.endpoint());
  bench.dial(dial, {});
  ASSERT_TRUE(dial.failed());
  Server server{bench.network, IpPort{kServer, 80}};
  EXPECT_EQ(bench.dial(dial, {}), kRoundTrip);
  EXPECT_TRUE(dial.connection);
}

// --- names

TEST(DialerNames, WaitForTheirAnswer) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench.endpoint());
  const Time from = bench.now();
  dial.start();
  bench.run_for(seconds(3));
  EXPECT_EQ(dial.dialer.state(), Dialer::State::resolving);
  bench.names.answer(List{kServer});
  EXPECT_EQ(bench.wait(dial, from), seconds(3) + kRoundTrip);
  EXPECT_TRUE(dial.connection);
}

TEST(DialerNames, AFailureIsTheDialersToo) {
  DialBench bench;
  Dial dial(bench.endpoint());
  dial.start();
  bench.names.answer(fail(ErrorKind::dns_error, -2));
  bench.run_for(kLatency);
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::dns_error, -2}));
}

TEST(DialerNames, NoAnswerForConnectTotalIsATimeout) {
  DialBench bench;
  Dial dial(bench.endpoint());
  const Time from = bench.now();
  dial.start();
  EXPECT_EQ(bench.wait(dial, from), bench.limits.connect_total);
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::dns_timeout);
}

TEST(DialerNames, AFailedConnectAsksAgainAtOnce) {
  DialBench bench;
  Dial dial(bench.endpoint());
  bench.dial(dial, {kServer});
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(bench.names.asked.size(), 1U);  // that answer is not a second old
  bench.run_for(seconds(2));
  bench.dial(dial, {});
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(bench.names.asked.size(), 2U);
  Server moved{bench.network, IpPort{kOther, 80}};
  bench.names.answer(List{kOther});
  bench.dial(dial, {});
  EXPECT_TRUE(dial.connection);
}

TEST(DialerNames, AnAnswerAfterEndpointAndDialerAreGoneIsDropped) {
  DialBench bench;
  {
    Dial dial(bench.endpoint());
    dial.start();
  }
  bench.end_endpoint();
  bench.names.answer(List{kServer});
  bench.run_for(seconds(1));
  EXPECT_TRUE(bench.backend->connects.empty());
}

// --- ports and descriptors

TEST(DialerPorts, IdlePooledConnectionsToTheDestinationGoFirst) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  bench.network.host(kGate).ports = 1;
  bench.endpoint().put_idle(bench.open(), std::nullopt);
  Dial dial(bench.endpoint());
  EXPECT_LE(bench.dial(dial, {}), Ms{110});  // at the latest when it looks again by itself
  EXPECT_TRUE(dial.connection);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  EXPECT_TRUE(server.resets[0]);
}

TEST(DialerPorts, AnotherAddressIsTriedBeforeAnythingWaits) {
  DialBench bench;
  Server one{bench.network, IpPort{kServer, 80}}, two{bench.network, IpPort{kOther, 80}};
  bench.network.host(kGate).ports = 1;
  Dial holder(bench.endpoint()), dial(bench.endpoint());
  bench.dial(holder, {kServer, kOther});
  ASSERT_EQ(one.peers.size(), 1U);
  EXPECT_EQ(bench.dial(dial, {}), kRoundTrip);
  EXPECT_EQ(two.peers.size(), 1U);
  EXPECT_EQ(bench.count(Counter::port_waits), 0U);
}

TEST(DialerPorts, WaitersAreServedInTheirOrderAsPortsAreFreed) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  bench.network.host(kGate).ports = 1;
  ConnectionPtr holder = bench.open();
  std::vector<std::unique_ptr<Dial>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::make_unique<Dial>(bench.endpoint()));
    waiting.back()->start();
    EXPECT_TRUE(waiting.back()->waits());
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    bench.endpoint().drop(std::move(holder));
    bench.run_for(Ms{150});
    ASSERT_TRUE(waiting[i]->connection) << i;
    for (std::size_t behind = i + 1; behind < waiting.size(); ++behind) {
      EXPECT_TRUE(waiting[behind]->waits()) << i;
    }
    holder = std::move(waiting[i]->connection);
  }
  EXPECT_EQ(bench.count(Counter::port_waits), 3U);
  EXPECT_EQ(bench.count(Counter::ports_exhausted), 0U);
}

TEST(DialerPorts, NoPortForConnectTimeoutIsAnErrorOfItsOwnKind) {
  DialBench bench;
  bench.use_literal();
  bench.network.host(kGate).ports = 0;
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {}), bench.limits.connect_timeout);
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::ports_exhausted, EADDRNOTAVAIL}));
  EXPECT_EQ(bench.count(Counter::ports_exhausted), 1U);
}

TEST(DialerPorts, WaitingIsNoSpin) {
  DialBench bench;
  bench.use_literal();
  bench.network.host(kGate).ports = 0;
  std::vector<std::unique_ptr<Dial>> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(std::make_unique<Dial>(bench.endpoint()));
    waiting.back()->start();
  }
  bench.run_for(bench.limits.connect_timeout + Ms{1});
  for (const auto& dial : waiting) EXPECT_TRUE(dial->failed());
  // One try each, then the first of them ten times a second.
  EXPECT_LE(bench.backend->connects.size(), 20U + 55U);
}

TEST(DialerPorts, OneThatLeavesTheQueueLetsTheNextOneTry) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  bench.network.host(kGate).ports = 0;
  auto first = std::make_unique<Dial>(bench.endpoint());
  Dial second(bench.endpoint());
  first->start();
  second.start();
  bench.network.host(kGate).ports = 1;
  const Time from = bench.now();
  first.reset();
  EXPECT_EQ(bench.wait(second, from), kRoundTrip);
  EXPECT_TRUE(second.connection);
}

TEST(DialerPorts, AMachineWithoutIpv6DoesNotLackPorts) {
  DialBench bench;
  bench.backend->fails_at_once[SocketAddress(IpPort{kSix, 80}).to_string()] = EADDRNOTAVAIL;
  Dial dial(bench.endpoint());
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kRoundTrip);
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_refused);
  EXPECT_EQ(bench.count(Counter::port_waits), 0U);
}

TEST(DialerPorts, AnAddressThatWorkedAndHasNoPortNowIsWaitedFor) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  Dial first(bench.endpoint()), second(bench.endpoint());
  bench.dial(first, {kServer, kSix});
  ASSERT_TRUE(first.connection);
  bench.backend->fails_at_once[SocketAddress(IpPort{kServer, 80}).to_string()] = EADDRNOTAVAIL;
  second.start();
  bench.run_for(Ms{150});  // kSix has refused
  EXPECT_TRUE(second.waits());
  bench.backend->fails_at_once.clear();
  bench.run_for(Ms{150});
  EXPECT_TRUE(second.connection);
}

TEST(DialerDescriptors, RoomIsMadeOnceAndThenItSheds) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  bench.network.host(kGate).descriptor_limit = 0;
  Dial in_vain(bench.endpoint());
  bench.dial(in_vain, {});
  ASSERT_TRUE(in_vain.failed());
  EXPECT_EQ(in_vain.dialer.error(), (Error{ErrorKind::shedding, EMFILE}));
  EXPECT_EQ(bench.room.asked, 1);
  bench.room.frees = [&] {
    bench.network.host(kGate).descriptor_limit = 1;
    return true;
  };
  Dial helped(bench.endpoint());
  EXPECT_EQ(bench.dial(helped, {}), kRoundTrip);
  EXPECT_TRUE(helped.connection);
}

TEST(DialerNames, AnAnswerDuringARaceLosesNoAddress) {
  DialBench bench;
  Dial first(bench.endpoint());
  bench.dial(first, {kServer, kOther});
  ASSERT_TRUE(first.failed());
  bench.run_for(seconds(31));
  Server server{bench.network, IpPort{kOther, 80}};
  Dial second(bench.endpoint());
  second.start();
  ASSERT_EQ(bench.names.pending.size(), 1U);
  bench.names.answer(List{kOther, kServer});  // turned round while kServer is being tried
  bench.wait(second, bench.now());
  EXPECT_TRUE(second.connection);
}

}  // namespace
}  // namespace hushgate::upstream
