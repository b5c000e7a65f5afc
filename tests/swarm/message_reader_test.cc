#include "tests/swarm/message_reader.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace hushgate::swarm {
namespace {

using Event = MessageReader::Event;
using State = MessageReader::State;

// What was told, without the start lines and the pieces of bodies; those are put together.
struct Story {
  std::vector<Event> events;
  std::string body;
};

Story read_in_pieces(MessageReader& reader, std::string_view bytes, std::size_t piece_bytes) {
  Story story;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    for (Event event = reader.read(piece); event != Event::none; event = reader.read(piece)) {
      story.body += reader.payload();
      if (event != Event::start_line && event != Event::body) story.events.push_back(event);
      if (event == Event::fault) return story;
    }
  }
  return story;
}

Story read(MessageReader& reader, std::string_view bytes) {
  return read_in_pieces(reader, bytes, bytes.size());
}

std::string fault_of(Role role, std::string_view bytes) {
  MessageReader reader(role);
  if (role == Role::response) reader.expect("GET");
  read(reader, bytes);
  return reader.fault();
}

TEST(MessageReader, ReadsARequestWithoutABody) {
  MessageReader reader(Role::request);
  const Story story = read(reader, "GET /a HTTP/1.1\r\nHost: b\r\nX-Empty:\r\n\r\n");
  EXPECT_EQ(story.events, (std::vector{Event::head, Event::end}));
  EXPECT_EQ(reader.method(), "GET");
  EXPECT_EQ(reader.target(), "/a");
  EXPECT_EQ(reader.field("host"), "b");
  EXPECT_EQ(reader.count("X-EMPTY"), 1U);
  EXPECT_EQ(reader.field("X-Empty"), "");
  EXPECT_EQ(reader.state(), State::start);
}

TEST(MessageReader, ReadsTheSameHoweverTheBytesCome) {
  constexpr std::string_view kTwo =
      "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\nA\r\n, 12345678\r\n0\r\nX-Trailer: yes\r\n\r\n"
      "PUT /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nend";
  for (std::size_t piece = 1; piece <= kTwo.size(); ++piece) {
    MessageReader reader(Role::request);
    const Story story = read_in_pieces(reader, kTwo, piece);
    EXPECT_EQ(story.events,
              (std::vector{Event::head, Event::trailer, Event::end, Event::head, Event::end}));
    EXPECT_EQ(story.body, "hello, 12345678end");
    EXPECT_EQ(reader.body_bytes(), 3U);
    EXPECT_EQ(reader.finish(), Event::none);
  }
}

TEST(MessageReader, TellsATrailersFieldsInsteadOfTheHeads) {
  MessageReader reader(Role::request);
  std::string_view bytes =
      "POST / HTTP/1.1\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nC: d\r\n\r\n";
  while (reader.read(bytes) != Event::trailer) {
  }
  EXPECT_EQ(reader.fields().size(), 1U);
  EXPECT_EQ(reader.field("C"), "d");
  EXPECT_EQ(reader.read(bytes), Event::end);
}

TEST(MessageReader, AResponseWithoutFramingLastsUntilTheConnectionEnds) {
  MessageReader reader(Role::response);
  reader.expect("GET");
  const Story story = read(reader, "HTTP/1.1 200 OK\r\n\r\nall of it");
  EXPECT_EQ(story.events, std::vector{Event::head});
  EXPECT_EQ(story.body, "all of it");
  EXPECT_TRUE(reader.until_eof());
  EXPECT_EQ(reader.finish(), Event::end);
  EXPECT_EQ(reader.state(), State::start);
}

