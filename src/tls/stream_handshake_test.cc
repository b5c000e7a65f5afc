#include <cerrno>

#include "tls/stream.h"
#include "tls/testing.h"

namespace hushgate::tls {
namespace {

using Kind = io::Take::Kind;

class TlsHandshake : public testing::Test {
 protected:
  // What a client of `options` says of a server of `pem`.
  std::string refusal(const Pem& pem, ClientOptions options = {},
                      FailureKind kind = FailureKind::certificate) {
    world.server_side = server_context({.certificates = {source_of(pem)}});
    Sessions sessions(client_context(std::move(options)));
    const Ends ends = world.pair(sessions);
    EXPECT_FALSE(ends.client->connecting());
    EXPECT_TRUE(ends.client->failed());
    EXPECT_EQ(ends.client->failure().kind, kind);
    EXPECT_EQ(ends.client->take().kind, Kind::failed);
    EXPECT_TRUE(ends.server->failed());
    EXPECT_EQ(ends.server->failure().kind, FailureKind::protocol);
    EXPECT_NE(ends.server->failure().message.find("the client does not accept our certificate ("),
              std::string::npos)
        << ends.server->failure().message;
    EXPECT_EQ(world.scratch.counts().connect_failed, 1U);
    EXPECT_EQ(world.scratch.counts().accept_failed, 1U);
    return ends.client->failure().message;
  }

