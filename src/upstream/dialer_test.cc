#include "upstream/dialer.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "upstream/testing.h"

namespace hushgate::upstream {
namespace {

using stats::Counter;
using std::chrono::seconds;
using testing::Dial;
using testing::DialBench;
using testing::kGate;
using testing::kLatency;
using testing::kServer;
using testing::Server;

const IpAddress kSix = *IpAddress::parse("fd00::1");
const IpAddress kOther = IpAddress::v4(10, 0, 0, 2);
constexpr Duration kRoundTrip = 2 * kLatency;

using List = std::vector<IpAddress>;

TEST(Dialer, ConnectsToALiteralWithinARoundTrip) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench);
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
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kAddressRaceDelay + kRoundTrip);
  ASSERT_TRUE(dial.connection);
  EXPECT_EQ(dial.connection->stream().peer(), SocketAddress(IpPort{kServer, 80}));
  EXPECT_EQ(bench.network.host(kGate).descriptors, 1U);
}

TEST(Dialer, TheNextAddressIsTriedAtOnceAfterARefusal) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), 2 * kRoundTrip);
  ASSERT_TRUE(dial.connection);
  EXPECT_EQ(bench.count(Counter::connects_failed), 1U);
}

TEST(Dialer, TheFirstThatAnswersWinsWhicheverItIs) {
  DialBench bench;
  Server six{bench.network, IpPort{kSix, 80}};
  Server four{bench.network, IpPort{kServer, 80}};
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kRoundTrip);
  EXPECT_EQ(six.peers.size(), 1U);
  EXPECT_EQ(four.peers.size(), 0U);
}

TEST(Dialer, EachSilentAddressDelaysTheNextByTheSameStep) {
  DialBench bench;
  const List addresses{kSix, IpAddress::v4(10, 0, 0, 2), *IpAddress::parse("fd00::3"), kServer};
  for (std::size_t i = 0; i < 3; ++i) bench.swallow(addresses[i]);
  Server server{bench.network, IpPort{kServer, 80}};
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, addresses), 3 * kAddressRaceDelay + kRoundTrip);
  EXPECT_TRUE(dial.connection);
  EXPECT_EQ(bench.network.host(kGate).descriptors, 1U);
}

TEST(Dialer, TheWinnerIsTriedFirstTheNextTime) {
  DialBench bench;
  bench.swallow(kSix);
  Server server{bench.network, IpPort{kServer, 80}};
  Dial first(bench), second(bench);
  bench.dial(first, {kSix, kServer});
  EXPECT_EQ(bench.dial(second, {}), kRoundTrip);
  EXPECT_TRUE(second.connection);
}

TEST(Dialer, WhenAllRefuseItSaysSoAndWhere) {
  DialBench bench;
  Dial dial(bench);
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
    Dial dial(bench);
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
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {}), bench.limits.connect_timeout);
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::connection_timeout, ETIMEDOUT}));
}

TEST(Dialer, TwoSilentAddressesOverlap) {
  DialBench bench;
  bench.swallow(kSix);
  bench.swallow(kServer);
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), bench.limits.connect_timeout + kAddressRaceDelay);
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_timeout);
}

TEST(Dialer, ConnectTotalEndsEverything) {
  DialBench bench;
  bench.limits.connect_total = Ms{3'000};
  bench.swallow(kSix);
  bench.swallow(kServer);
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), bench.limits.connect_total);
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_timeout);
  bench.run_for(kRoundTrip);
  EXPECT_EQ(bench.network.host(kGate).descriptors, 0U);
}

TEST(Dialer, AnAddressThatFailsAtOnceCostsNoTime) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  bench.backend->fails_at_once[SocketAddress(IpPort{kSix, 80}).to_string()] = ENETUNREACH;
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kRoundTrip);
  EXPECT_TRUE(dial.connection);
}

TEST(Dialer, AnUnreachableNetworkIsAFailureWithItsErrno) {
  DialBench bench;
  bench.use_literal();
  bench.backend->fails_at_once[SocketAddress(IpPort{kServer, 80}).to_string()] = EHOSTUNREACH;
  Dial dial(bench);
  bench.dial(dial, {});
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::connection_failed, EHOSTUNREACH}));
}

TEST(Dialer, CancellingResetsWhatIsUnderWay) {
  DialBench bench;
  bench.swallow(kSix);
  bench.swallow(kServer);
  {
    Dial dial(bench);
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
  Dial dial(bench);
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
  Dial dial(bench);
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
  Dial dial(bench);
  dial.start();
  bench.names.answer(fail(ErrorKind::dns_error, -2));
  bench.run_for(kLatency);
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error(), (Error{ErrorKind::dns_error, -2}));
}

TEST(DialerNames, NoAnswerForConnectTotalIsATimeout) {
  DialBench bench;
  Dial dial(bench);
  const Time from = bench.now();
  dial.start();
  EXPECT_EQ(bench.wait(dial, from), bench.limits.connect_total);
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::dns_timeout);
}

TEST(DialerNames, AFailedConnectAsksAgainAtOnce) {
  DialBench bench;
  Dial dial(bench);
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
    Dial dial(bench);
    dial.start();
  }
  bench.end_endpoint();
  bench.names.answer(List{kServer});
  bench.run_for(seconds(1));
  EXPECT_TRUE(bench.backend->connects.empty());
}

}  // namespace
}  // namespace hushgate::upstream
