// Faults that were found in HTTP/2, each as the situation in which it showed.
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

std::string path_of(std::size_t i) {
  return std::string("/").append(1, static_cast<char>('a' + i));
}

// A frame that the wire had no room for was asked for again when its stream's owner was gone, and
// its memory another's.
TEST(H2Found, StreamsThatEndWhileTheWireIsFullLeaveTheOthersBytesWhole) {
  constexpr std::size_t kStreams = 12;
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.answer(stream, 200, std::string(300'000, stream.path().at(1)));
    };
  };
  H2Peer::Manner wide;
  wide.window = 1'000'000;
  for (std::size_t gone = 0; gone < kStreams; ++gone) {
    H2Peer& client = world.connect(wide);
    client.grant(0, 10'000'000);
    client.party().reads = false;
    for (std::size_t i = 0; i < kStreams; ++i) client.ask(get(path_of(i)));
    world.run_for(seconds(1));
    for (std::size_t i = 0; i < kStreams; ++i) {
      if (i % kStreams >= gone) client.reset(client.nth(i).id, Code::cancel);
    }
    world.run_for(seconds(1));
    H2Peer& other = world.connect();  // takes what memory has become free
    H2Stream& theirs = other.ask(get("/z"));
    world.run_for(seconds(1));
    client.party().read_on();
    ASSERT_TRUE(world.run_while_not(
        [&] {
          for (std::size_t i = 0; i < gone; ++i) {
            if (!client.nth(i).ended) return false;
          }
          return theirs.ended;
        },
        minutes(1)));
    for (std::size_t i = 0; i < gone; ++i) {
      EXPECT_EQ(client.nth(i).body, std::string(300'000, static_cast<char>('a' + i)));
    }
    EXPECT_EQ(theirs.body, std::string(300'000, 'z'));
    EXPECT_TRUE(client.goaways().empty());
  }
}

// The same when it is the upstream that ends them.
TEST(H2Found, AttemptsThatFailWhileTheWireIsFullLeaveTheOthersBytesWhole) {
  constexpr std::size_t kStreams = 12;
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.headers(stream.id, {{":status", "200"}}, Last::no);
      it.data(stream.id, std::string(300'000, stream.path().at(1)), Last::no);
    };
  };
  H2Peer::Manner wide;
  wide.window = 1'000'000;
  H2Peer& client = world.connect(wide);
  client.grant(0, 10'000'000);
  client.party().reads = false;
  for (std::size_t i = 0; i < kStreams; ++i) client.ask(get(path_of(i)));
  world.run_for(seconds(1));
  for (std::size_t i = 0; i < kStreams; i += 2) {
    auto [up, stream] = world.find(path_of(i));
    up->reset(stream->id, Code::internal_error);
  }
  world.run_for(seconds(1));
  client.party().read_on();
  world.run_for(seconds(5));
  for (std::size_t i = 0; i < kStreams; ++i) {
    const std::string whole(300'000, static_cast<char>('a' + i));
    if (i % 2 == 1) {
      EXPECT_EQ(client.nth(i).body, whole);
      continue;
    }
    EXPECT_TRUE(client.nth(i).reset.has_value());
    EXPECT_TRUE(whole.starts_with(client.nth(i).body));
  }
  EXPECT_TRUE(client.goaways().empty());
}

// Nobody was told that a connection had ended with its first bytes: it was counted for ever.
TEST(H2Found, AConnectionThatEndsWithItsFirstBytesIsForgotten) {
  H2World world({}, {.clients = Speaks::http1});
  for (const bool rude : {false, true}) {
    for (const std::string_view bytes :
         {"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff"}) {
      Party& party = world.open();
      party.send(bytes);
      rude ? party.reset() : party.close();
      world.run_for(seconds(1));
      EXPECT_EQ(world.gateway->session_count(), 0U) << bytes;
    }
  }
}

// Streams beyond the limit were refused without a count for as long as the client did not read.
TEST(H2Found, RefusalsAreCountedThoughTheClientDoesNotRead) {
  H2World world;
  H2Peer& client = world.connect();
  client.party().reads = false;
  std::string text;
  const std::string block = client.pack(get());
  for (std::uint32_t i = 0; i < 128 + 1'000; ++i) {
    text += Frame{FrameType::headers, kEndHeaders | kEndStream, 2 * i + 1, block}.text();
  }
  client.raw(text);
  ASSERT_TRUE(world.run_while_not([&] { return world.count(Counter::h2_floods) > 0; }, seconds(5)));
}

// A stream more than the client was known to be told of is refused, with what it goes on to send.
TEST(H2Found, TheBodyOfARefusedStreamIsNoFault) {
  H2World world([](config::Config& config) { config.limits.max_streams = 2; });
  H2Peer& client = world.connect();
  for (std::size_t i = 0; i < 4; ++i) {
    H2Stream& stream = client.ask(request("POST", path_of(i)), Last::no);
    client.data(stream.id, "hello", Last::yes);
  }
  world.settle();
  EXPECT_TRUE(client.goaways().empty());
  ASSERT_EQ(world.up(0).count(), 2U);
  for (auto& [id, stream] : world.up(0).streams()) world.up(0).answer(stream, 200, "ok");
  world.settle();
  for (std::size_t i = 0; i < 4; ++i) {
    if (i < 2) EXPECT_EQ(client.nth(i).body, "ok");
    if (i >= 2) EXPECT_EQ(client.nth(i).reset, Code::refused_stream);
  }
  EXPECT_TRUE(client.goaways().empty());
}

// Behind our last GOAWAY a client's stream is ignored, and so is its body.
TEST(H2Found, AStreamBehindTheLastGoAwayCutsNoOther) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& runs = post(client, "/runs", "hello");
  world.settle();
  world.gateway->stop([] {});
  ASSERT_TRUE(world.run_while_not([&] { return client.goaways().size() == 2; }, minutes(1)));
  H2Stream& late = client.ask(request("POST", "/late"), Last::no);
  client.data(late.id, "hello", Last::yes);
  world.settle();
  auto [up, stream] = world.find("/runs");
  ASSERT_NE(up, nullptr);
  up->answer(*stream, 200, "ok");
  world.settle();
  EXPECT_EQ(runs.body, "ok");
  EXPECT_EQ(world.find("/late").first, nullptr);
  for (const H2Peer::GoAway& said : client.goaways()) EXPECT_EQ(said.code, Code::no_error);
}

// Interim responses have no window: until they are taken, they wait.
TEST(H2Found, InterimResponsesWithoutEndFailTheirAttemptOnly) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      if (stream.path() == "/good") return it.answer(stream, 200, "ok");
      std::string text;
      const std::string block = it.pack({{":status", "103"}, {"link", std::string(3'000, 'x')}});
      for (int i = 0; i < 5'000; ++i) {
        text += Frame{FrameType::headers, kEndHeaders, stream.id, block}.text();
      }
      it.raw(text);
    };
  };
  H2Peer& client = world.connect();
  H2Stream& flooded = client.ask(get("/flooded"));
  H2Stream& good = client.ask(get("/good"));
  world.run_for(seconds(2));
  EXPECT_EQ(flooded.status(), 502);
  EXPECT_LE(flooded.interims.size(), 32U);
  EXPECT_EQ(world.find("/flooded").second->reset, Code::enhance_your_calm);
  EXPECT_EQ(good.body, "ok");
  EXPECT_EQ(world.upstream.count(), 1U);
}

// An upstream that says its limits and leaves at once was dialed without a pause.
TEST(H2Found, AnUpstreamThatLeavesAtOnceIsNotDialedAgainAndAgain) {
  H2World world;
  world.upstream_manner.extended_connect = true;
  world.on_upstream = [](H2Peer& peer) { peer.go_away(0); };
  H2Peer& client = world.connect();
  H2Stream& chat = client.ask({{":method", "CONNECT"},
                               {":protocol", "websocket"},
                               {":scheme", "http"},
                               {":path", "/chat"},
                               {":authority", "a.test"},
                               {"sec-websocket-version", "13"}},
                              Last::no);
  H2Stream& plain = client.ask(get("/plain"));
  world.run_for(seconds(5));
  EXPECT_GE(chat.status(), 500);
  EXPECT_GE(plain.status(), 500);
  EXPECT_LE(world.upstream.count(), 12U);
}

// A whole response whose END_STREAM is a frame of its own is no reason for a CANCEL.
TEST(H2Found, AWholeResponseIsNotCancelledWhileItsEndIsOnTheWay) {
  H2World world;
  world.on_upstream = [](H2Peer& peer) {
    peer.on_message = [](H2Peer& it, H2Stream& stream) {
      it.headers(stream.id, {{":status", "200"}, {"content-length", "2"}}, Last::no);
      it.data(stream.id, "ok", Last::no);
    };
  };
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get("/x"));
  world.settle();
  EXPECT_EQ(stream.body, "ok");
  EXPECT_TRUE(stream.ended);
  auto [up, asked] = world.find("/x");
  EXPECT_FALSE(asked->reset.has_value());
  up->data(asked->id, "", Last::yes);
  world.run_for(seconds(3));
  EXPECT_FALSE(asked->reset.has_value());
  H2Stream& next = client.ask(get("/y"));
  world.run_for(seconds(3));  // its end never comes
  EXPECT_EQ(next.body, "ok");
  EXPECT_EQ(world.find("/y").second->reset, Code::cancel);
}

// A stream that had ended, and whose exchange had not taken its end yet, was counted as one that
// the upstream allows beside another: the next connections were given one too many, which was
// refused.
TEST(H2Found, AStreamThatHasEndedSaysNothingOfWhatItsUpstreamAllows) {
  H2World world;
  world.upstream_manner.max_streams = 1;
  H2Peer& client = world.connect();
  for (int i = 0; i < 3; ++i) {
    post(client, "/" + std::to_string(i), "hello");
    world.settle();
    auto [up, asked] = world.find("/" + std::to_string(i));
    ASSERT_NE(up, nullptr);
    up->answer(*asked, 200, "ok");
    world.settle();
  }
  for (int i = 0; i < 10; ++i) post(client, "/more" + std::to_string(i), "hello");
  world.run_for(seconds(1));
  for (H2Peer* const up : world.ups) EXPECT_LE(up->open_count(), 1U);
  EXPECT_GE(world.ups.size(), 10U);
}

// A malformed response is not the loss of a connection, and no reason to send a request again.
TEST(H2Found, AMalformedResponseIsToldAsSuchAndItsRequestIsSentOnce) {
  const Fields malformed[] = {{{":status", "200"}, {"connection", "close"}},
                              {{":status", "2x0"}},
                              {{"no-status", "1"}},
                              {{":status", "200"}, {"content-length", "x"}},
                              {{":status", "200"}, {":status", "201"}}};
  for (const Fields& fields : malformed) {
    SCOPED_TRACE(fields.back().first + ": " + fields.back().second);
    H2World world;
    world.on_upstream = [&](H2Peer& peer) {
      peer.on_message = [&](H2Peer& it, H2Stream& stream) {
        it.headers(stream.id, fields, Last::yes);
      };
    };
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(get("/x"));
    world.run_for(seconds(1));
    EXPECT_EQ(stream.status(), 502);
    EXPECT_NE(stream.body.find("http_protocol_error"), std::string::npos) << stream.body;
    ASSERT_EQ(world.upstream.count(), 1U);
    EXPECT_EQ(world.up(0).count(), 1U);
    EXPECT_TRUE(client.goaways().empty());
  }
}

// An upstream that ignores an Upgrade with 200 has agreed to nothing; in HTTP/2 it would have.
TEST(H2Found, AnIgnoredUpgradeIsNotTakenForAnAgreedConnect) {
  H2World world({}, {.upstreams = Speaks::http1});
  H2Peer& client = world.connect();
  H2Stream& chat = client.ask({{":method", "CONNECT"},
                               {":protocol", "websocket"},
                               {":scheme", "http"},
                               {":path", "/chat"},
                               {":authority", "a.test"},
                               {"sec-websocket-version", "13"}},
                              Last::no);
  world.settle();
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.parties[0]->send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>");
  world.run_for(seconds(1));
  EXPECT_EQ(chat.status(), 502);
  EXPECT_EQ(chat.body.find("<html>"), std::string::npos);
}

// A head that no HEADERS of ours may hold left its place among the connection's streams taken.
TEST(H2Found, AHeadThatIsTooLargeToSendCostsNoPlace) {
  H2World world([](config::Config& config) { config.limits.max_header_bytes = 4'000'000; },
                {.clients = Speaks::http1});
  world.upstream_manner.max_streams = 2;
  world.answer_all();
  for (int i = 0; i < 4; ++i) {
    Party& party = world.open();
    party.send("GET /large HTTP/1.1\r\nHost: a\r\nX: " + std::string(2'000'000, 'x') + "\r\n\r\n");
    world.run_for(seconds(5));
    EXPECT_GE(party.status(), 500);
    EXPECT_EQ(world.find("/large").first, nullptr);
  }
  std::vector<Party*> parties;
  for (int i = 0; i < 2; ++i) {
    parties.push_back(&world.open());
    parties.back()->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  world.run_for(seconds(1));
  for (Party* const party : parties) EXPECT_EQ(party->status(), 200);
}

}  // namespace
}  // namespace hushgate::sim
