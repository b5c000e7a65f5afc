#include "tls/sessions.h"

#include "tls/testing.h"

namespace hushgate::tls {
namespace {

class TlsSessions : public testing::Test {
 protected:
  TlsSessions() { world.server_side = server_context({.ticket_keys = keys}); }

  // Ends that have met, and whose tickets have come.
  Ends meet(Sessions& of) {
    Ends ends = world.pair(of);
    EXPECT_FALSE(ends.client->failed()) << ends.client->failure().message;
    EXPECT_FALSE(ends.server->failed()) << ends.server->failure().message;
    world.turn_for(Ms(50));
    return ends;
  }
  // The same with a client of TLS 1.2.
  void only_tls12(const Sessions& of) {
    SSL_CTX_set_max_proto_version(of.context().start(), TLS1_2_VERSION);
  }

  Time ticket_time{};
  std::shared_ptr<TicketKeys> keys = std::make_shared<TicketKeys>([this] { return ticket_time; });
  World world;
  // A little ahead: OpenSSL stamps sessions with the time at which they come to be, which is later
  // than this on a slow machine.
  std::chrono::system_clock::time_point wall =
      std::chrono::system_clock::now() + std::chrono::seconds(4);
  Sessions sessions{client_context(), [this] { return wall; }};
};

TEST_F(TlsSessions, ATicketIsUsedOnce) {
  EXPECT_FALSE(meet(sessions).client->resumed());
  EXPECT_EQ(sessions.size(), 2U);
  const SessionPtr first = sessions.take();
  const SessionPtr second = sessions.take();
  EXPECT_NE(first, second);
  EXPECT_EQ(sessions.take(), nullptr);
}

TEST_F(TlsSessions, AResumedHandshakeBringsANewTicketAndKeepsTheName) {
  meet(sessions);
  for (int i = 0; i < 4; ++i) {
    const Ends ends = meet(sessions);
    EXPECT_TRUE(ends.client->resumed());
    EXPECT_TRUE(ends.server->resumed());
    EXPECT_EQ(ends.server->server_name(), "api.example.com");
    EXPECT_EQ(ends.client->peer_subject(), "CN=api.example.com");
    EXPECT_EQ(sessions.size(), 2U);
  }
  EXPECT_EQ(world.scratch.counts().accepted_full, 1U);
  EXPECT_EQ(world.scratch.counts().accepted_resumed, 4U);
  EXPECT_EQ(world.scratch.counts().connected_full, 1U);
  EXPECT_EQ(world.scratch.counts().connected_resumed, 4U);
}

TEST_F(TlsSessions, ASessionOfTls12MayBeUsedAgain) {
  only_tls12(sessions);
  EXPECT_EQ(meet(sessions).client->version(), "TLSv1.2");
  EXPECT_EQ(sessions.size(), 1U);
  Ends one = world.pair(sessions);
  const Ends two = world.pair(sessions);
  EXPECT_TRUE(one.client->resumed());
  EXPECT_TRUE(two.client->resumed());
  io::close(std::move(one.client), io::CloseHow::reset);  // not for being cut
  EXPECT_TRUE(meet(sessions).client->resumed());
  EXPECT_EQ(sessions.size(), 1U);
}

TEST_F(TlsSessions, NewestFirstAndNoMoreThanTheBound) {
  std::vector<Ends> ends;
  for (std::size_t i = 0; i < kMaxSessions / 2 + 3; ++i) {
    ends.push_back({.client = world.connect(sessions), .server = nullptr});
  }
  ASSERT_TRUE(world.turn_until([&] {
    for (Ends& each : ends) {
      if (!each.server) each.server = world.accepted();
    }
    return std::ranges::all_of(ends, [](const Ends& each) { return !each.client->handshaking(); });
  }));
  world.turn_for(Ms(50));
  EXPECT_EQ(sessions.size(), kMaxSessions);
}

TEST_F(TlsSessions, ATicketThatIsTooOldIsDropped) {
  meet(sessions);
  wall += kTicketLifetime - std::chrono::seconds(10);
  EXPECT_NE(sessions.take(), nullptr);
  wall += std::chrono::seconds(20);
  EXPECT_EQ(sessions.take(), nullptr);
  EXPECT_EQ(sessions.size(), 0U);
}

TEST_F(TlsSessions, TicketsOutliveAReloadOfTheCertificates) {
  meet(sessions);
  world.server_side =
      server_context({.certificates = {source_of(leaf({"api.example.com"}))}, .ticket_keys = keys});
  EXPECT_TRUE(meet(sessions).client->resumed());
}

TEST_F(TlsSessions, TicketsAreGoodForSomeRotationsAndNoLonger) {
  meet(sessions);
  ticket_time += kTicketKeyPeriod;
  EXPECT_TRUE(meet(sessions).client->resumed());
  EXPECT_TRUE(meet(sessions).client->resumed());
  ticket_time += kTicketKeyPeriod * static_cast<int>(kTicketKeysKept);
  EXPECT_FALSE(meet(sessions).client->resumed());
}

TEST_F(TlsSessions, AnOldTicketOfTls12IsRenewed) {
  only_tls12(sessions);
  meet(sessions);
  for (int i = 0; i < 6; ++i) {
    ticket_time += kTicketKeyPeriod;
    EXPECT_TRUE(meet(sessions).client->resumed()) << i;
  }
}

TEST_F(TlsSessions, TicketsOfAnotherServersKeysAreNoHarm) {
  meet(sessions);
  world.server_side = server_context({.ticket_keys = std::make_shared<TicketKeys>()});
  EXPECT_FALSE(meet(sessions).client->resumed());
  EXPECT_TRUE(meet(sessions).client->resumed());
}

TEST_F(TlsSessions, WithoutTicketKeysEveryHandshakeIsAFullOne) {
  world.server_side = server_context();
  meet(sessions);
  EXPECT_EQ(sessions.size(), 0U);
  EXPECT_FALSE(meet(sessions).client->resumed());
}

// A session vouches for a client's certificate, so it must not be taken where others are asked for.
TEST_F(TlsSessions, ATicketDoesNotOpenUnderAnotherPolicy) {
  Files files;
  const std::string ca = files.write("ca.pem", test_authority().certificate);
  const std::string other = files.write("other.pem", other_authority().certificate);
  for (const bool tls12 : {false, true}) {
    Sessions own(client_context({.certificate = source_of(leaf({"client"}))}));
    if (tls12) only_tls12(own);
    meet(own);
    world.server_side = server_context({.client_certificates = ClientCertificates::required,
                                        .client_ca_file = ca,
                                        .ticket_keys = keys});
    Ends ends = meet(own);
    EXPECT_FALSE(ends.client->resumed());
    EXPECT_EQ(ends.server->peer_subject(), "CN=client");
    ends = meet(own);
    EXPECT_TRUE(ends.client->resumed());
    EXPECT_EQ(ends.server->peer_subject(), "CN=client");
    world.server_side = server_context({.client_certificates = ClientCertificates::optional,
                                        .client_ca_file = ca,
                                        .ticket_keys = keys});
    EXPECT_FALSE(meet(own).client->resumed());
    world.server_side = server_context({.client_certificates = ClientCertificates::required,
                                        .client_ca_file = other,
                                        .ticket_keys = keys});
    ends = world.pair(own);
    EXPECT_TRUE(world.turn_until([&] { return ends.server->failed(); }));
    EXPECT_EQ(ends.server->failure().kind, FailureKind::certificate);
    world.server_side = server_context({.ticket_keys = keys});
  }
}

}  // namespace
}  // namespace hushgate::tls
