#include "tls/self_signed.h"

#include "tls/testing.h"

namespace hushgate::tls {
namespace {

TEST(TlsSelfSigned, ALocalCertificateServesLocalhostAndItsAddresses) {
  const auto now = std::chrono::system_clock::now();
  const auto pem = make_local_certificate(now);
  ASSERT_TRUE(pem.has_value()) << pem.error();
  Files files;
  const std::string ca = files.write("local.pem", pem->certificate);
  World world;
  world.server_side = server_context({.certificates = {source_of(*pem)}});
  EXPECT_GT(world.server_side->certificates().front().not_after, now + std::chrono::days(29));
  for (const std::string name : {"localhost", "127.0.0.1", "::1"}) {
    Sessions sessions(client_context({.server_name = name, .ca_file = ca}));
    const Ends ends = world.pair(sessions);
    EXPECT_FALSE(ends.client->failed()) << name << ": " << ends.client->failure().message;
  }
}

TEST(TlsSelfSigned, EachHasAKeyAndANumberOfItsOwn) {
  const auto now = std::chrono::system_clock::now();
  const auto one = make_local_certificate(now);
  const auto two = make_local_certificate(now);
  EXPECT_NE(one->key, two->key);
  EXPECT_NE(one->certificate, two->certificate);
}

TEST(TlsSelfSigned, AnIssuerThatIsNoneIsAnError) {
  const Pem broken{.certificate = "x", .key = "y"};
  const auto pem = make_certificate(
      {.common_name = "x", .not_before = wall_now(), .not_after = wall_now(), .issuer = &broken});
  ASSERT_FALSE(pem.has_value());
  EXPECT_FALSE(pem.error().empty());
}

}  // namespace
}  // namespace hushgate::tls
