// Upstreams over TLS that end too early, are not who they should be, or do not speak.
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kUntilEof = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of";
constexpr std::string_view kOldGet = "GET / HTTP/1.0\r\nHost: a\r\n\r\n";

// --- bodies

TEST(TlsBodies, AnEofWithCloseNotifyIsTheEndOfABody) {
  for (const std::string_view get : {kGet, kOldGet}) {
    TlsWorld world;
    auto [client, upstream] = world.exchange(get);
    upstream.send(kUntilEof);
    world.settle();
    upstream.send(" it");
    upstream.close();
    world.settle();
    EXPECT_EQ(client.saw_end(), get == kOldGet);
    EXPECT_EQ(tls_of(client).notified(), get == kOldGet);
    EXPECT_FALSE(client.saw_reset());
    EXPECT_TRUE(client.has(get == kOldGet ? "all of it" : "3\r\n it\r\n0\r\n\r\n"));
    EXPECT_EQ(world.count(Counter::exchanges_failed), 0U);
  }
}

TEST(TlsBodies, AnEofWithoutItIsACutThatAClientOfChunksSees) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send(kUntilEof);
  world.settle();
  tls_of(upstream).close_below();
  world.run_for(seconds(40));
  EXPECT_TRUE(client.has("all of"));
  EXPECT_FALSE(client.has("0\r\n\r\n"));
  EXPECT_TRUE(client.saw_end());
  EXPECT_EQ(world.count(Counter::exchanges_failed), 1U);
  EXPECT_EQ(lines_with(world, "\"end\":\"connection_terminated\"").size(), 1U);
}

// Without close_notify, so that no client takes it for the end.
TEST(TlsBodies, AndOneWhoseBodyEndsWithItsConnectionIsReset) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kOldGet);
  upstream.send(kUntilEof);
  world.settle();
  tls_of(upstream).close_below();
  world.settle();
  EXPECT_TRUE(client.has("all of"));
  EXPECT_TRUE(client.saw_reset());
  EXPECT_FALSE(client.saw_finish());
  EXPECT_FALSE(tls_of(client).notified());
}

TEST(TlsBodies, ABodyShorterThanItsLengthIsCutWhateverItEndsWith) {
  for (const bool notified : {true, false}) {
    TlsWorld world;
    auto [client, upstream] = world.exchange(kGet);
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    world.settle();
    if (notified) {
      upstream.close();
    } else {
      tls_of(upstream).close_below();
    }
    world.run_for(seconds(40));
    EXPECT_EQ(client.body(), "half");
    EXPECT_TRUE(client.saw_end());
    EXPECT_EQ(world.count(Counter::exchanges_failed), 1U);
  }
}

