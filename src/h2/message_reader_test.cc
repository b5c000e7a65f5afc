#include "h2/message_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hushgate::h2 {
namespace {

using http::Method;
using http::ScanRole;
using Event = MessageReader::Event;
using State = MessageReader::State;

// What comes of a text that is handed in in pieces, as one line: heads by their first word, data
// joined, "end" with the trailers' names.
std::string events_of(MessageReader& reader, std::string_view text, std::size_t step) {
  std::string events;
  std::size_t at = 0;
  for (;;) {
    const Bytes in = as_bytes(text.substr(at, step));
    const MessageReader::Step got = reader.read(in);
    EXPECT_LE(got.consumed, in.size());
    at += got.consumed;
    switch (got.event) {
      case Event::none:
        if (at == text.size()) return events;
        EXPECT_EQ(got.consumed, in.size());
        continue;
      case Event::request: events.append("request ").append(reader.request().target); break;
      case Event::response: events += "response " + std::to_string(reader.response().status); break;
      case Event::data:
        EXPECT_FALSE(got.data.empty());
        events += as_text(got.data);
        continue;
      case Event::end:
        events += "|end";
        for (const http::Field& field : reader.trailers()) events.append(" ").append(field.name);
        break;
    }
    if (got.event != Event::end) events += reader.bodyless() ? " bodyless|" : "|";
  }
}

void expect_events(ScanRole role, Method asked, std::string_view text, std::string_view expected,
                   State state) {
  for (std::size_t step = 1; step <= text.size(); ++step) {
    MessageReader reader(role, asked);
    EXPECT_EQ(events_of(reader, text, step), expected) << "in pieces of " << step;
    EXPECT_EQ(reader.state(), state) << "in pieces of " << step;
  }
}

TEST(MessageReader, ReadsRequestsHoweverTheyAreCut) {
  expect_events(ScanRole::request, Method::other, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
                "request /x bodyless||end", State::ended);
  expect_events(ScanRole::request, Method::other,
                "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                "request /x bodyless||end", State::ended);
  expect_events(ScanRole::request, Method::other,
                "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
                "request /x|hello|end", State::ended);
  expect_events(ScanRole::request, Method::other,
                "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 7\r\n\r\n",
                "request /x|hello world|end X-Sum", State::ended);
  expect_events(ScanRole::request, Method::other,
                "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "request /x||end", State::ended);
}

TEST(MessageReader, ReadsResponsesHoweverTheyAreCut) {
  expect_events(ScanRole::response, Method::get,
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "response 200|hello|end",
                State::ended);
  expect_events(ScanRole::response, Method::get, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                "response 200 bodyless||end", State::ended);
  expect_events(ScanRole::response, Method::head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                "response 200 bodyless||end", State::ended);
  expect_events(ScanRole::response, Method::get, "HTTP/1.1 204 No Content\r\n\r\n",
                "response 204 bodyless||end", State::ended);
  expect_events(ScanRole::response, Method::get,
                "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
                "response 304 bodyless||end", State::ended);
  expect_events(ScanRole::response, Method::get,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n"
                "0\r\nGrpc-Status: 0\r\nX: y\r\n\r\n",
                "response 200|ab|end Grpc-Status X", State::ended);
}

TEST(MessageReader, ReadsInterimResponsesBeforeTheFinalOne) {
  expect_events(ScanRole::response, Method::get,
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                "response 100|response 103|response 200|hi|end", State::ended);
  MessageReader reader(ScanRole::response, Method::get);
  EXPECT_EQ(events_of(reader, "HTTP/1.1 100 Continue\r\n\r\n", 100), "response 100|");
  EXPECT_EQ(reader.state(), State::head);
}

TEST(MessageReader, ASwitchedProtocolIsATunnel) {
  expect_events(ScanRole::response, Method::get,
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "\r\nHTTP/1.1 200",
                "response 101|HTTP/1.1 200", State::tunnel);
  expect_events(ScanRole::response, Method::connect,
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and on",
                "response 200|hello and on", State::tunnel);
  expect_events(ScanRole::response, Method::connect,
                "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "response 403|no|end",
                State::ended);
}

TEST(MessageReader, ARequestForATunnelHasNoEndAndNoBytesBeforeItIsAgreedTo) {
  for (const std::string_view text :
       {"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"}) {
    MessageReader reader(ScanRole::request, Method::other);
    EXPECT_EQ(reader.read(as_bytes(text)).event, Event::request);
    EXPECT_EQ(reader.state(), State::asked);
    EXPECT_FALSE(reader.bodyless());
    EXPECT_EQ(reader.read({}).event, Event::none);
    EXPECT_EQ(reader.state(), State::asked);
    reader.become_tunnel();
    EXPECT_EQ(events_of(reader, "whatever\r\n\r\n", 3), "whatever\r\n\r\n");
    EXPECT_EQ(reader.state(), State::tunnel);
    reader.become_tunnel();
    EXPECT_EQ(reader.state(), State::tunnel);

    MessageReader early(ScanRole::request, Method::other);
    EXPECT_EQ(early.read(as_bytes(text)).event, Event::request);
    EXPECT_EQ(early.read(as_bytes("x")).event, Event::none);
    EXPECT_EQ(early.state(), State::broken);
  }
}

TEST(MessageReader, AnUpgradeThatCannotBeAskedForIsAnOrdinaryRequest) {
  expect_events(ScanRole::request, Method::other,
                "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: Upgrade\r\n"
                "Upgrade: websocket\r\n\r\nhello",
                "request /x|hello|end", State::ended);
}

TEST(MessageReader, NothingFollowsTheEnd) {
  MessageReader reader(ScanRole::response, Method::get);
  EXPECT_EQ(events_of(reader, "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 100),
            "response 204 bodyless||end");
  EXPECT_EQ(reader.read(as_bytes("more")).consumed, 4U);
  EXPECT_EQ(reader.state(), State::ended);
}

TEST(MessageReader, IsBrokenByWhatIsNoMessage) {
  const std::pair<ScanRole, std::string_view> texts[] = {
      {ScanRole::request, "GET / HTTP/1.1\r\n\r\n"},
      {ScanRole::request, "GET / HTTP/1.1\nHost: a\r\n\r\n"},
      {ScanRole::request, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"},
      {ScanRole::response, "HTTP/1.1 999 No\r\n\r\n"},
      {ScanRole::response, "HTTP/1.1 200 OK\r\n\r\nuntil the end"},
      {ScanRole::response, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
  };
  for (const auto& [role, text] : texts) {
    MessageReader reader(role, Method::other);
    const std::string events = events_of(reader, text, text.size());
    EXPECT_EQ(reader.state(), State::broken) << text;
    EXPECT_EQ(events.find("end"), std::string::npos) << events;
    EXPECT_EQ(reader.read(as_bytes("more")).consumed, 4U);
    EXPECT_EQ(reader.state(), State::broken);
  }
}

TEST(MessageReader, ACutBodyHasNoEnd) {
  for (const std::string_view text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r"}) {
    MessageReader reader(ScanRole::response, Method::get);
    EXPECT_EQ(events_of(reader, text, text.size()), "response 200|hello");
    EXPECT_EQ(reader.state(), State::body);
  }
}

TEST(MessageReader, AHeadInOnePieceIsLookedAtWhereItLies) {
  MessageReader reader(ScanRole::request, Method::other);
  const std::string text = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(reader.read(as_bytes(text)).event, Event::request);
  const std::string_view target = reader.request().target;
  EXPECT_EQ(target.data(), text.data() + 4);
}

TEST(MessageReader, BeginsAnewByAssignment) {
  MessageReader reader(ScanRole::response, Method::other);
  EXPECT_EQ(reader.read(as_bytes("HTTP/1.1 2")).event, Event::none);
  reader = MessageReader(ScanRole::response, Method::head);
  EXPECT_EQ(events_of(reader, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 7),
            "response 200 bodyless||end");
}

}  // namespace
}  // namespace hushgate::h2
