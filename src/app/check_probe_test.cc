#include "app/check_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/check_report.h"
#include "io/sim.h"
#include "io/sim_peer.h"
#include "upstream/testing_http2.h"

namespace hushgate::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr IpAddress kHere = IpAddress::v4(10, 0, 0, 9);
constexpr IpAddress kServer = IpAddress::v4(10, 0, 0, 1);
constexpr Ms kLatency{1};
constexpr const char* kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

// Answers at once what it knows; whatever it does not know is never answered.
class KnownNames final : public upstream::NameSource {
 public:
  void query(io::Loop& loop, const std::string& host,
             std::function<void(upstream::NameAnswer)> done) override {
    const auto found = known.find(host);
    if (found != known.end()) loop.post([done, answer = found->second] { done(answer); });
  }
  std::map<std::string, upstream::NameAnswer> known;
};

// Sends `answer` once a request's head has come, and closes `idle` later (never: kNever as it is).
class ScriptedServer {
 public:
  ScriptedServer(io::SimNetwork& network, const IpPort& address, std::string answer,
                 std::optional<Ms> idle = std::nullopt)
      : network_(network), listener_(network, network.host(address.ip), address, 100) {
    listener_.on_connection = [this, answer, idle] {
      while (std::unique_ptr<io::SimPeer> peer = listener_.accept()) {
        serve(*peers_.emplace_back(std::move(peer)), answer, idle);
      }
    };
  }
  std::string received;

 private:
  void serve(io::SimPeer& peer, const std::string& answer, std::optional<Ms> idle) {
    peer.on_change = [this, &peer, answer, idle] {
      if (peer.failed()) return;
      received += peer.receive(10'000);
      if (!received.contains("\r\n\r\n") || answered_) return;
      answered_ = true;
      peer.send(answer);
      if (idle) network_.at(network_.now() + *idle, [&peer] { peer.finish(); });
    };
  }

  io::SimNetwork& network_;
  io::SimPeerListener listener_;
  std::vector<std::unique_ptr<io::SimPeer>> peers_;
  bool answered_ = false;
};

struct CheckProbe : ::testing::Test {
  CheckProbe() {
    config.listen = {{.text = ":1", .address = {.port = 1}, .family = config::ListenFamily::any}};
    config.upstreams = {of(kServer, 80)};
  }
  static config::Upstream of(const IpAddress& ip, std::uint16_t port) {
    config::Upstream upstream{.name = "u", .url = "http://" + ip.to_string(), .literal = ip};
    upstream.host = ip.to_string();
    upstream.authority = upstream.host;
    upstream.port = port;
    return upstream;
  }
  static config::Upstream named(const std::string& host) {
    config::Upstream upstream{.name = "u", .url = "http://" + host};
    upstream.host = upstream.authority = host;
    return upstream;
  }
  std::vector<Probed> probe_all() { return probe(loop, names, config, {}, options); }
  Probed probe_one() { return probe_all().at(0); }
  // Its lines after the one about the connection.
  std::vector<std::string> told(const Probed& probed) {
    auto lines = report(config, config.upstreams[0], probed, options).lines;
    if (lines.size() > 1) lines.erase(lines.begin());
    return lines;
  }
  bool reachable(const Probed& probed) {
    return report(config, config.upstreams[0], probed, options).reachable;
  }