  World world;
  Files files;
};

std::chrono::sys_seconds at(const char* text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  EXPECT_EQ(std::sscanf(text, "%d-%u-%u", &year, &month, &day), 3);
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(month) /
                               std::chrono::day(day));
}

TEST_F(TlsHandshake, AnExpiredCertificateIsNamedWithItsEnd) {
  EXPECT_EQ(refusal(made({.common_name = "api.example.com",
                          .names = {"api.example.com"},
                          .not_before = at("2023-01-01"),
                          .not_after = at("2024-01-01"),
                          .issuer = &test_authority()})),
            "the certificate of api.example.com has expired (CN=api.example.com, notAfter "
            "2024-01-01T00:00:00Z)");
}

TEST_F(TlsHandshake, ACertificateOfTheFutureIsNamedWithItsBeginning) {
  EXPECT_EQ(refusal(made({.common_name = "api.example.com",
                          .names = {"api.example.com"},
                          .not_before = at("2199-01-01"),
                          .not_after = at("2199-02-01"),
                          .issuer = &test_authority()})),
            "the certificate of api.example.com is not valid yet (CN=api.example.com, notBefore "
            "2199-01-01T00:00:00Z)");
}

TEST_F(TlsHandshake, AnExpiredIssuerIsNotMistakenForTheLeaf) {
  const Pem authority = made({.common_name = "Old Authority",
                              .usage = Usage::authority,
                              .not_before = at("2023-01-01"),
                              .not_after = at("2024-01-01")});
  const Pem pem = made({.common_name = "x", .names = {"api.example.com"}, .issuer = &authority});
  EXPECT_EQ(refusal(pem, {.ca_file = files.write("old.pem", authority.certificate)}),
            "the certificate of an issuer, CN=Old Authority, has expired (CN=Old Authority, "
            "notAfter 2024-01-01T00:00:00Z)");
}

TEST_F(TlsHandshake, AWrongNameIsToldWithTheRightOnes) {
  EXPECT_EQ(refusal(leaf({"a.example", "b.example"})),
            "the certificate is for a.example, b.example, not for api.example.com");
  world.server_side.reset();
}

TEST_F(TlsHandshake, AnAddressIsLookedForAmongTheAddresses) {
  EXPECT_EQ(refusal(leaf({"a.example", "10.0.0.1"}), {.server_name = "10.0.0.2"}),
            "the certificate is for a.example, 10.0.0.1, not for 10.0.0.2");
}

TEST_F(TlsHandshake, ACertificateForAnAddressVerifiesAndNoNameIsSent) {
  world.server_side = server_context({.certificates = {source_of(leaf({"10.9.9.9", "::1"}))}});
  for (const std::string name : {"10.9.9.9", "::1"}) {
    Sessions sessions(client_context({.server_name = name}));
    const Ends ends = world.pair(sessions);
    EXPECT_FALSE(ends.client->failed()) << ends.client->failure().message;
    EXPECT_EQ(ends.server->server_name(), "");
  }
}

TEST_F(TlsHandshake, ASelfSignedCertificateIsCalledSo) {
  const std::string ca = files.write("ca.pem", test_authority().certificate);
  EXPECT_EQ(refusal(made({.common_name = "dev", .names = {"api.example.com"}}), {.ca_file = ca}),
            "self-signed certificate (CN=dev), not in the CA file " + ca);
}

TEST_F(TlsHandshake, AnUnknownIssuerIsNamed) {
  const std::string ca = files.write("ca.pem", other_authority().certificate);
  EXPECT_EQ(refusal(usual_leaf(), {.ca_file = ca}),
            "unable to get local issuer certificate: the chain ends at CN=api.example.com, issued "
            "by CN=Test Authority, which is not in the CA file " +
                ca + "; an intermediate certificate may be missing");
}

TEST_F(TlsHandshake, AChainThatBringsItsOwnRootIsNotTrustedForIt) {
  Pem pem = usual_leaf();
  pem.certificate += test_authority().certificate;
  const std::string ca = files.write("ca.pem", other_authority().certificate);
  EXPECT_EQ(refusal(pem, {.ca_file = ca}),
            "the chain ends at the root CN=Test Authority, which is not in the CA file " + ca);
}

TEST_F(TlsHandshake, AnIntermediateInTheCaFileIsTrustedWithoutItsRoot) {
  const Pem middle =
      made({.common_name = "Middle", .usage = Usage::authority, .issuer = &test_authority()});
  const Pem pem = made({.common_name = "x", .names = {"api.example.com"}, .issuer = &middle});
  world.server_side = server_context({.certificates = {source_of(pem)}});
  Sessions sessions(client_context({.server_name = "api.example.com.",
                                    .ca_file = files.write("middle.pem", middle.certificate)}));
  const Ends ends = world.pair(sessions);
  EXPECT_FALSE(ends.client->failed()) << ends.client->failure().message;
  EXPECT_EQ(ends.server->server_name(), "api.example.com");
}

TEST_F(TlsHandshake, TheSystemsRootsAreTheDefault) {
  // A directory of nobody's stands for the system's.
  ::setenv("SSL_CERT_FILE", files.missing("none").c_str(), 1);
  ::setenv("SSL_CERT_DIR", files.missing("none").c_str(), 1);
  auto context = ClientContext::make({.server_name = "api.example.com"});
  ::unsetenv("SSL_CERT_FILE");
  ::unsetenv("SSL_CERT_DIR");
  Sessions sessions(*context);
  const Ends ends = world.pair(sessions);
  EXPECT_EQ(ends.client->failure().message,
            "unable to get local issuer certificate: the chain ends at CN=api.example.com, issued "
            "by CN=Test Authority, which is not in the system's trusted roots; an intermediate "
            "certificate may be missing");
}

TEST_F(TlsHandshake, WithoutVerificationAnybodyMayAnswer) {
  world.server_side = server_context({.certificates = {source_of(made({.common_name = "x"}))}});
  Sessions sessions(client_context({.verify = Verify::no}));
  const Ends ends = world.pair(sessions);
  EXPECT_FALSE(ends.client->failed());
  EXPECT_EQ(ends.client->peer_subject(), "");
}

// --- protocol

TEST_F(TlsHandshake, AnHttpServerIsRecognized) {
  world.plain = true;
  Sessions sessions(client_context());
  const Stream::Pointer client = world.connect(sessions);
  const io::StreamPtr server = world.raw();
  ASSERT_TRUE(write_text(*server, "HTTP/1.1 400 Bad Request\r\n\r\n").has_value());
  ASSERT_TRUE(world.turn_until([&] { return client->failed(); }));
  EXPECT_FALSE(client->connecting());
  EXPECT_EQ(client->error(), EPROTO);
  EXPECT_EQ(client->failure().kind, FailureKind::protocol);
  EXPECT_EQ(client->failure().message, "it does not speak TLS (its first bytes look like HTTP)");
}

TEST_F(TlsHandshake, AnythingElseIsShownByItsFirstBytes) {
  world.plain = true;
  Sessions sessions(client_context());
  const Stream::Pointer client = world.connect(sessions);
  const io::StreamPtr server = world.raw();
  ASSERT_TRUE(write_text(*server, "SSH-2.0-x\r\n").has_value());
  ASSERT_TRUE(world.turn_until([&] { return client->failed(); }));
  EXPECT_EQ(client->failure().message,
            "it does not speak TLS (its first bytes are 53 53 48 2d 32)");
}

TEST_F(TlsHandshake, AnHttpClientIsRecognized) {
  const io::StreamPtr client = world.connect_plain();
  ASSERT_TRUE(world.turn_until([&] { return client->writable(); }));
  ASSERT_TRUE(write_text(*client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").has_value());
  Stream::Pointer server;
  ASSERT_TRUE(world.turn_until([&] {
    if (!server) server = world.accepted();
    return server && server->failed();
  }));
  EXPECT_EQ(server->failure().message, "it does not speak TLS (its first bytes look like HTTP)");
  EXPECT_GT(world.server_owner.runs, 0);
}

struct Old {
  int version;
  const char* message;
};

TEST_F(TlsHandshake, AServerThatSpeaksOnlyOldVersionsIsTold) {
  for (const Old old : {Old{TLS1_VERSION,
                            "the upstream speaks no TLS version that is accepted "
                            "here (protocol_version alert)"},
                        Old{TLS1_1_VERSION,
                            "the upstream speaks no TLS version that is accepted "
                            "here (protocol_version alert)"}}) {
    const ContextPtr context = plain_context(TLS_server_method());
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), old.version);
    SSL_CTX_set_max_proto_version(context.get(), old.version);
    SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0");
    use(context.get(), usual_leaf());
    io::SimPeerListener listener(world.sim.network,
                                 world.sim.network.host(IpAddress::v4(10, 0, 0, 7)),
                                 IpPort{IpAddress::v4(10, 0, 0, 7), 443}, 8);
    Sessions sessions(client_context());
    auto inner = world.sim.loop.backend().connect(listener.address(), {}, nullptr);
    const Stream::Pointer client =
        Stream::connect(world.scratch, sessions, std::move(*inner), &world.client_owner);
    std::unique_ptr<Witness> server;
    ASSERT_TRUE(world.turn_until([&] {
      if (!server) {
        if (auto peer = listener.accept()) {
          server = std::make_unique<Witness>(std::move(peer), context.get());
          server->pump();
        }
      }
      return client->failed();
    }));
    EXPECT_EQ(client->failure().kind, FailureKind::protocol);
    EXPECT_EQ(client->failure().message, old.message);
  }
}

// One that does not heed what the client has said that it can do.
TEST_F(TlsHandshake, AServerHelloOfAnOldVersionIsNamed) {
  world.plain = true;
  Sessions sessions(client_context());
  const Stream::Pointer client = world.connect(sessions);
  const io::StreamPtr server = world.raw();
  std::string hello("\x16\x03\x01\x00\x2a\x02\x00\x00\x26\x03\x01", 11);
  hello += std::string(32, 'r');
  hello += std::string("\x00\xc0\x13\x00", 4);
  ASSERT_TRUE(write_text(*server, hello).has_value());
  ASSERT_TRUE(world.turn_until([&] { return client->failed(); }));
  EXPECT_EQ(client->failure().message, "the upstream offers only TLS 1.0");
}

// A server of OpenSSL's own that fails, and what the stream says.
std::string refused_by(World& world, SSL_CTX* context, ClientOptions options = {}) {
  io::SimPeerListener listener(world.sim.network,
                               world.sim.network.host(IpAddress::v4(10, 0, 0, 7)),
                               IpPort{IpAddress::v4(10, 0, 0, 7), 443}, 8);
  Sessions sessions(client_context(std::move(options)));
  auto inner = world.sim.loop.backend().connect(listener.address(), {}, nullptr);
  const Stream::Pointer client =
      Stream::connect(world.scratch, sessions, std::move(*inner), &world.client_owner);
  std::unique_ptr<Witness> server;
  EXPECT_TRUE(world.turn_until([&] {
    if (!server) {
      if (auto peer = listener.accept()) {
        server = std::make_unique<Witness>(std::move(peer), context);
        server->pump();
      }
    }
    return client->failed();
  }));
  EXPECT_EQ(client->failure().kind, FailureKind::protocol);
  return client->failure().message;
}

TEST_F(TlsHandshake, NoCommonCipherIsTold) {
  const ContextPtr context = plain_context(TLS_server_method());
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), "AES128-SHA");
  use(context.get(), leaf({"api.example.com"}, KeyType::rsa_2048));
  EXPECT_EQ(refused_by(world, context.get()),
            "no common cipher, or the upstream lacks something else that it wants "
            "(handshake_failure alert)");
}

