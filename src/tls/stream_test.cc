#include "tls/stream.h"

#include <cerrno>

#include "tls/testing.h"

namespace hushgate::tls {
namespace {

using Kind = io::Take::Kind;

class TlsStream : public testing::TestWithParam<std::uint64_t> {
 protected:
  World world{GetParam()};
  Sessions sessions{client_context()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, TlsStream, testing::Range<std::uint64_t>(1, 7));

TEST_P(TlsStream, BothEndsAgreeAndAreWritable) {
  const Ends ends = world.pair(sessions);
  EXPECT_FALSE(ends.client->connecting());
  EXPECT_FALSE(ends.client->failed()) << ends.client->failure().message;
  EXPECT_FALSE(ends.server->failed()) << ends.server->failure().message;
  EXPECT_TRUE(ends.client->writable());
  EXPECT_TRUE(ends.server->writable());
  EXPECT_EQ(ends.client->version(), "TLSv1.3");
  EXPECT_EQ(ends.server->server_name(), "api.example.com");
  EXPECT_FALSE(ends.client->half_closes());
  EXPECT_EQ(ends.client->peer(), world.address());
  EXPECT_EQ(world.scratch.counts().accepted_full, 1U);
  EXPECT_EQ(world.scratch.counts().connected_full, 1U);
}

TEST_P(TlsStream, WhatIsWrittenComesBackFromAnEcho) {
  for (const std::size_t size : {1UL, 100UL, 16'384UL, 16'385UL, 70'000UL, 1'000'000UL}) {
    const Ends ends = world.pair(sessions);
    std::string waiting;
    world.server_owner.body = [&] {
      waiting += take_all(*ends.server).bytes;
      while (!waiting.empty() && ends.server->writable()) {
        const auto accepted = write_text(*ends.server, waiting);
        ASSERT_TRUE(accepted.has_value());
        waiting.erase(0, *accepted);
      }
    };
    const std::string sent = bytes_of(size);
    std::size_t written = 0;
    std::string got;
    world.client_owner.body = [&] {
      while (written < sent.size() && ends.client->writable()) {
        const auto accepted = write_text(*ends.client, std::string_view(sent).substr(written));
        ASSERT_TRUE(accepted.has_value());
        written += *accepted;
      }
      got += take_all(*ends.client).bytes;
    };
    world.client_owner.body();
    ASSERT_TRUE(world.turn_until([&] { return got.size() == sent.size(); }, 50'000)) << size;
    EXPECT_TRUE(got == sent);
    EXPECT_TRUE(world.turn_until([&] { return ends.client->unacknowledged() == 0; }));
    world.server_owner.body = world.client_owner.body = nullptr;
  }
}

TEST_P(TlsStream, CloseNotifyIsAFinAndWhatTheTransportDoesBehindItIsNoNews) {
  Ends ends = world.pair(sessions);
  ASSERT_EQ(write_text(*ends.client, "bye"), 3U);
  io::close(std::move(ends.client), io::CloseHow::fin);
  const Taken taken = world.take_exactly(*ends.server, 4);
  EXPECT_EQ(taken.bytes, "bye");
  EXPECT_EQ(taken.end, Kind::fin);
  EXPECT_TRUE(ends.server->peer_finished());
  EXPECT_FALSE(ends.server->failed());
  world.turn_for(Ms(100));
  EXPECT_EQ(ends.server->take().kind, Kind::fin);
  EXPECT_FALSE(ends.server->failed());
  EXPECT_EQ(ends.server->failure().kind, FailureKind::none);
}

// A client of OpenSSL's own, to end in ways that a Stream does not.
struct Raw {
  Stream::Pointer server;
  std::unique_ptr<Witness> client;
};
Raw raw_client(World& world, SSL_CTX* context = nullptr) {
  const ContextPtr usual(SSL_CTX_new(TLS_client_method()));
  Raw raw;
  raw.client = std::make_unique<Witness>(world.sim.network, world.address(),
                                         context != nullptr ? context : usual.get());
  EXPECT_TRUE(world.turn_until([&] {
    if (!raw.server) raw.server = world.accepted();
    return raw.server && !raw.server->handshaking() && raw.client->done();
  }));
  EXPECT_FALSE(raw.server->failed()) << raw.server->failure().message;
  return raw;
}

TEST_P(TlsStream, AFinWithoutCloseNotifyIsACut) {
  const Raw raw = raw_client(world);
  raw.client->send("half a resp");
  raw.client->peer().finish();
  const Taken taken = world.take_exactly(*raw.server, 12);
  EXPECT_EQ(taken.bytes, "half a resp");
  EXPECT_EQ(taken.end, Kind::failed);
  EXPECT_EQ(taken.os_error, ECONNRESET);
  EXPECT_TRUE(raw.server->failed());
  EXPECT_EQ(raw.server->error(), ECONNRESET);
  EXPECT_EQ(raw.server->failure().kind, FailureKind::cut);
  EXPECT_EQ(raw.server->failure().message, "the client ended the connection without close_notify");
  EXPECT_EQ(raw.server->take().kind, Kind::failed);
}

TEST_P(TlsStream, AFinWithinARecordIsACut) {
  const Raw raw = raw_client(world);
  SSL_write(raw.client->ssl(), "never seen", 10);
  char* bytes = nullptr;
  BIO* const out = SSL_get_wbio(raw.client->ssl());
  const long size = BIO_get_mem_data(out, &bytes);
  raw.client->peer().send({bytes, static_cast<std::size_t>(size - 1)});
  (void)BIO_reset(out);
  raw.client->peer().finish();
  const Taken taken = world.take_exactly(*raw.server, 12);
  EXPECT_EQ(taken.bytes, "");
  EXPECT_EQ(taken.end, Kind::failed);
  EXPECT_EQ(raw.server->failure().kind, FailureKind::cut);
}

TEST_P(TlsStream, ACutIsSeenWithoutTaking) {
  const Raw raw = raw_client(world);
  world.turn_for(Ms(50));
  const int runs = world.server_owner.runs;
  raw.client->peer().finish();
  ASSERT_TRUE(world.turn_until([&] { return raw.server->failed(); }));
  EXPECT_GT(world.server_owner.runs, runs);
}

TEST_P(TlsStream, AResetIsSeenWithoutTaking) {
  const Raw raw = raw_client(world);
  raw.client->peer().reset();
  ASSERT_TRUE(world.turn_until([&] { return raw.server->failed(); }));
  EXPECT_EQ(raw.server->error(), ECONNRESET);
  EXPECT_EQ(take_all(*raw.server).end, Kind::failed);
  EXPECT_FALSE(write_text(*raw.server, "x").has_value());
}

TEST_P(TlsStream, CloseNotifyIsSeenWithoutTakingAndWithoutAFin) {
  const Raw raw = raw_client(world);
  world.turn_for(Ms(50));
  const int runs = world.server_owner.runs;
  SSL_shutdown(raw.client->ssl());
  raw.client->flush();
  ASSERT_TRUE(world.turn_until([&] { return raw.server->peer_finished(); }));
  EXPECT_GT(world.server_owner.runs, runs);
  EXPECT_FALSE(raw.server->failed());
  EXPECT_EQ(raw.server->take().kind, Kind::fin);
}

TEST_P(TlsStream, AResetBehindCloseNotifyIsNoNews) {
  const Raw raw = raw_client(world);
  SSL_shutdown(raw.client->ssl());
  raw.client->flush();
  ASSERT_TRUE(world.turn_until([&] { return raw.server->peer_finished(); }));
  const int runs = world.server_owner.runs;
  raw.client->peer().reset();
  world.turn_for(Ms(50));
  EXPECT_EQ(raw.server->take().kind, Kind::fin);
  EXPECT_FALSE(raw.server->failed());
  EXPECT_EQ(world.server_owner.runs, runs);
  EXPECT_FALSE(write_text(*raw.server, "nobody").has_value());
  EXPECT_TRUE(raw.server->failed());
  EXPECT_EQ(raw.server->take().kind, Kind::fin);
}

TEST_P(TlsStream, AResetOfWhatWasWrittenBehindCloseNotifyIsNews) {
  const Raw raw = raw_client(world);
  SSL_shutdown(raw.client->ssl());
  raw.client->flush();
  ASSERT_TRUE(world.turn_until([&] { return raw.server->peer_finished(); }));
  EXPECT_EQ(write_text(*raw.server, "answer"), 6U);
  ASSERT_TRUE(world.turn_until([&] { return raw.client->received == "answer"; }));
  const int runs = world.server_owner.runs;
  raw.client->peer().reset();
  ASSERT_TRUE(world.turn_until([&] { return raw.server->failed(); }));
  EXPECT_EQ(raw.server->error(), ECONNRESET);
  EXPECT_GT(world.server_owner.runs, runs);
  EXPECT_EQ(raw.server->take().kind, Kind::fin);
}

TEST_P(TlsStream, ADamagedRecordIsAFailureThatThePeerIsToldOf) {
  const Raw raw = raw_client(world);
  raw.client->send("good");
  ASSERT_EQ(world.take_exactly(*raw.server, 4).bytes, "good");
  SSL_write(raw.client->ssl(), "bad", 3);
  char* bytes = nullptr;
  BIO* const out = SSL_get_wbio(raw.client->ssl());
  const long size = BIO_get_mem_data(out, &bytes);
  bytes[size - 1] = static_cast<char>(bytes[size - 1] ^ 1);
  raw.client->flush();
  const Taken taken = world.take_exactly(*raw.server, 1);
  EXPECT_EQ(taken.bytes, "");
  EXPECT_EQ(taken.end, Kind::failed);
  EXPECT_EQ(raw.server->failure().kind, FailureKind::protocol);
  EXPECT_EQ(raw.server->failure().message, "a record was damaged on its way (bad MAC)");
  EXPECT_TRUE(world.turn_until([&] { return raw.client->error == SSL_ERROR_SSL; }));
}

TEST_P(TlsStream, BytesThatNobodyTakesAreHeldWithinBoundsAndNothingIsLost) {
  Ends ends = world.pair(sessions);
  std::size_t sent = 0;
  for (int i = 0; i < 400; ++i) {
    if (ends.client->writable()) sent += *write_text(*ends.client, bytes_of(10'000, sent));
    world.turn_for(Ms(1));
  }
  EXPECT_FALSE(ends.client->writable());
  EXPECT_EQ(write_text(*ends.client, "x"), 0U);
  EXPECT_LT(sent, 400'000U);
  EXPECT_TRUE(ends.server->readable());
  EXPECT_GE(ends.server->untaken(), 65'536U);
  EXPECT_GT(ends.client->unacknowledged(), 0U);
  EXPECT_LE(ends.client->unacknowledged(), sent);
  std::string got;
  EXPECT_TRUE(world.turn_until([&] {
    got += take_all(*ends.server).bytes;
    return got.size() == sent && ends.client->writable();
  }));
  EXPECT_TRUE(got == bytes_of(sent));
  EXPECT_TRUE(world.turn_until([&] { return ends.client->unacknowledged() == 0; }));
  EXPECT_FALSE(ends.server->readable());
}

TEST_P(TlsStream, AcknowledgedBytesOnlyGrow) {
  const Ends ends = world.pair(sessions);
  std::size_t accepted = 0;
  std::size_t acknowledged = 0;
  std::size_t size = 1;
  for (int i = 0; i < 600; ++i) {
    size = size * 7 % 20'011;
    if (ends.client->writable()) accepted += *write_text(*ends.client, bytes_of(size, accepted));
    if (i % 3 == 0) take_all(*ends.server);
    world.turn_for(Ms(1));
    const std::size_t open = ends.client->unacknowledged();
    ASSERT_LE(open, accepted);
    ASSERT_GE(accepted - open, acknowledged);
    acknowledged = accepted - open;
  }
  EXPECT_TRUE(world.turn_until([&] {
    take_all(*ends.server);
    return ends.client->unacknowledged() == 0;
  }));
}

TEST_P(TlsStream, ClosingInOrderDeliversAllThatWasAccepted) {
  Ends ends = world.pair(sessions);
  std::size_t sent = 0;
  while (ends.client->writable()) sent += *write_text(*ends.client, bytes_of(50'000, sent));
  io::close(std::move(ends.client), io::CloseHow::fin);
  const Taken taken = world.take_exactly(*ends.server, sent + 1);
  EXPECT_TRUE(taken.bytes == bytes_of(sent));
  EXPECT_EQ(taken.end, Kind::fin);
}

TEST_P(TlsStream, ClosingInOrderGivesUpAfterAWhile) {
  Ends ends = world.pair(sessions);
  while (ends.client->writable()) {
    ASSERT_TRUE(write_text(*ends.client, bytes_of(50'000)).has_value());
    world.turn_for(Ms(20));
  }
  io::close(std::move(ends.client), io::CloseHow::fin);
  world.turn_for(kFinishTime - Ms(1'000));
  EXPECT_FALSE(ends.server->failed());
  world.turn_for(Ms(2'000));
  EXPECT_TRUE(ends.server->failed());
}

TEST_P(TlsStream, AWorkerThatEndsTakesClosedStreamsWithIt) {
  Ends ends = world.pair(sessions);
  while (ends.client->writable()) {
    ASSERT_TRUE(write_text(*ends.client, bytes_of(50'000)).has_value());
    world.turn_for(Ms(20));
  }
  io::close(std::move(ends.client), io::CloseHow::fin);
}

TEST_P(TlsStream, FinishWritingComesBehindAllThatWasAcceptedAndReadingGoesOn) {
  const Ends ends = world.pair(sessions);
  std::size_t sent = 0;
  while (ends.client->writable()) sent += *write_text(*ends.client, bytes_of(50'000, sent));
  ends.client->finish_writing();
  const Taken taken = world.take_exactly(*ends.server, sent + 1);
  EXPECT_TRUE(taken.bytes == bytes_of(sent));
  EXPECT_EQ(taken.end, Kind::fin);
  ASSERT_EQ(write_text(*ends.server, "answer"), 6U);
  EXPECT_EQ(world.take_exactly(*ends.client, 6).bytes, "answer");
  EXPECT_FALSE(ends.client->peer_finished());
}

TEST_P(TlsStream, SmallPiecesBecomeOneRecordAndLargeOnesFullRecords) {
  const Raw raw = raw_client(world);
  std::vector<std::size_t> records;
  SSL_set_msg_callback(raw.client->ssl(), [](int writes, int, int type, const void* bytes,
                                             std::size_t, SSL*, void* out) {
    if (writes != 0 || type != SSL3_RT_HEADER) return;
    const auto* const header = static_cast<const unsigned char*>(bytes);
    if (header[0] != SSL3_RT_APPLICATION_DATA) return;
    static_cast<std::vector<std::size_t>*>(out)->push_back(
        (static_cast<std::size_t>(header[3]) << 8U) + header[4]);
  });
  SSL_set_msg_callback_arg(raw.client->ssl(), &records);
  constexpr std::size_t kCost = 17;  // of TLS 1.3 with AEAD: the type and the tag
  const std::string head = bytes_of(300);
  const std::string body = bytes_of(1'000, 300);
  const std::string end = bytes_of(5, 1'300);
  const std::array small{as_bytes(head), Bytes{}, as_bytes(body), as_bytes(end)};
  ASSERT_EQ(raw.server->write(small), 1'305U);
  ASSERT_TRUE(world.turn_until([&] { return raw.client->received.size() == 1'305; }));
  EXPECT_TRUE(raw.client->received == bytes_of(1'305));
  EXPECT_EQ(records, (std::vector<std::size_t>{1'305 + kCost}));
  records.clear();
  raw.client->received.clear();
  const std::string large = bytes_of(40'000, 300);
  const std::string tail = bytes_of(2, 40'300);
  const std::array mixed{as_bytes(head), as_bytes(large), as_bytes(tail)};
  std::size_t accepted = *raw.server->write(mixed);
  ASSERT_EQ(accepted, 40'302U);
  ASSERT_TRUE(world.turn_until([&] { return raw.client->received.size() == accepted; }));
  EXPECT_TRUE(raw.client->received == bytes_of(40'302));
  EXPECT_EQ(records, (std::vector<std::size_t>{16'384 + kCost, 16'384 + kCost, 7'534 + kCost}));
}

TEST_P(TlsStream, TicketsOnAnIdleStreamAreQuiet) {
  world.server_side = server_context({.ticket_keys = std::make_shared<TicketKeys>()});
  const Ends ends = world.pair(sessions);
  EXPECT_TRUE(ends.client->still_quiet());
  const Taken taken = take_all(*ends.client);
  EXPECT_EQ(taken.bytes, "");
  EXPECT_EQ(taken.end, Kind::nothing);
  world.turn_for(Ms(50));
  EXPECT_FALSE(ends.client->readable());
  EXPECT_TRUE(ends.client->still_quiet());
  EXPECT_EQ(sessions.size(), 2U);
  // Behind a ticket there may be something else.
  ASSERT_EQ(write_text(*ends.server, "late"), 4U);
  world.sim.network.run_for(Ms(20));
  EXPECT_FALSE(ends.client->still_quiet());
  EXPECT_FALSE(ends.client->still_quiet());
  EXPECT_EQ(world.take_exactly(*ends.client, 4).bytes, "late");
  EXPECT_TRUE(ends.client->still_quiet());
  io::Stream& server = *ends.server;
  server.finish_writing();
  world.sim.network.run_for(Ms(20));
  EXPECT_FALSE(ends.client->still_quiet());
}

TEST_P(TlsStream, ARecordThatHasBegunIsNotQuiet) {
  const Raw raw = raw_client(world);
  ASSERT_TRUE(raw.server->still_quiet());
  SSL_write(raw.client->ssl(), "x", 1);
  char* bytes = nullptr;
  BIO* const out = SSL_get_wbio(raw.client->ssl());
  const auto size = static_cast<std::size_t>(BIO_get_mem_data(out, &bytes));
  const std::string record(bytes, size);
  (void)BIO_reset(out);
  std::size_t sent = 0;
  for (const std::size_t part : {std::size_t{1}, std::size_t{4}, std::size_t{1}}) {
    raw.client->peer().send(std::string_view(record).substr(sent, part));
    sent += part;
    world.turn_for(Ms(20));
    EXPECT_FALSE(raw.server->still_quiet()) << sent;
    EXPECT_FALSE(raw.server->readable());
  }
  raw.client->peer().send(std::string_view(record).substr(sent));
  EXPECT_EQ(world.take_exactly(*raw.server, 1).bytes, "x");
  EXPECT_TRUE(raw.server->still_quiet());
}

TEST_P(TlsStream, TheFirstRequestMayComeWithTheHandshakesEnd) {
  const ContextPtr context(SSL_CTX_new(TLS_client_method()));
  Raw raw;
  raw.client = std::make_unique<Witness>(world.sim.network, world.address(), context.get());
  raw.client->drives = false;
  ASSERT_TRUE(world.turn_until([&] {
    if (!raw.server) raw.server = world.accepted();
    if (SSL_do_handshake(raw.client->ssl()) != 1) raw.client->flush();
    return raw.client->done();
  }));
  raw.client->send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(world.take_exactly(*raw.server, 18).bytes, "GET / HTTP/1.1\r\n\r\n");
}

TEST_P(TlsStream, AnOwnerThatClosesWithinItsRunIsSafe) {
  Ends ends = world.pair(sessions);
  world.server_owner.body = [&] {
    if (ends.server && ends.server->readable()) ends.server.reset();
  };
  ASSERT_TRUE(write_text(*ends.client, "go").has_value());
  ASSERT_TRUE(world.turn_until([&] { return ends.server == nullptr; }));
  ASSERT_TRUE(world.turn_until([&] { return ends.client->failed(); }));
}

TEST_P(TlsStream, ClosingWithHeldPlaintextResetsThePeer) {
  Ends ends = world.pair(sessions);
  ASSERT_TRUE(write_text(*ends.client, "never read").has_value());
  ASSERT_TRUE(world.turn_until([&] { return ends.server->readable(); }));
  io::close(std::move(ends.server), io::CloseHow::fin);
  ASSERT_TRUE(world.turn_until([&] { return ends.client->failed(); }));
  EXPECT_EQ(ends.client->error(), ECONNRESET);
}

}  // namespace
}  // namespace hushgate::tls