  io::SimNetwork network{{.seed = 1, .latency_min = kLatency, .latency_max = kLatency}};
  io::Loop loop{
      io::make_sim_backend(network, network.host(kHere), {.turn_cost = Duration::zero()})};
  KnownNames names;
  config::Config config;
  ProbeOptions options;
};

TEST_F(CheckProbe, MeasuresHowLongAnIdleConnectionIsKept) {
  ScriptedServer server(network, {kServer, 80}, kAnswer, Ms{5'000});
  config.upstreams[0].prefix = "/p";
  const Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::closed_idle);
  EXPECT_EQ(probed.idle, Ms{5'000});
  EXPECT_EQ(probed.connect_time, 2 * kLatency);
  EXPECT_EQ(probed.answer_time, 2 * kLatency);
  EXPECT_EQ(probed.status, 200);
  EXPECT_EQ(server.received,
            "HEAD /p/ HTTP/1.1\r\nHost: 10.0.0.1\r\nUser-Agent: hushgate-check\r\nAccept: "
            "*/*\r\n\r\n");
  EXPECT_THAT(told(probed), ElementsAre(AllOf(HasSubstr("answered HEAD /p/ with 200 in 2.0 ms"),
                                              HasSubstr("closed the idle connection after 5.00 s")),
                                        HasSubstr("idleTimeoutMs is 4000: it fits")));
  EXPECT_TRUE(reachable(probed));
}

TEST_F(CheckProbe, APoolThatRacesIsToldWhatToSet) {
  ScriptedServer server(network, {kServer, 80}, kAnswer, Ms{2'000});
  EXPECT_THAT(told(probe_one()).back(),
              AllOf(HasSubstr("idleTimeoutMs is 4000, which races"), HasSubstr("to 1600")));
}

TEST_F(CheckProbe, WhatIsAnnouncedBoundsThePool) {
  ScriptedServer server(network, {kServer, 80},
                        "HTTP/1.1 404 Not Found\r\nKeep-Alive: timeout=3\r\nContent-Length: "
                        "0\r\n\r\n",
                        Ms{3'000});
  EXPECT_THAT(
      told(probe_one()),
      ElementsAre(HasSubstr("with 404 in 2.0 ms (Keep-Alive: timeout=3), and closed"),
                  HasSubstr("the pool lets go after 2000 ms because of what it announces")));
}

TEST_F(CheckProbe, OneThatKeepsConnectionsIsWaitedForAsLongAsWasAsked) {
  ScriptedServer server(network, {kServer, 80}, kAnswer);
  options.wait = Ms{4'500};
  const Time begin = loop.now();
  Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::kept_open);
  EXPECT_EQ(loop.now() - begin, options.wait + 4 * kLatency);
  EXPECT_THAT(told(probed).back(), HasSubstr("it fits"));
  config.upstreams[0].idle_timeout = Ms{90'000};
  EXPECT_THAT(told(probed).back(), HasSubstr("run with --probe-wait-ms 91000"));
}

TEST_F(CheckProbe, OneThatClosesBehindEachResponseHasNothingToPool) {
  ScriptedServer said(network, {kServer, 80}, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(probe_one().end, ProbeEnd::closes_each);
  ScriptedServer unsaid(network, {kServer, 81}, kAnswer, Ms{0});
  config.upstreams[0].port = 81;
  const Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::closed_idle);
  EXPECT_THAT(told(probed).back(), HasSubstr("set maxIdle to 0"));
}

TEST_F(CheckProbe, WhereHttp2IsSpokenItIsAskedSoAndItsGoawayIsTheEnd) {
  upstream::testing::Http2Server server(network, {kServer, 80});
  server.manners.responds = true;
  config.upstreams[0].protocol = config::Protocol::h2c;
  network.at(network.now() + Ms{5'000}, [&] { server.peers.at(0)->go_away(1); });
  const Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::closed_idle);
  EXPECT_TRUE(probed.http2);
  EXPECT_EQ(probed.status, 204);
  EXPECT_GT(probed.idle, Ms{4'900});
  EXPECT_THAT(report(config, config.upstreams[0], probed, options).lines.front(),
              HasSubstr("connected to 10.0.0.1:80 in 2.0 ms, HTTP/2"));
  EXPECT_THAT(told(probed).back(), HasSubstr("it fits"));
  config.upstreams[0].idle_timeout = Ms{5'000};
  EXPECT_THAT(told(probed).back(), HasSubstr("the connection that requests share is closed"));
}

TEST_F(CheckProbe, OneThatIsAskedForHttp2AndSpeaksHttp1IsNotUsable) {
  ScriptedServer server(network, {kServer, 80}, kAnswer);
  config.upstreams[0].protocol = config::Protocol::h2c;
  const Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::not_http);
  EXPECT_FALSE(reachable(probed));
  EXPECT_THAT(told(probed).back(), HasSubstr("set its protocol to \"http1\""));
}

TEST_F(CheckProbe, InterimResponsesAreNoAnswerAndBytesBehindItAreTold) {
  ScriptedServer server(network, {kServer, 80},
                        std::string("HTTP/1.1 103 Early Hints\r\n\r\n") + kAnswer, Ms{900});
  EXPECT_EQ(probe_one().idle, Ms{900});
  ScriptedServer body(network, {kServer, 81}, std::string(kAnswer) + "hello");
  config.upstreams[0].port = 81;
  EXPECT_EQ(probe_one().end, ProbeEnd::spoke);
}

TEST_F(CheckProbe, WhatIsNoHttpCannotServe) {
  ScriptedServer server(network, {kServer, 80}, "\x15\x03\x01 no HTTP\r\n\r\n");
  const Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::not_http);
  EXPECT_FALSE(reachable(probed));
}

TEST_F(CheckProbe, OneThatHangsUpOrSaysNothingIsTold) {
  ScriptedServer hanging(network, {kServer, 80}, "", Ms{1});
  EXPECT_EQ(probe_one().end, ProbeEnd::hung_up);
  ScriptedServer silent(network, {kServer, 81}, "");
  config.upstreams[0].port = 81;
  const Probed probed = probe_one();
  EXPECT_EQ(probed.end, ProbeEnd::silent);
  EXPECT_THAT(told(probed).back(), HasSubstr("no answer to HEAD / within 10000 ms"));
  EXPECT_TRUE(reachable(probed));
}

TEST_F(CheckProbe, NobodyThereIsToldWithEachAddress) {
  const Probed refused = probe_one();
  EXPECT_EQ(refused.end, ProbeEnd::unreachable);
  EXPECT_THAT(told(refused), ElementsAre(HasSubstr("(10.0.0.1:80: Connection refused)")));
  EXPECT_FALSE(reachable(refused));
  network.set_fate(IpPort{kServer, 80}, io::SimFate::black_hole);
  const Time begin = loop.now();
  const Probed lost = probe_one();
  EXPECT_EQ(loop.now() - begin, config.limits.connect_timeout);
  EXPECT_THAT(told(lost), ElementsAre(HasSubstr("(10.0.0.1:80: no answer)")));
}

TEST_F(CheckProbe, ASocketThatIsMissingEndsTheProbeAtOnce) {
  config::Upstream unix{.name = "u", .url = "unix:/run/x"};
  unix.scheme = config::Scheme::unix_socket;
  unix.unix_path = "/run/x";
  config.upstreams = {unix};
  EXPECT_THAT(told(probe_one()), ElementsAre(HasSubstr("unix:/run/x: No such file")));
}

TEST_F(CheckProbe, ANameIsTakenWhereItAnswersAndTheOtherAddressIsTold) {
  const IpAddress deaf = IpAddress::v4(10, 0, 0, 2);
  names.known["api.test"] = std::vector{deaf, kServer};
  ScriptedServer server(network, {kServer, 80}, kAnswer, Ms{5'000});
  config.upstreams = {named("api.test")};
  const Probed probed = probe_one();
  EXPECT_EQ(probed.address, SocketAddress(IpPort{kServer, 80}));
  EXPECT_THAT(report(config, config.upstreams[0], probed, options).lines.front(),
              AllOf(HasSubstr("connected to 10.0.0.1:80"),
                    HasSubstr("10.0.0.2:80: Connection refused (hushgate takes")));
}

TEST_F(CheckProbe, ANameThatDoesNotResolveIsTold) {
  names.known["absent.test"] = fail(ErrorKind::dns_error, EAI_NONAME);
  config.upstreams = {named("absent.test"), named("slow.test")};
  const std::vector<Probed> all = probe_all();
  EXPECT_EQ(all.at(0).end, ProbeEnd::unresolved);
  EXPECT_THAT(told(all[0]), ElementsAre(AllOf(HasSubstr("\"absent.test\" does not resolve: "),
                                              HasSubstr("502 dns_error"))));
  EXPECT_THAT(told(all.at(1)), ElementsAre(HasSubstr("within 15000 ms (limits.connectTotalMs)")));
}

TEST_F(CheckProbe, AllAreAskedAtOnceUnlessDescriptorsAreShort) {
  config.upstreams.clear();
  std::vector<std::unique_ptr<ScriptedServer>> servers;
  for (std::uint16_t port = 80; port < 90; ++port) {
    config.upstreams.push_back(of(kServer, port));
    servers.push_back(
        std::make_unique<ScriptedServer>(network, IpPort{kServer, port}, kAnswer, Ms{1'000}));
  }
  const Time begin = loop.now();
  EXPECT_EQ(probe_all().size(), 10U);
  EXPECT_EQ(loop.now() - begin, Ms{1'000} + 4 * kLatency);
}

TEST_F(CheckProbe, ShortOfDescriptorsTheyAreAskedOneBehindTheOther) {
  ScriptedServer first(network, {kServer, 80}, kAnswer, Ms{1'000});
  ScriptedServer second(network, {kServer, 81}, kAnswer, Ms{1'000});
  config.upstreams.push_back(of(kServer, 81));
  options.at_once = 1;
  const Time begin = loop.now();
  const std::vector<Probed> all = probe_all();
  EXPECT_EQ(all.at(0).end, ProbeEnd::closed_idle);
  EXPECT_EQ(all.at(1).end, ProbeEnd::closed_idle);
  EXPECT_EQ(loop.now() - begin, 2 * (Ms{1'000} + 4 * kLatency));
  EXPECT_EQ(probes_at_once(0), 1U);
  EXPECT_EQ(probes_at_once(64), 2U);
  EXPECT_EQ(probes_at_once(1'000'000), config::kMaxUpstreams);
}

}  // namespace
}  // namespace hushgate::app
