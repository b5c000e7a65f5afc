// What OpenSSL puts up with and we do not: renegotiation, key updates without end, early data.
#include <cerrno>

#include "tls/stream.h"
#include "tls/testing.h"

namespace hushgate::tls {
namespace {

using Kind = io::Take::Kind;

class TlsOffence : public testing::Test {
 protected:
  Stream::Pointer serve(Witness& client) {
    Stream::Pointer server;
    EXPECT_TRUE(world.turn_until([&] {
      if (!server) server = world.accepted();
      return server && !server->handshaking() && client.done();
    }));
    return server;
  }

  World world;
};

TEST_F(TlsOffence, ARenegotiationEndsTheConnection) {
  const ContextPtr context = plain_context(TLS_client_method());
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  Witness client(world.sim.network, world.address(), context.get());
  const Stream::Pointer server = serve(client);
  EXPECT_EQ(server->version(), "TLSv1.2");
  client.send("before");
  EXPECT_EQ(world.take_exactly(*server, 6).bytes, "before");
  ASSERT_EQ(SSL_renegotiate(client.ssl()), 1);
  SSL_do_handshake(client.ssl());
  client.flush();
  const Taken taken = world.take_exactly(*server, 1);
  EXPECT_EQ(taken.end, Kind::failed);
  EXPECT_EQ(taken.os_error, EPROTO);
  EXPECT_EQ(server->failure().message, "the client asked for a renegotiation");
  EXPECT_EQ(world.scratch.counts().renegotiations_refused, 1U);
}

TEST_F(TlsOffence, AnUpstreamThatWantsToRenegotiateIsLeft) {
  const ContextPtr context = plain_context(TLS_server_method());
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
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
    return !client->handshaking();
  }));
  ASSERT_FALSE(client->failed()) << client->failure().message;
  ASSERT_EQ(SSL_renegotiate(server->ssl()), 1);
  SSL_do_handshake(server->ssl());
  server->flush();
  ASSERT_TRUE(world.turn_until([&] { return client->failed(); }));
  EXPECT_EQ(client->failure().message, "the upstream asked for a renegotiation");
}

TEST_F(TlsOffence, KeyUpdatesAreAnsweredUpToABoundAndDataEarnsMore) {
  Witness client(world.sim.network, world.address(), plain_context(TLS_client_method()).get());
  const Stream::Pointer server = serve(client);
  const auto update = [&] {
    ASSERT_EQ(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client.ssl()), 1);
    client.flush();
    world.turn_for(Ms(20));
  };
  for (std::uint64_t i = 0; i < kFreeKeyUpdates; ++i) update();
  EXPECT_FALSE(server->failed());
  client.send("x");
  EXPECT_EQ(world.take_exactly(*server, 1).bytes, "x");
  ASSERT_EQ(write_text(*server, "y"), 1U);
  ASSERT_TRUE(world.turn_until([&] { return client.received == "y"; }));
  client.send(std::string(kBytesPerKeyUpdate - 1, 'z'));
  EXPECT_EQ(world.take_exactly(*server, kBytesPerKeyUpdate - 1).bytes.size(),
            kBytesPerKeyUpdate - 1);
  update();
  EXPECT_FALSE(server->failed());
  update();
  EXPECT_TRUE(server->failed());
  EXPECT_EQ(server->failure().message, "the client asked for key updates again and again");
  EXPECT_EQ(world.scratch.counts().key_update_floods, 1U);
}

TEST_F(TlsOffence, AFloodOfKeyUpdatesInOneGoIsCutShort) {
  Witness client(world.sim.network, world.address(), plain_context(TLS_client_method()).get());
  const Stream::Pointer server = serve(client);
  for (int i = 0; i < 1'000; ++i) {
    SSL_key_update(client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(client.ssl());
  }
  client.send("behind");
  const Taken taken = world.take_exactly(*server, 1);
  EXPECT_EQ(taken.bytes, "");
  EXPECT_EQ(taken.end, Kind::failed);
}

TEST_F(TlsOffence, EarlyDataIsNeitherOfferedNorAccepted) {
  world.server_side = server_context({.ticket_keys = std::make_shared<TicketKeys>()});
  const ContextPtr context = plain_context(TLS_client_method());
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  static SessionPtr ticket;
  SSL_CTX_sess_set_new_cb(context.get(), [](SSL*, SSL_SESSION* session) {
    ticket.reset(session);
    return 1;
  });
  {
    Witness client(world.sim.network, world.address(), context.get());
    const Stream::Pointer server = serve(client);
    ASSERT_TRUE(world.turn_until([&] { return ticket != nullptr; }));
    SSL_set_shutdown(client.ssl(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
  EXPECT_EQ(SSL_SESSION_get_max_early_data(ticket.get()), 0U);
  // A client that sends some all the same.
  SSL_SESSION_set_max_early_data(ticket.get(), 1'000);
  Witness client(world.sim.network, world.address(), context.get());
  client.drives = false;
  SSL_set_session(client.ssl(), ticket.get());
  std::size_t written = 0;
  ASSERT_EQ(SSL_write_early_data(client.ssl(), "early", 5, &written), 1);
  client.flush();
  client.drives = true;
  const Stream::Pointer server = serve(client);
  EXPECT_FALSE(server->failed()) << server->failure().message;
  EXPECT_EQ(SSL_get_early_data_status(client.ssl()), SSL_EARLY_DATA_REJECTED);
  EXPECT_EQ(take_all(*server).bytes, "");
  client.send("late");
  EXPECT_EQ(world.take_exactly(*server, 4).bytes, "late");
  ticket.reset();
}

}  // namespace
}  // namespace hushgate::tls
