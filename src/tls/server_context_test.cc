#include "tls/server_context.h"

#include <openssl/pem.h>

#include "tls/testing.h"

namespace hushgate::tls {
namespace {

class TlsServerContext : public testing::Test {
 protected:
  // The subject of the certificate that a client gets for that name; empty: none asked for.
  std::string served(const std::string& name, const char* cipher = nullptr) {
    const ContextPtr context = plain_context(TLS_client_method());
    if (cipher != nullptr) {
      SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
      SSL_CTX_set_cipher_list(context.get(), cipher);
    }
    Witness client(world.sim.network, world.address(), context.get());
    if (!name.empty()) SSL_set_tlsext_host_name(client.ssl(), name.c_str());
    Stream::Pointer server;
    EXPECT_TRUE(world.turn_until([&] {
      if (!server) server = world.accepted();
      return server && client.done();
    }));
    const X509* const certificate = SSL_get0_peer_certificate(client.ssl());
    return certificate != nullptr ? one_line(X509_get_subject_name(certificate)) : "nothing";
  }
  std::vector<Fault> faults(const ServerOptions& options) {
    auto context = ServerContext::make(options);
    if (context) return {};
    return context.error();
  }

  World world;
  Files files;
};

CertificateSource named(const std::string& subject, const std::vector<std::string>& names,
                        KeyType type = KeyType::ec_p256) {
  return source_of(made({.common_name = subject, .names = names, .key_type = type}));
}

TEST_F(TlsServerContext, ACertificateIsChosenByName) {
  world.server_side = server_context({.certificates = {
                                          named("default", {"default.example"}),
                                          named("a", {"a.example", "b.example"}),
                                          named("wild", {"*.example", "*.deep.example"}),
                                          named("exact", {"exact.deep.example"}),
                                          named("c.example", {}),
                                      }});
  EXPECT_EQ(served("a.example"), "CN=a");
  EXPECT_EQ(served("b.example"), "CN=a");
  EXPECT_EQ(served("B.Example"), "CN=a");
  EXPECT_EQ(served("z.example"), "CN=wild");
  EXPECT_EQ(served("x.deep.example"), "CN=wild");
  EXPECT_EQ(served("exact.deep.example"), "CN=exact");
  EXPECT_EQ(served("y.x.deep.example"), "CN=default");
  EXPECT_EQ(served("example"), "CN=default");
  EXPECT_EQ(served("elsewhere.org"), "CN=default");
  EXPECT_EQ(served("c.example"), "CN=c.example");
  EXPECT_EQ(served(""), "CN=default");
}

TEST_F(TlsServerContext, BothKeyTypesOfANameServeTheClientThatCanUseThem) {
  world.server_side =
      server_context({.certificates = {named("ec", {"a.example", "only-ec.example"}),
                                       named("rsa", {"a.example"}, KeyType::rsa_2048),
                                       named("late", {"a.example"})}});
  constexpr const char* kEc = "ECDHE-ECDSA-AES128-GCM-SHA256";
  constexpr const char* kRsa = "ECDHE-RSA-AES128-GCM-SHA256";
  EXPECT_EQ(served("a.example", kEc), "CN=ec");
  EXPECT_EQ(served("a.example", kRsa), "CN=rsa");
  EXPECT_EQ(served("only-ec.example"), "CN=ec");
  EXPECT_EQ(served("", kRsa), "CN=rsa");
}

TEST_F(TlsServerContext, WhatCertificatesSayOfThemselvesIsKept) {
  const auto context = server_context({.certificates = {named("A", {"A.example", "*.B.example"})}});
  ASSERT_EQ(context->certificates().size(), 1U);
  const CertificateInfo& info = context->certificates().front();
  EXPECT_EQ(info.subject, "CN=A");
  EXPECT_EQ(info.names, (std::vector<std::string>{"a.example", "*.b.example"}));
  EXPECT_LE(info.not_before, wall_now());
  EXPECT_GT(info.not_after, wall_now());
}

TEST_F(TlsServerContext, AnExpiredCertificateIsServedAndItsEndIsKnown) {
  const auto context = server_context(
      {.certificates = {source_of(made({.common_name = "old",
                                        .not_before = wall_now() - std::chrono::days(2),
                                        .not_after = wall_now() - std::chrono::days(1)}))}});
  EXPECT_LT(context->certificates().front().not_after, wall_now());
}

TEST_F(TlsServerContext, EveryFaultIsFoundAndNamed) {
  const Pem one = made({.common_name = "one"});
  const Pem two = made({.common_name = "two"});
  const std::string certificate = files.write("one.pem", one.certificate);
  const std::string key = files.write("one.key", one.key);
  const std::string missing = files.missing("missing.pem");
  const std::string text = files.write("text.pem", "hello\n");
  const std::string broken = files.write(
      "broken.pem", one.certificate + one.certificate.substr(0, one.certificate.size() / 2));
  const std::string foreign = files.write("two.key", two.key);
  const std::vector<Fault> found = faults({
      .certificates = {{missing, key},
                       {certificate, missing},
                       {text, key},
                       {certificate, text},
                       {certificate, foreign},
                       {broken, key},
                       {"", ""},
                       {certificate, key}},
      .client_certificates = ClientCertificates::required,
      .client_ca_file = text,
  });
  const std::vector<std::pair<std::string, std::string>> wanted{
      {missing, "the certificate cannot be read: No such file or directory"},
      {missing, "the key cannot be read: No such file or directory"},
      {text, "no certificate is in it"},
      {text, "no private key is in it"},
      {foreign, "the key does not belong to the first certificate of " + certificate + " (CN=one)"},
      {broken, "what follows behind 1 certificate(s) is no whole certificate"},
      {"", "no certificate is given"},
      {text, "no certificate is in it"}};
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].file, wanted[i].first) << i;
    EXPECT_EQ(found[i].wrong, wanted[i].second) << i;
    EXPECT_FALSE(found[i].right.empty()) << i;
  }
  EXPECT_EQ(faults({}).front().wrong, "no certificate is given");
}

