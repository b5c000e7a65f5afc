// CONTRACT section 1 inside TLS: whose turn it is, from the accept on, and clients that leave.
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kSameTurn = 2 * kLatency;
constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n";

// --- the handshake is a part of `fresh`

// A client whose bytes the script writes itself.
struct Raw : TlsWorld {
  Raw() : TlsWorld(bare_clients(), {}, {}) {}
  static std::shared_ptr<Spoken> bare_clients() {
    auto spoken = std::make_shared<Spoken>();
    spoken->client = nullptr;
    return spoken;
  }
  // What OpenSSL says first.
  static std::string hello() {
    const tls::ContextPtr context = tls::plain_context(TLS_client_method());
    const tls::Owned<SSL, SSL_free> ssl(SSL_new(context.get()));
    BIO* const out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
    SSL_connect(ssl.get());
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }
  // The connection is accepted when its SYN has come.
  Party& connect() {
    Party& client = dial();
    connected = now();
    run_for(2 * kLatency);
    return client;
  }
  void expect_silent_end(Party& client) {
    ASSERT_TRUE(run_while_not([&] { return client.saw_end(); }, minutes(5)));
    const Duration found = client.ended() - connected - 2 * kLatency;
    EXPECT_GE(found, limits().idle_timeout) << to_ms(found);
    EXPECT_LE(found, limits().idle_timeout + period()) << to_ms(found);
    EXPECT_FALSE(client.saw_reset());
    EXPECT_EQ(gateway->session_count(), 0U);
    EXPECT_EQ(count(Counter::swept_idle), 1U);
  }
  Time connected{};
};

TEST(TlsTurns, AClientThatSaysNothingIsClosedSilentlyAtIdleTimeout) {
  Raw world;
  Party& client = world.connect();
  world.expect_silent_end(client);
  EXPECT_EQ(client.got, "");
}

TEST(TlsTurns, AHandshakeThatIsNeverFinishedIsClosedAtIdleTimeoutFromTheAccept) {
  Raw world;
  Party& client = world.connect();
  world.run_for(seconds(20));
  client.send(Raw::hello());
  world.settle();
  const std::string flight = client.got;
  EXPECT_FALSE(flight.empty());
  world.expect_silent_end(client);
  EXPECT_EQ(client.got, flight);
}

TEST(TlsTurns, DrippingAHandshakeDoesNotLengthenIt) {
  Raw world;
  Party& client = world.connect();
  const std::string hello = Raw::hello();
  for (std::size_t i = 0; i + 1 < hello.size(); ++i) {
    world.network.at(world.connected + Ms{300} * static_cast<int>(i + 1), [&client, &hello, i] {
      if (!client.saw_end()) client.send(hello.substr(i, 1));
    });
  }
  world.expect_silent_end(client);
  EXPECT_EQ(client.got, "");
}

TEST(TlsTurns, AHandshakeLeavesTheRestOfIdleTimeout) {
  TlsWorld world;
  Party& client = world.dial();
  const Time connected = world.now();
  tls_of(client).hold();
  world.network.at(connected + seconds(30), [&] { tls_of(client).let_go(); });
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }, minutes(5)));
  EXPECT_NE(client.opened, Time{});
  EXPECT_TRUE(tls_of(client).notified());
  const Duration found = client.ended() - connected - 2 * kLatency;
  EXPECT_GE(found, world.limits().idle_timeout);
  EXPECT_LE(found, world.limits().idle_timeout + world.period());
}

TEST(TlsTurns, WhoSpeaksNoTlsIsToldSoInALine) {
  Raw world;
  Party& client = world.connect();
  client.send(kGet);
  world.settle();
  EXPECT_TRUE(client.saw_end());
  EXPECT_EQ(client.status(), 0);
  EXPECT_EQ(lines_with(world, "client_tls_failed").size(), 1U);
  EXPECT_EQ(world.count(Counter::tls_accepts_failed), 1U);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(TlsTurns, AProbeOfThePortIsNoFailure) {
  Raw world;
  Party& polite = world.connect();
  polite.close();
  Party& rude = world.connect();
  rude.reset();
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
  EXPECT_EQ(world.count(Counter::tls_accepts_failed), 0U);
}

// --- a head, a body

TEST(TlsTurns, AHeadInTinyRecordsHasItsBudgetFromTheFirst) {
  TlsWorld world;
  Party& client = world.open();
  const Time from = world.now();
  const std::string head = "GET / HTTP/1.1\r\nX: " + std::string(1'000, 'a');
  for (std::size_t i = 0; i < head.size() && client.got.empty(); ++i) {
    client.send(head.substr(i, 1));
    world.run_for(Ms{300});
  }
  expect_swept(world, from, client.first_byte, world.limits().request_timeout);
  EXPECT_EQ(client.status(), 408);
  EXPECT_EQ(world.count(Counter::swept_head), 1U);
  ASSERT_TRUE(world.run_while_not([&] { return world.gateway->session_count() == 0; }));
  EXPECT_TRUE(tls_of(client).notified());
}

TEST(TlsTurns, ARecordThatIsNeverCompleteIsNoByteOfAHead) {
  TlsWorld world;
  Party& client = world.open();
  const Time accepted = world.now() - 4 * kLatency;
  world.run_for(seconds(30));
  tls_of(client).send_below(std::string("\x17\x03\x03\x01\x00", 5) + "abc");
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }, minutes(5)));
  EXPECT_EQ(client.got, "");
  const Duration found = client.ended() - accepted - kLatency;
  EXPECT_GE(found, world.limits().idle_timeout);
  EXPECT_LE(found, world.limits().idle_timeout + world.period());
}