TEST(MessageReader, ResponsesThatHaveNoBodyEndWithTheirHeads) {
  for (const std::string_view head :
       {"HTTP/1.1 204 \r\n\r\n", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n"}) {
    MessageReader reader(Role::response);
    reader.expect("GET");
    EXPECT_EQ(read(reader, head).events, (std::vector{Event::head, Event::end}));
  }
  MessageReader reader(Role::response);
  reader.expect("HEAD");
  const Story story = read(reader, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(story.events, (std::vector{Event::head, Event::end}));
}

TEST(MessageReader, InterimResponsesLeaveTheFinalOneDue) {
  MessageReader reader(Role::response);
  reader.expect("HEAD");
  reader.expect("GET");
  const Story story = read(reader,
                           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nA: b\r\n\r\n"
                           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(story.events, (std::vector{Event::head, Event::head, Event::head, Event::end,
                                       Event::head, Event::end}));
  EXPECT_EQ(story.body, "ok");
}

TEST(MessageReader, BehindA101AndASuccessToConnectIsATunnel) {
  for (const std::string_view head : {"HTTP/1.1 101 x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"}) {
    MessageReader reader(Role::response);
    reader.expect("CONNECT");
    const Story story = read(reader, std::string(head) + "HTTP/9.9 anything\n");
    EXPECT_EQ(story.events, std::vector{Event::head});
    EXPECT_EQ(story.body, "HTTP/9.9 anything\n");
    EXPECT_EQ(reader.state(), State::tunnel);
    EXPECT_EQ(reader.finish(), Event::end);
  }
}

TEST(MessageReader, AnEndInTheMiddleOfAMessageIsAFault) {
  for (const std::string_view begun :
       {"H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"}) {
    MessageReader reader(Role::response);
    reader.expect("GET");
    read(reader, begun);
    EXPECT_EQ(reader.fault(), "");
    EXPECT_NE(reader.state(), State::start);
    EXPECT_EQ(reader.finish(), Event::fault) << begun;
    EXPECT_EQ(reader.state(), State::faulty);
  }
}

TEST(MessageReader, RefusesRequestsThatAreNotExact) {
  using namespace std::string_view_literals;
  for (const std::string_view bytes : {
           "\r\nGET / HTTP/1.1\r\n\r\n"sv,
           "GET / HTTP/1.1\n"sv,
           "GET  / HTTP/1.1\r\n"sv,
           "GET / HTTP/1.1 \r\n"sv,
           "GET /\x7F HTTP/1.1\r\n"sv,
           "GET / HTTP/2.0\r\n"sv,
           "G(T / HTTP/1.1\r\n"sv,
           "GET /\r\n"sv,
           "GET / HTTP/1.1\r\nA : b\r\n"sv,
           "GET / HTTP/1.1\r\nA\r\n"sv,
           "GET / HTTP/1.1\r\n: b\r\n"sv,
           "GET / HTTP/1.1\r\nA: b\r\n c\r\n"sv,
           "GET / HTTP/1.1\r\nA: b\rc\r\n"sv,
           "GET / HTTP/1.1\r\nA: b\0c\r\n"sv,
           "GET / HTTP/1.1\r\nA: b\n"sv,
       }) {
    EXPECT_NE(fault_of(Role::request, bytes), "") << bytes;
  }
}

TEST(MessageReader, RefusesFramingThatCouldBeReadInTwoWays) {
  for (const std::string_view fields : {
           "Content-Length: 1\r\nContent-Length: 1\r\n",
           "Content-Length: 1\r\nContent-Length: 2\r\n",
           "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked, chunked\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: gzip\r\n",
           "Content-Length: +1\r\n",
           "Content-Length: 1, 1\r\n",
           "Content-Length:\r\n",
           "Content-Length: 99999999999999999999\r\n",
       }) {
    const std::string head = std::string(fields) + "\r\n";
    EXPECT_NE(fault_of(Role::request, "POST / HTTP/1.1\r\n" + head), "") << fields;
    EXPECT_NE(fault_of(Role::response, "HTTP/1.1 200 OK\r\n" + head), "") << fields;
  }
  EXPECT_NE(fault_of(Role::request, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
  EXPECT_NE(fault_of(Role::response, "HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n"), "");
  EXPECT_NE(fault_of(Role::response, "HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
}

TEST(MessageReader, RefusesChunksThatAreNotExact) {
  for (const std::string_view body : {
           "5g\r\n",
           "\r\n",
           "-1\r\n",
           "0x5\r\n",
           " 5\r\n",
           "5 \r\n",
           "5;a=b\r\n",
           "5\n",
           "1\rx\r\n",
           "0000000000000000005\r\n",
           "1\r\nab\r\n",
           "1\r\na\n",
           "0\r\nContent-Length: 5\r\n\r\n",
           "0\r\nTransfer-Encoding: chunked\r\n\r\n",
       }) {
    const std::string bytes =
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
    EXPECT_NE(fault_of(Role::request, bytes), "") << body;
  }
}

TEST(MessageReader, RefusesStatusLinesThatAreNotExact) {
  for (const std::string_view line :
       {"HTTP/1.1 200\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1  200 OK\r\n", "HTTP/1.1 abc OK\r\n",
        "HTTP/1.1 099 OK\r\n", "HTTP/1.1 600 OK\r\n", "HTTP/2.0 200 OK\r\n", "ICY 200 OK\r\n"}) {
    EXPECT_NE(fault_of(Role::response, line), "") << line;
  }
}

TEST(MessageReader, RefusesAResponseThatNobodyAskedFor) {
  MessageReader reader(Role::response);
  reader.expect("HEAD");
  read(reader, "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(reader.state(), State::faulty);
  std::string_view more = "HTTP/1.1 200 OK\r\n\r\n";
  EXPECT_EQ(reader.read(more), Event::fault);
}

TEST(MessageReader, RefusesALineWithoutAnEnd) {
  EXPECT_NE(fault_of(Role::request, std::string(100'000, 'a')), "");
}

}  // namespace
}  // namespace hushgate::swarm