TEST_F(TlsServerContext, AnEncryptedKeyIsCalledSo) {
  const Pem one = made({.common_name = "one"});
  const BioPtr in(BIO_new_mem_buf(one.key.data(), static_cast<int>(one.key.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  const BioPtr out(BIO_new(BIO_s_mem()));
  char pass[] = "secret";
  PEM_write_bio_PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(), nullptr, 0, nullptr, pass);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  const std::string file = files.write("k.pem", {bytes, static_cast<std::size_t>(size)});
  const std::vector<Fault> found =
      faults({.certificates = {{files.write("c.pem", one.certificate), file}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].file, file);
  EXPECT_EQ(found[0].wrong, "the key is encrypted");
}

TEST_F(TlsServerContext, AKeyThatIsTooSmallIsRefusedWithTheReason) {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{1'024}));
  const CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 1'000);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate.get());
  PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  const std::string file = files.write("small.pem", {bytes, static_cast<std::size_t>(size)});
  const std::vector<Fault> found = faults({.certificates = {{file, file}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].wrong, "OpenSSL does not accept it: ee key too small");
}

// --- client certificates

class TlsClientCertificates : public testing::Test {
 protected:
  Ends meet(ClientCertificates policy, const CertificateSource& own = {}) {
    world.server_side = server_context({.client_certificates = policy, .client_ca_file = ca});
    Sessions sessions(client_context({.certificate = own}));
    Ends ends = world.pair(sessions);
    world.turn_for(Ms(50));
    return ends;
  }

  World world;
  Files files;
  std::string ca = files.write("ca.pem", test_authority().certificate);
  CertificateSource good = source_of(leaf({"client"}));
  CertificateSource foreign =
      source_of(made({.common_name = "mallory", .issuer = &other_authority()}));
};

TEST_F(TlsClientCertificates, AVerifiedSubjectIsKnown) {
  for (const auto policy : {ClientCertificates::optional, ClientCertificates::required}) {
    const Ends ends = meet(policy, good);
    EXPECT_FALSE(ends.client->failed()) << ends.client->failure().message;
    EXPECT_EQ(ends.server->peer_subject(), "CN=client");
  }
}

TEST_F(TlsClientCertificates, WithoutOneOptionalLetsInAndRequiredDoesNot) {
  Ends ends = meet(ClientCertificates::optional);
  EXPECT_FALSE(ends.server->failed());
  EXPECT_EQ(ends.server->peer_subject(), "");
  ends = meet(ClientCertificates::required);
  EXPECT_TRUE(ends.server->failed());
  EXPECT_EQ(ends.server->failure().message, "the client gave no certificate");
  EXPECT_TRUE(ends.client->failed());
  EXPECT_EQ(ends.client->failure().message,
            "the upstream wants a client certificate (certificate_required alert)");
}

TEST_F(TlsClientCertificates, OneOfAnotherAuthorityIsRefusedByBothPolicies) {
  for (const auto policy : {ClientCertificates::optional, ClientCertificates::required}) {
    const Ends ends = meet(policy, foreign);
    EXPECT_TRUE(ends.server->failed());
    EXPECT_EQ(ends.server->failure().kind, FailureKind::certificate);
    EXPECT_EQ(ends.server->failure().message,
              "unable to get local issuer certificate: the chain ends at CN=mallory, issued by "
              "CN=Other Authority, which is not in the client CA file; an intermediate certificate "
              "may be missing");
    EXPECT_EQ(ends.client->failure().message,
              "the upstream does not accept our certificate (unknown_ca alert)");
  }
}

TEST_F(TlsClientCertificates, OffAsksForNone) {
  const Ends ends = meet(ClientCertificates::off, good);
  EXPECT_FALSE(ends.server->failed());
  EXPECT_EQ(ends.server->peer_subject(), "");
}

TEST_F(TlsClientCertificates, AFaultyOneOfOurOwnIsTold) {
  const std::string missing = files.missing("x.pem");
  const auto context = ClientContext::make(
      {.server_name = "x", .ca_file = missing, .certificate = {missing, missing}});
  ASSERT_FALSE(context.has_value());
  ASSERT_EQ(context.error().size(), 2U);
  EXPECT_EQ(context.error()[0].file, missing);
  EXPECT_EQ(context.error()[0].wrong,
            "the list of authorities cannot be read: No such file or directory");
  EXPECT_EQ(context.error()[1].wrong, "the certificate cannot be read: No such file or directory");
}

}  // namespace
}  // namespace hushgate::tls
