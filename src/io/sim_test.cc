#include "io/sim.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "io/sim_peer.h"
#include "io/sim_tap.h"

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

// Writes down what it is told, as "client sent 5".
class Journal final : public SimTap {
 public:
  std::vector<std::string> lines;

  void connecting(SimSocket socket, const SimHost& from, const SocketAddress& to) override {
    EXPECT_EQ(from.address, kClient);
    EXPECT_EQ(to, SocketAddress(IpPort{kServer, 80}));
    note(socket, "connecting");
  }
  void established(SimSocket socket) override { note(socket, "established"); }
  void accepted(SimSocket socket) override { note(socket, "accepted"); }
  void sent(SimSocket socket, Bytes bytes) override {
    note(socket, "sent " + std::string(as_text(bytes)));
  }
  void arrived(SimSocket socket, std::size_t bytes) override {
    note(socket, "arrived " + std::to_string(bytes));
  }
  void received(SimSocket socket, std::size_t bytes) override {
    note(socket, "received " + std::to_string(bytes));
  }
  void acknowledged(SimSocket socket, std::size_t bytes) override {
    note(socket, "acknowledged " + std::to_string(bytes));
  }
  void finished(SimSocket socket) override { note(socket, "finished"); }
  void fin_arrived(SimSocket socket) override { note(socket, "fin_arrived"); }
  void failed(SimSocket socket, int error) override {
    note(socket, "failed " + std::to_string(error));
  }
  void closed(SimSocket socket, CloseHow how) override {
    note(socket, how == CloseHow::fin ? "closed" : "reset");
  }
  void vanished(SimSocket socket) override { note(socket, "vanished"); }

 private:
  void note(SimSocket socket, const std::string& what) {
    EXPECT_EQ(socket.connection, 1U);
    lines.push_back((socket.side == 0 ? "client " : "server ") + what);
  }
};

TEST(SimTap, IsToldEverythingInTheOrderOfItsHappeningAndBeforeTheUser) {
  Journal journal;
  const auto note = [&](const char* line) { journal.lines.emplace_back(line); };
  SimNetwork network({.latency_min = Ms(1), .latency_max = Ms(1), .max_segment_bytes = 1});
  network.set_tap(&journal);
  SimPeerListener listener(network, network.host(kServer), IpPort{kServer, 80}, 8);
  std::unique_ptr<SimPeer> server;
  listener.on_connection = [&] {
    note("- the listener is told");
    server = listener.accept();
    server->on_change = [&] {
      if (server->receive(100).empty()) return;
      server->send("B");
    };
  };
  SimPeer client(network, network.host(kClient), IpPort{kServer, 80});
  client.on_change = [&] { note("- the client is told"); };
  network.run_for(Ms(10));
  client.send("A");
  client.finish();
  network.run_for(Ms(10));
  client.on_change = nullptr;
  server->reset();
  network.run_for(Ms(10));
  client.close();
  EXPECT_EQ(journal.lines,
            (std::vector<std::string>{
                "client connecting",     "server established",   "- the listener is told",
                "server accepted",       "client established",   "- the client is told",  //
                "client sent A",         "client finished",      "server arrived 1",
                "server received 1",     "server sent B",        "server fin_arrived",
                "client acknowledged 1", "- the client is told", "client arrived 1",
                "- the client is told",
                "server acknowledged 1",  //
                "server reset",          "client failed 104",    "client closed"}));
}

TEST(SimTap, IsToldOfVanishingAndNotOfACloseByWhoVanished) {
  Journal journal;
  SimNetwork network({});
  SimPeerListener listener(network, network.host(kServer), IpPort{kServer, 80}, 8);
  SimPeer client(network, network.host(kClient), IpPort{kServer, 80});
  network.run_for(Ms(10));
  const auto server = listener.accept();
  network.set_tap(&journal);
  client.vanish();
  client.close();
  network.run_for(Ms(10));
  EXPECT_EQ(network.find(client.socket()), nullptr);
  EXPECT_NE(network.find(client.socket().other()), nullptr);
  EXPECT_EQ(journal.lines, std::vector<std::string>{"client vanished"});
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