TEST_F(TlsHandshake, AWantedClientCertificateIsTold) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const ContextPtr context = plain_context(TLS_server_method());
    SSL_CTX_set_max_proto_version(context.get(), version);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    use(context.get(), usual_leaf());
    EXPECT_EQ(refused_by(world, context.get()),
              version == TLS1_3_VERSION
                  ? "the upstream wants a client certificate (certificate_required alert)"
                  : "no common cipher, or the upstream lacks something else that it wants "
                    "(handshake_failure alert)");
  }
}

TEST_F(TlsHandshake, NoCommonApplicationProtocolIsToldToBoth) {
  world.server_side = server_context({.alpn = {"h2"}});
  Sessions sessions(client_context({.alpn = {"http/1.1"}}));
  const Ends ends = world.pair(sessions);
  EXPECT_EQ(ends.client->failure().message,
            "no common application protocol (no_application_protocol alert)");
  EXPECT_EQ(ends.server->failure().message, "no common application protocol");
}

TEST_F(TlsHandshake, TheServersPreferredApplicationProtocolIsChosen) {
  world.server_side = server_context({.alpn = {"h2", "http/1.1"}});
  Sessions both(client_context({.alpn = {"http/1.1", "h2"}}));
  EXPECT_EQ(world.pair(both).client->alpn(), "h2");
  Sessions one(client_context({.alpn = {"http/1.1"}}));
  EXPECT_EQ(world.pair(one).server->alpn(), "http/1.1");
  Sessions none(client_context());
  const Ends ends = world.pair(none);
  EXPECT_EQ(ends.server->alpn(), "");
  EXPECT_FALSE(ends.server->failed());
}

