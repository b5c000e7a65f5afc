#include "io/sim.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "io/sim_peer.h"

namespace hushgate::io {
namespace {

constexpr IpAddress kServer = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress kClient = IpAddress::v4(10, 0, 0, 2);

// Two scripts talk; what is seen and when is the trace.
std::string trace_of(std::uint64_t seed) {
  SimNetwork network({.seed = seed});
  std::string trace;
  const auto note = [&](const std::string& what) {
    trace += std::to_string(network.now().time_since_epoch().count()) + " " + what + "\n";
  };
  SimPeerListener listener(network, network.host(kServer), IpPort{kServer, 80}, 8);
  std::unique_ptr<SimPeer> server;
  listener.on_connection = [&] {
    server = listener.accept();
    server->on_change = [&] {
      const std::string bytes = server->receive(3'000);
      if (!bytes.empty()) note("server got " + std::to_string(bytes.size()));
      server->send(bytes);
    };
  };
  SimPeer client(network, network.host(kClient), IpPort{kServer, 80});
  std::size_t got = 0;
  client.on_change = [&] {
    const std::string bytes = client.receive(5'000);
    got += bytes.size();
    if (!bytes.empty()) note("client got " + std::to_string(bytes.size()));
  };
  network.at(network.now() + Ms(10), [&] { client.send(std::string(40'000, 'x')); });
  network.run_for(std::chrono::seconds(2));
  EXPECT_EQ(got, 40'000U);
  return trace;
}

TEST(SimNetwork, TheSameSeedGivesTheSameHistoryAndAnotherSeedAnother) {
  EXPECT_EQ(trace_of(42), trace_of(42));
  EXPECT_NE(trace_of(42), trace_of(43));
}

TEST(SimNetwork, TimePassesOnlyInSteps) {
  SimNetwork network({});
  const Time start = network.now();
  int steps = 0;
  network.at(start + std::chrono::hours(5), [&] { ++steps; });
  EXPECT_FALSE(network.step(start + std::chrono::hours(1)));
  EXPECT_EQ(network.now(), start + std::chrono::hours(1));
  EXPECT_TRUE(network.step(kNever));
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(network.now(), start + std::chrono::hours(5));
  EXPECT_FALSE(network.step(kNever));
  EXPECT_EQ(network.now(), start + std::chrono::hours(5));
}

TEST(SimNetwork, PortsRunOutAndComeBackAfterAResetAtOnceAndAfterAFinInTimeWait) {
  SimNetwork network({});
  SimHost& host = network.host(kClient);
  host.ports = 2;
  SimPeerListener listener(network, network.host(kServer), IpPort{kServer, 80}, 8);
  std::vector<std::unique_ptr<SimPeer>> accepted;
  listener.on_connection = [&] { accepted.push_back(listener.accept()); };
  const auto connect = [&] { return network.connect(host, IpPort{kServer, 80}, {}, nullptr); };
  const auto one = connect();
  const auto two = connect();
  ASSERT_TRUE(one.has_value() && two.has_value());
  network.run_for(Ms(20));
  ASSERT_FALSE(connect().has_value());
  EXPECT_EQ(connect().error().os_error, EADDRNOTAVAIL);
  // Another destination has ports of its own.
  EXPECT_TRUE(network.connect(host, IpPort{kServer, 81}, {}, nullptr).has_value());

  network.close(*one, CloseHow::reset);
  network.run_for(Ms(20));
  for (auto& peer : accepted) {
    if (peer->failed()) peer->close();
  }
  network.run_for(Ms(20));
  const auto again = connect();
  ASSERT_TRUE(again.has_value());

  network.close(*two, CloseHow::fin);
  network.run_for(Ms(20));
  for (auto& peer : accepted) {
    if (peer->peer_finished()) peer->close();
  }
  network.run_for(Ms(20));
  EXPECT_FALSE(connect().has_value());
  network.run_for(std::chrono::seconds(61));
  EXPECT_TRUE(connect().has_value());
}

TEST(SimNetwork, AClosedConnectionIsForgotten) {
  SimNetwork network({});
  SimPeerListener listener(network, network.host(kServer), IpPort{kServer, 80}, 8);
  std::unique_ptr<SimPeer> server;
  listener.on_connection = [&] { server = listener.accept(); };
  auto client = std::make_unique<SimPeer>(network, network.host(kClient), IpPort{kServer, 80});
  network.run_for(Ms(20));
  EXPECT_EQ(network.connections(), 1U);
  EXPECT_EQ(network.host(kClient).descriptors, 1U);
  client->send("last words");
  client.reset();
  network.run_for(Ms(20));
  EXPECT_EQ(server->receive(100), "last words");
  EXPECT_TRUE(server->peer_finished());
  server.reset();
  network.run_for(Ms(20));
  EXPECT_EQ(network.connections(), 0U);
  EXPECT_EQ(network.host(kClient).descriptors, 0U);
}

TEST(SimNetwork, AFullAcceptQueueMakesConnectingWait) {
  SimNetwork network({});
  SimPeerListener listener(network, network.host(kServer), IpPort{kServer, 80}, 1);
  std::vector<std::unique_ptr<SimPeer>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(
        std::make_unique<SimPeer>(network, network.host(kClient), IpPort{kServer, 80}));
  }
  network.run_for(Ms(500));
  int open = 0;
  for (const auto& client : clients) open += client->open() ? 1 : 0;
  EXPECT_EQ(open, 2);
  const auto accepted = listener.accept();
  network.run_for(std::chrono::seconds(2));
  for (const auto& client : clients) EXPECT_TRUE(client->open());
}

}  // namespace
}  // namespace hushgate::io