TEST(TlsTurns, AStalledBodyIs408AndTheUpstreamSeesACutRequest) {
  TlsWorld world([](config::Config& config) { config.limits.min_upload_bytes_per_second = 0; });
  auto [client, upstream] = world.exchange(post_head(1'000) + "partial");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }));
  expect_swept(world, world.asked, client.first_byte, world.limits().request_timeout);
  EXPECT_EQ(client.status(), 408);
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_FALSE(tls_of(upstream).notified());
}

TEST(TlsTurns, AnUploadThatIsRefusedHearsWhyAndEndsWithCloseNotify) {
  TlsWorld world([](config::Config& config) {
    config.limits.max_body_bytes = 100'000;
    config.limits.linger_bytes = 1'000;
  });
  Party& client = world.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send("249f0\r\n" + std::string(150'000, 'x'));
  world.run_for(seconds(1));
  EXPECT_EQ(client.status(), 413);
  EXPECT_TRUE(tls_of(client).notified());
  EXPECT_TRUE(world.upstream.at(0).saw_reset());
  EXPECT_FALSE(tls_of(world.upstream.at(0)).notified());
}

TEST(TlsTurns, AContinueComesBeforeTheBody) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  upstream.send("HTTP/1.1 100 Continue\r\n\r\n");
  world.settle();
  EXPECT_EQ(client.status(), 100);
  client.send("hello");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("hello"));
  upstream.send(kOk);
  world.settle();
  EXPECT_TRUE(client.got.ends_with("ok"));
}

TEST(TlsTurns, AnUpstreamThatTakesNothingBrakesTheClientAndIs504) {
  TlsWorld world;
  world.upstream.reads = false;
  auto [client, upstream] = world.exchange(post_head(4'000'000) + std::string(4'000'000, 'x'));
  world.run_for(minutes(9));
  EXPECT_FALSE(client.all_sent());
  EXPECT_EQ(client.got, "");
  ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }, minutes(3)));
  EXPECT_EQ(client.status(), 504);
  EXPECT_LE(client.first_byte - world.asked,
            world.limits().upstream_timeout + world.period() + Ms{50});
  EXPECT_EQ(world.count(Counter::swept_receiving), 0U);
}

TEST(TlsTurns, AResponseThatNobodyTakesIsGivenUpWhenItsLingerEnds) {
  TlsWorld world;
  Party& client = world.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  client.reads = false;
  world.run_for(10 * kLatency);
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.at(0).send("HTTP/1.1 200 OK\r\nContent-Length: 150000\r\n\r\n" +
                            std::string(150'000, 'x'));
  world.settle();
  world.upstream.at(0).close();
  ASSERT_TRUE(world.run_while_not([&] { return world.gateway->session_count() == 0; }, minutes(5)));
  EXPECT_EQ(world.count(Counter::swept_closing), 1U);
  world.run_for(tls::kFinishTime + Ms{10});
  EXPECT_EQ(world.network.host(kGate).descriptors, 1U);  // the listener's
}

// --- clients that leave

TEST(TlsLeaving, CloseNotifyEndsTheAttemptInTheSameTurnWhateverHalfCloseSays) {
  for (const config::HalfClose policy :
       {config::HalfClose::auto_, config::HalfClose::cancel, config::HalfClose::serve}) {
    TlsWorld world([&](config::Config& config) { config.client.half_close = policy; });
    auto [client, upstream] = world.exchange(kPost);
    const Time left = world.now();
    tls_of(client).notify();
    world.run_for(seconds(1));
    ASSERT_TRUE(upstream.saw_end());
    EXPECT_EQ(upstream.ended() - left, kSameTurn);
    EXPECT_EQ(world.gateway->session_count(), 0U);
    EXPECT_EQ(world.count(Counter::clients_gone), 1U);
  }
}

TEST(TlsLeaving, AFinWithoutItDoesToo) {
  for (const config::HalfClose policy :
       {config::HalfClose::auto_, config::HalfClose::cancel, config::HalfClose::serve}) {
    TlsWorld world([&](config::Config& config) { config.client.half_close = policy; });
    auto [client, upstream] = world.exchange(kPost);
    const Time left = world.now();
    tls_of(client).finish_below();
    world.run_for(seconds(1));
    ASSERT_TRUE(upstream.saw_end());
    EXPECT_EQ(upstream.ended() - left, kSameTurn);
    EXPECT_EQ(world.gateway->session_count(), 0U);
    EXPECT_EQ(world.count(Counter::clients_gone), 1U);
  }
}

TEST(TlsLeaving, AResetInTheMiddleOfAStreamDoesToo) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send(kChunked);
  world.run_for(minutes(2));
  const Time left = world.now();
  client.reset();
  world.run_for(seconds(1));
  ASSERT_TRUE(upstream.saw_end());
  EXPECT_EQ(upstream.ended() - left, kSameTurn);
}

TEST(TlsLeaving, CloseNotifyInASilentStreamDoesToo) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send(kChunked);
  world.run_for(minutes(2));
  const Time left = world.now();
  client.close();
  world.run_for(seconds(1));
  ASSERT_TRUE(upstream.saw_end());
  EXPECT_EQ(upstream.ended() - left, kSameTurn);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(TlsLeaving, CloseNotifyBeforeTheRequestIsCompleteAbortsIt) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(post_head(10) + "hello");
  const Time left = world.now();
  client.close();
  world.run_for(seconds(1));
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_EQ(upstream.was_reset - left, kSameTurn);
  EXPECT_FALSE(tls_of(upstream).notified());
  EXPECT_EQ(client.got, "");
}