TEST_F(TlsHandshake, OnlyTls13CanBeDemanded) {
  world.server_side = server_context({.min_version = Version::tls1_3});
  const ContextPtr context = plain_context(TLS_client_method());
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  Witness client(world.sim.network, world.address(), context.get());
  Stream::Pointer server;
  ASSERT_TRUE(world.turn_until([&] {
    if (!server) server = world.accepted();
    return server && server->failed();
  }));
  EXPECT_EQ(server->failure().message, "the client offers no TLS version that is accepted here");
  EXPECT_TRUE(world.turn_until([&] { return client.error == SSL_ERROR_SSL; }));
}

// --- ends

TEST_F(TlsHandshake, AConnectThatIsRefusedIsNoFailureOfTls) {
  Sessions sessions(client_context());
  auto inner = world.sim.loop.backend().connect(IpPort{IpAddress::v4(10, 0, 0, 7), 9}, {}, nullptr);
  const Stream::Pointer client =
      Stream::connect(world.scratch, sessions, std::move(*inner), &world.client_owner);
  EXPECT_TRUE(client->connecting());
  ASSERT_TRUE(world.turn_until([&] { return !client->connecting(); }));
  EXPECT_TRUE(client->failed());
  EXPECT_EQ(client->error(), ECONNREFUSED);
  EXPECT_EQ(client->failure().kind, FailureKind::transport);
  EXPECT_EQ(world.client_owner.runs, 1);
}

