// Exchanges over TLS on both sides: everything that CONTRACT sections 1 and 2 promise of them holds
// inside it.
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(Tls, KeptAliveGetsShareOneUpstreamConnection) {
  TlsWorld world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.open();
  for (int i = 0; i < 3; ++i) {
    client.send(kGet);
    world.settle();
  }
  EXPECT_EQ(client.count("200 OK"), 3U);
  EXPECT_EQ(world.upstream.count(), 1U);
  EXPECT_EQ(world.count(Counter::reuses), 2U);
  EXPECT_EQ(world.count(Counter::tls_accepts_full), 1U);
  EXPECT_EQ(world.count(Counter::tls_connects_full), 1U);
  EXPECT_EQ(world.count(Counter::pool_stray_bytes), 0U);
  EXPECT_EQ(SSL_version(tls_of(client).ssl()), TLS1_3_VERSION);
}

TEST(Tls, AlsoWithVersion12OnBothSides) {
  TlsWorld world;
  SSL_CTX_set_max_proto_version(world.spoken->client.get(), TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(world.spoken->upstream.get(), TLS1_2_VERSION);
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.open();
  client.send(kGet);
  world.settle();
  client.send(kGet);
  world.settle();
  EXPECT_EQ(client.count("200 OK"), 2U);
  EXPECT_EQ(world.upstream.count(), 1U);
  client.send(kPost);
  world.settle();
  EXPECT_EQ(world.count(Counter::tls_connects_resumed), 1U);
}

TEST(Tls, EachPostHasAConnectionOfItsOwnThatResumesWithATicketOfItsOwn) {
  TlsWorld world;
  Party& client = world.open();
  for (std::size_t i = 0; i < 5; ++i) {
    client.got.clear();
    client.send(kPost);
    world.settle();
    ASSERT_EQ(world.upstream.count(), i + 1);
    Party& upstream = world.upstream.at(i);
    EXPECT_EQ(tls_of(upstream).resumed(), i > 0);
    EXPECT_TRUE(upstream.has("Connection: close\r\n"));
    EXPECT_TRUE(upstream.got.ends_with("hello"));
    upstream.send(kOk);
    upstream.close();
    world.settle();
    EXPECT_EQ(client.body(), "ok");
    EXPECT_FALSE(upstream.saw_reset());
  }
  EXPECT_EQ(world.count(Counter::tls_connects_full), 1U);
  EXPECT_EQ(world.count(Counter::tls_connects_resumed), 4U);
  std::vector<std::string>& tickets = world.spoken->tickets;
  EXPECT_EQ(tickets.size(), 4U);
  std::ranges::sort(tickets);
  EXPECT_EQ(std::ranges::adjacent_find(tickets), tickets.end());
}

TEST(Tls, PostsAtTheSameTimeShowNoTicketTwice) {
  TlsWorld world;
  world.upstream.on_bytes = [](Party& party) {
    if (!party.got.ends_with("hello")) return;
    party.send(kOk);
    party.close();
  };
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) world.open().send(kPost);
    world.settle();
  }
  for (const auto& client : world.clients) EXPECT_EQ(client->body(), "ok");
  std::vector<std::string>& tickets = world.spoken->tickets;
  EXPECT_GE(tickets.size(), 10U);
  EXPECT_EQ(tickets.size(), world.count(Counter::tls_connects_resumed));
  std::ranges::sort(tickets);
  EXPECT_EQ(std::ranges::adjacent_find(tickets), tickets.end());
}

TEST(Tls, EventsOfAStreamGoThroughAsTheyCome) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send(kChunked);
  for (int i = 0; i < 20; ++i) {
    client.got.clear();
    upstream.send("8\r\ndata: x\n\r\n");
    world.run_for(2 * kLatency);
    EXPECT_EQ(client.count("data: x\n"), 1U);
    world.run_for(seconds(7));
  }
  upstream.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
  EXPECT_FALSE(client.saw_end());
}

TEST(Tls, AModelThatIsSilentForFiveMinutesIsNotHungUpOn) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kPost);
  world.run_for(minutes(5));
  EXPECT_FALSE(client.saw_end());
  EXPECT_FALSE(upstream.saw_end());
  upstream.send(kChunked);
  world.run_for(minutes(5));
  upstream.send("2\r\nok\r\n0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.has("ok"));
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
}