TEST(TlsBodies, ARecordThatWasTamperedWithIsACut) {
  TlsWorld world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  world.settle();
  tls_of(upstream).send_below(std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
  world.run_for(seconds(40));
  EXPECT_EQ(client.body(), "half");
  EXPECT_TRUE(client.saw_end());
  EXPECT_EQ(tls_of(upstream).alert(), SSL_AD_BAD_RECORD_MAC);
}

TEST(TlsBodies, AnEndBeforeTheResponseIs502AndAPostIsNotSentAgain) {
  for (const bool notified : {true, false}) {
    TlsWorld world;
    auto [client, upstream] = world.exchange(kPost);
    if (notified) {
      upstream.close();
    } else {
      tls_of(upstream).close_below();
    }
    world.settle();
    EXPECT_EQ(client.status(), 502);
    EXPECT_TRUE(client.has("connection_terminated"));
    EXPECT_TRUE(client.has("x-should-retry: false\r\n"));
    EXPECT_EQ(world.upstream.count(), 1U);
  }
}

// --- handshakes that fail

TEST(TlsHandshakes, ACertificateThatDoesNotVerifyIs502AfterExactlyOneAttempt) {
  struct Row {
    tls::CertificateRequest request;
    std::string_view reason;
  };
  const auto now = tls::wall_now();
  const tls::Pem& authority = tls::test_authority();
  for (const Row& row : {
           Row{{.common_name = "other", .names = {"other.example"}, .issuer = &authority},
               "api.example.com"},
           Row{{.common_name = "api.example.com",
                .names = {"api.example.com"},
                .not_before = now - std::chrono::hours(48),
                .not_after = now - std::chrono::hours(24),
                .issuer = &authority},
               "expired"},
           Row{{.common_name = "api.example.com",
                .names = {"api.example.com"},
                .issuer = &tls::other_authority()},
               "Other Authority"},
           Row{{.common_name = "api.example.com", .names = {"api.example.com"}}, "self-signed"},
       }) {
    TlsWorld world;
    world.spoken->upstream = world.spoken->upstream_context(tls::made(row.request));
    Party& client = world.ask(kPost);
    world.run_for(seconds(5));
    EXPECT_EQ(client.status(), 502);
    EXPECT_TRUE(client.has("tls_certificate_error")) << client.got;
    EXPECT_TRUE(client.has("x-should-retry: true\r\n"));
    EXPECT_EQ(world.upstream.count(), 1U);
    EXPECT_EQ(world.upstream.at(0).got, "");
    EXPECT_EQ(world.count(Counter::connect_retries), 0U);
    EXPECT_EQ(world.count(Counter::tls_connects_failed), 1U);
    const auto lines = lines_with(world, "upstream_tls_failed");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(says(lines[0], row.reason)) << lines[0];
    EXPECT_TRUE(says(lines[0], "\"endpoint\":\"10.0.1.1:3000\"")) << lines[0];
  }
}

TEST(TlsHandshakes, WithVerificationSwitchedOffAnybodyMayAnswer) {
  Gate gate;
  gate.upstream.verify = tls::Verify::no;
  TlsWorld world({}, gate);
  world.spoken->upstream =
      world.spoken->upstream_context(tls::made({.common_name = "anybody", .names = {"any.body"}}));
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask(kGet);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

// Upstreams that make a handshake fail in ways that may pass.
struct Failing {
  std::string_view name;
  std::function<void(TlsWorld&)> prepare;
  std::function<void(Party&)> act;  // on each connection once it has the ClientHello
};

TEST(TlsHandshakes, OneThatFailsIs502AfterItsRetries) {
  const auto bare = [](TlsWorld& world) { world.spoken->upstream = nullptr; };
  const std::vector<Failing> rows{
      {"no common version",
       [](TlsWorld& world) {
         SSL_CTX_set_min_proto_version(world.spoken->upstream.get(), TLS1_VERSION);
         SSL_CTX_set_max_proto_version(world.spoken->upstream.get(), TLS1_1_VERSION);
       },
       {}},
      {"no common cipher",
       [](TlsWorld& world) {
         SSL_CTX_set_max_proto_version(world.spoken->upstream.get(), TLS1_2_VERSION);
         SSL_CTX_set_cipher_list(world.spoken->upstream.get(), "AES128-SHA");
       },
       {}},
      {"speaks HTTP", bare,
       [](Party& party) { party.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"); }},
      {"garbage", bare, [](Party& party) { party.send("garbage of some length, no TLS at all"); }},
      {"closes", bare, [](Party& party) { party.close(); }},
      {"resets", bare, [](Party& party) { party.reset(); }},
      {"an alert", bare,
       [](Party& party) { party.send(std::string("\x15\x03\x03\0\x02\x02\x50", 7)); }},
  };
  for (const Failing& row : rows) {
    TlsWorld world([](config::Config& config) { config.limits.upstream_retries = 2; });
    row.prepare(world);
    world.upstream.on_bytes = row.act;
    Party& client = world.ask(kPost);
    world.run_for(seconds(5));
    EXPECT_EQ(client.status(), 502) << row.name;
    EXPECT_TRUE(client.has("tls_protocol_error")) << row.name << client.got;
    EXPECT_TRUE(client.has("x-should-retry: true\r\n")) << row.name;
    EXPECT_EQ(world.upstream.count(), 3U) << row.name;
    EXPECT_EQ(world.count(Counter::connect_retries), 2U) << row.name;
    EXPECT_EQ(world.count(Counter::tls_connects_failed), 3U) << row.name;
    EXPECT_EQ(lines_with(world, "upstream_tls_failed").size(), 3U) << row.name;
    for (const auto& party : world.upstream.parties) EXPECT_FALSE(party->has("POST")) << row.name;
    // The client is kept.
    EXPECT_FALSE(client.saw_end()) << row.name;
  }
}

TEST(TlsHandshakes, ARetryThatSucceedsIsNotNoticed) {
  TlsWorld world;
  tls::ContextPtr good = std::move(world.spoken->upstream);
  world.upstream.on_bytes = [&](Party& party) {
    if (!good) return;
    party.close();
    world.spoken->upstream = std::move(good);
  };
  Party& client = world.ask(kPost);
  world.run_for(seconds(2));
  ASSERT_EQ(world.upstream.count(), 2U);
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_EQ(client.body(), "ok");
}

TEST(TlsHandshakes, OneThatHangsIs504AfterConnectTimeoutAndIsNotTriedAgain) {
  for (const bool total : {false, true}) {
    TlsWorld world([&](config::Config& config) {
      if (total) config.limits.connect_total = Ms{3'000};
    });
    world.spoken->upstream_holds = true;
    Party& client = world.ask(kPost);
    ASSERT_TRUE(world.run_while_not([&] { return !client.got.empty(); }, minutes(1)));
    EXPECT_EQ(client.status(), 504);
    EXPECT_TRUE(client.has("connection_timeout"));
    EXPECT_TRUE(client.has("x-should-retry: true\r\n"));
    // From the connection; connectTotalMs from the request.
    const Duration took = client.first_byte - world.asked - 2 * kLatency;
    const Ms budget = total ? Ms{3'000} : world.limits().connect_timeout;
    EXPECT_EQ(took, budget + (total ? Duration::zero() : 2 * kLatency)) << to_ms(took);
    EXPECT_EQ(world.upstream.count(), 1U);
    EXPECT_TRUE(world.upstream.at(0).saw_reset());
    EXPECT_EQ(lines_with(world, "upstream_tls_failed").size(), 1U);
  }
}

TEST(TlsHandshakes, ADrippedOneHasNoMoreThanThatEither) {
  TlsWorld world;
  world.spoken->upstream = nullptr;
  Party& client = world.ask(kPost);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  const std::string head("\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03", 11);
  for (std::size_t i = 0; i < 200 && client.got.empty(); ++i) {
    world.upstream.at(0).send(i < head.size() ? head.substr(i, 1) : "x");
    world.run_for(Ms{100});
  }
  EXPECT_EQ(client.status(), 504);
  EXPECT_LE(client.first_byte - world.asked, world.limits().connect_timeout + 4 * kLatency);
}

}  // namespace
}  // namespace hushgate::sim