TEST_F(TlsHandshake, APeerThatLeavesDuringTheHandshakeIsACut) {
  world.plain = true;
  for (const bool reset : {false, true}) {
    Sessions sessions(client_context());
    const Stream::Pointer client = world.connect(sessions);
    io::StreamPtr server = world.raw();
    ASSERT_TRUE(world.turn_until([&] { return server->readable(); }));
    take_all(*server);
    io::close(std::move(server), reset ? io::CloseHow::reset : io::CloseHow::fin);
    ASSERT_TRUE(world.turn_until([&] { return client->failed(); }));
    EXPECT_EQ(client->error(), ECONNRESET);
    EXPECT_EQ(client->failure().kind, FailureKind::cut);
    EXPECT_EQ(client->failure().message,
              reset ? "Connection reset by peer during the handshake"
                    : "the upstream closed the connection during the handshake, without having "
                      "said anything");
  }
}

TEST_F(TlsHandshake, AClientThatNeverFinishesItWakesNobodyUntilItsOwnerCloses) {
  Stream::Pointer server;
  {
    Witness client(world.sim.network, world.address(), plain_context(TLS_client_method()).get());
    client.drives = false;
    SSL_do_handshake(client.ssl());
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(client.ssl()), &bytes);
    ASSERT_TRUE(world.turn_until([&] {
      if (!server) server = world.accepted();
      return server != nullptr;
    }));
    client.peer().send({bytes, static_cast<std::size_t>(size) / 2});
    world.turn_for(Ms(60'000));
    EXPECT_EQ(world.server_owner.runs, 0);
    EXPECT_FALSE(server->readable());
    EXPECT_FALSE(server->writable());
    EXPECT_EQ(write_text(*server, "x"), 0U);
    EXPECT_EQ(server->take().kind, Kind::nothing);
    EXPECT_FALSE(server->still_quiet());
    server.reset();
    ASSERT_TRUE(world.turn_until([&] { return client.peer().failed(); }));
  }
  EXPECT_EQ(world.scratch.counts().accept_failed, 0U);
}

TEST_F(TlsHandshake, GarbageFailsAndNeverHangsOrCrashes) {
  std::uint32_t random = 1;
  for (int round = 0; round < 200; ++round) {
    std::string garbage(1'000, '\0');
    for (char& c : garbage) {
      random = random * 1'664'525U + 1'013'904'223U;
      c = static_cast<char>(random >> 24U);
    }
    if (round % 2 == 0) garbage.replace(0, 5, std::string("\x16\x03\x01\x02\x00", 5));
    if (round % 4 == 0) garbage.replace(5, 4, std::string("\x01\x00\x01\xfc", 4));
    io::StreamPtr client = world.connect_plain();
    ASSERT_TRUE(world.turn_until([&] { return client->writable(); }));
    ASSERT_TRUE(write_text(*client, garbage).has_value());
    client->finish_writing();
    Stream::Pointer server;
    ASSERT_TRUE(world.turn_until([&] {
      if (!server) server = world.accepted();
      return server && server->failed();
    }));
    EXPECT_FALSE(server->failure().message.empty());
  }
}

}  // namespace
}  // namespace hushgate::tls
