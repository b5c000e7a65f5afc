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

TEST(DialerPorts, IdlePooledConnectionsToTheDestinationGoFirst) {
  DialBench bench;
  bench.use_literal();
  Server server{bench.network, IpPort{kServer, 80}};
  bench.network.host(kGate).ports = 1;
  bench.endpoint().put_idle(bench.open(), std::nullopt);
  Dial dial(bench);
  EXPECT_LE(bench.dial(dial, {}), Ms{110});  // at the latest when it looks again by itself
  EXPECT_TRUE(dial.connection);
  EXPECT_EQ(bench.endpoint().idle_count(), 0U);
  EXPECT_TRUE(server.resets[0]);
}

TEST(DialerPorts, AnotherAddressIsTriedBeforeAnythingWaits) {
  DialBench bench;
  Server one{bench.network, IpPort{kServer, 80}}, two{bench.network, IpPort{kOther, 80}};
  bench.network.host(kGate).ports = 1;
  Dial holder(bench), dial(bench);
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
    waiting.push_back(std::make_unique<Dial>(bench));
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
  Dial dial(bench);
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
    waiting.push_back(std::make_unique<Dial>(bench));
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
  auto first = std::make_unique<Dial>(bench);
  Dial second(bench);
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
  Dial dial(bench);
  EXPECT_EQ(bench.dial(dial, {kSix, kServer}), kRoundTrip);
  ASSERT_TRUE(dial.failed());
  EXPECT_EQ(dial.dialer.error().kind, ErrorKind::connection_refused);
  EXPECT_EQ(bench.count(Counter::port_waits), 0U);
}

TEST(DialerPorts, AnAddressThatWorkedAndHasNoPortNowIsWaitedFor) {
  DialBench bench;
  Server server{bench.network, IpPort{kServer, 80}};
  Dial first(bench), second(bench);
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
  Dial in_vain(bench);
  bench.dial(in_vain, {});
  ASSERT_TRUE(in_vain.failed());
  EXPECT_EQ(in_vain.dialer.error(), (Error{ErrorKind::shedding, EMFILE}));
  EXPECT_EQ(bench.room.asked, 1);
  bench.room.frees = [&] {
    bench.network.host(kGate).descriptor_limit = 1;
    return true;
  };
  Dial helped(bench);
  EXPECT_EQ(bench.dial(helped, {}), kRoundTrip);
  EXPECT_TRUE(helped.connection);
}

TEST(DialerNames, AnAnswerDuringARaceLosesNoAddress) {
  DialBench bench;
  Dial first(bench);
  bench.dial(first, {kServer, kOther});
  ASSERT_TRUE(first.failed());
  bench.run_for(seconds(31));
  Server server{bench.network, IpPort{kOther, 80}};
  Dial second(bench);
  second.start();
  ASSERT_EQ(bench.names.pending.size(), 1U);
  bench.names.answer(List{kOther, kServer});  // turned round while kServer is being tried
  bench.wait(second, bench.now());
  EXPECT_TRUE(second.connection);
}

}  // namespace
}  // namespace hushgate::upstream