TEST(TlsLeaving, WhoLeavesWithItsRequestIsGone) {
  TlsWorld world;
  Party& client = world.open();
  client.send(kPost);
  client.close();
  world.run_for(seconds(1));
  EXPECT_EQ(world.gateway->session_count(), 0U);
  EXPECT_EQ(client.got, "");
}

TEST(TlsLeaving, AlsoWhileTheUpstreamsHandshakeIsUnderWay) {
  TlsWorld world([](config::Config& config) {  // a handshake that may be shared goes on
    config.upstreams.front().protocol = config::Protocol::http1;
  });
  world.spoken->upstream_holds = true;
  Party& client = world.ask(kPost);
  world.run_for(seconds(1));
  ASSERT_EQ(world.upstream.count(), 1U);
  const Time left = world.now();
  client.close();
  world.run_for(seconds(1));
  EXPECT_TRUE(world.upstream.at(0).saw_reset());
  EXPECT_EQ(world.upstream.at(0).was_reset - left, kSameTurn);
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

TEST(TlsLeaving, AlsoWhileAnUploadIsPausedByItsUpstream) {
  for (const int how : {0, 1, 2}) {
    TlsWorld world;
    world.upstream.reads = false;
    // As much as its FIN can come behind, and more than the upstream has room for.
    auto [client, upstream] = world.exchange(post_head(4'000'000) + std::string(250'000, 'x'));
    world.run_for(seconds(5));
    const io::SimEnd& end = world.network.end(tls_of(client).below().socket());
    ASSERT_TRUE(client.all_sent());
    ASSERT_EQ(end.unacknowledged(), 0U);
    world.gateway->tell_waiting();
    ASSERT_EQ(lines_with(world, "\"phase\":\"serving\"").size(), 1U);  // it is paused
    const Time left = world.now();
    if (how == 0) client.reset();
    if (how == 1) tls_of(client).close_below();
    if (how == 2) client.close();
    world.run_for(kSameTurn);
    EXPECT_TRUE(upstream.saw_reset()) << how;
    EXPECT_EQ(upstream.was_reset - left, kSameTurn) << how;
    EXPECT_EQ(world.gateway->session_count(), 0U) << how;
  }
}

TEST(TlsLeaving, AClientMayLeaveInTheMiddleOfItsHandshake) {
  TlsWorld world;
  Party& one = world.dial();
  Party& two = world.dial();
  world.run_for(3 * kLatency);
  one.reset();
  tls_of(two).close_below();
  world.settle();
  EXPECT_EQ(world.gateway->session_count(), 0U);
  EXPECT_EQ(world.shared.clients.load(), 0U);
}

TEST(TlsLeaving, AKeptClientMayLeaveAsItLikes) {
  TlsWorld world;
  world.upstream.answer_with(std::string(kOk));
  Party& notifies = world.ask(kGet);
  Party& finishes = world.ask(kGet);
  Party& resets = world.ask(kGet);
  world.settle();
  notifies.finish();
  tls_of(finishes).finish_below();
  resets.reset();
  world.settle();
  EXPECT_TRUE(tls_of(notifies).notified());
  EXPECT_TRUE(notifies.saw_finish());
  EXPECT_EQ(world.gateway->session_count(), 0U);
}

}  // namespace
}  // namespace hushgate::sim