TEST(Tls, ALargeBodyGoesThroughUnchangedBothWays) {
  TlsWorld world;
  const std::string up = tls::bytes_of(700'000);
  const std::string down = tls::bytes_of(900'000, 100);
  Party& client = world.open();
  client.send(post_head(up.size()) + up);
  world.run_for(seconds(1));
  ASSERT_EQ(world.upstream.count(), 1U);
  Party& upstream = world.upstream.at(0);
  EXPECT_EQ(upstream.body(), up);
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + down);
  world.run_for(seconds(1));
  EXPECT_EQ(client.body(), down);
}

TEST(Tls, AClientThatDoesNotReadIsCutAndTheUpstreamIsNotBlamed) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kGet);
  client.reads = false;
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + std::string(900'000, 'x'));
  const Time from = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }, minutes(3)));
  EXPECT_TRUE(client.saw_reset());
  EXPECT_GE(client.was_reset - from, world.limits().send_timeout);
  EXPECT_LE(client.was_reset - from, world.limits().send_timeout + world.period() + Ms{20});
  EXPECT_EQ(world.count(Counter::swept_sending), 1U);
  EXPECT_EQ(world.count(Counter::upstream_silent), 0U);
}

TEST(Tls, ARequestThatComesTogetherWithTheEndOfTheHandshakeIsServed) {
  TlsWorld world;
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.dial();
  client.send(kGet);  // waits for the handshake and leaves with its last message
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

TEST(Tls, AFullDuplexExchangeEndsWell) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(post_head(10));
  upstream.send(kChunked);
  for (int i = 0; i < 5; ++i) {
    client.send("ab");
    world.run_for(seconds(2));
    upstream.send("2\r\ncd\r\n");
    world.run_for(seconds(2));
  }
  upstream.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("ababababab"));
  EXPECT_EQ(client.count("cd"), 5U);
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
}

TEST(Tls, ATunnelPassesItsHalfClosesOn) {
  TlsWorld world;
  auto [client, upstream] =
      world.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nfirst");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("first"));
  client.send("ping");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("ping"));
  upstream.finish();
  world.settle();
  EXPECT_TRUE(tls_of(client).notified());
  client.finish();
  world.settle();
  EXPECT_TRUE(tls_of(upstream).notified());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

// --- who is on the other side

TEST(Tls, TheUpstreamIsToldThatTheClientCameByHttps) {
  TlsWorld world;
  auto [client, upstream] =
      world.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: http\r\n\r\n");
  EXPECT_TRUE(upstream.has("X-Forwarded-Proto: https\r\n"));
  EXPECT_EQ(upstream.count("X-Forwarded-Proto"), 1U);
}

TEST(Tls, OrByHttpWhereOnlyTheUpstreamSpeaksTls) {
  auto spoken = std::make_shared<Spoken>();
  spoken->client = nullptr;
  TlsWorld world(spoken, [](config::Config& config) { config.listen.clear(); }, {});
  proxy::TlsSetup tls = world.setup->tls;
  tls.listeners.clear();
  world.setup = make_setup(and_tls([](config::Config& config) { config.listen.clear(); }), tls);
  world.gateway->adopt(world.setup);
  auto [client, upstream] = world.exchange(kGet);
  EXPECT_TRUE(upstream.has("X-Forwarded-Proto: http\r\n"));
  upstream.send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

struct ClientCertificates : TlsWorld {
  explicit ClientCertificates(tls::ClientCertificates policy) : TlsWorld({}, gate_of(policy)) {}
  static Gate gate_of(tls::ClientCertificates policy) {
    static tls::Files files;
    Gate gate;
    gate.listener.client_certificates = policy;
    gate.listener.client_ca_file = files.write("clients.pem", tls::test_authority().certificate);
    return gate;
  }
  void show(const tls::Pem& pem) const { tls::use(spoken->client.get(), pem); }
};

constexpr std::string_view kSpoofed =
    "GET / HTTP/1.1\r\nHost: a\r\nX-Client-Cert-Subject: CN=root\r\n\r\n";

TEST(Tls, TheSubjectOfAVerifiedClientIsPassedOnAndASpoofedOneIsNot) {
  ClientCertificates world(tls::ClientCertificates::optional);
  auto [nobody, first] = world.exchange(kSpoofed);
  EXPECT_FALSE(first.has("X-Client-Cert-Subject"));
  world.show(tls::leaf({"alice"}));
  auto [alice, second] = world.exchange(kSpoofed);
  EXPECT_EQ(second.count("X-Client-Cert-Subject: CN=alice\r\n"), 1U);
  EXPECT_EQ(second.count("X-Client-Cert-Subject"), 1U);
}

TEST(Tls, AClientWithoutTheCertificateThatIsRequiredIsNotServed) {
  ClientCertificates world(tls::ClientCertificates::required);
  Party& client = world.ask(kGet);
  world.settle();
  EXPECT_TRUE(client.saw_end());
  EXPECT_EQ(client.got, "");
  EXPECT_EQ(tls_of(client).alert(), SSL_AD_CERTIFICATE_REQUIRED);
  EXPECT_EQ(world.upstream.count(), 0U);
  EXPECT_EQ(lines_with(world, "client_tls_failed").size(), 1U);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

}  // namespace
}  // namespace hushgate::sim
