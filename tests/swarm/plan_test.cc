#include "tests/swarm/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/swarm/draw.h"
#include "tests/swarm/message_reader.h"
#include "tests/swarm/response.h"

namespace hushgate::swarm {
namespace {

using Event = MessageReader::Event;

// All of a message, as the reader has it.
struct Read {
  std::string body;
  bool trailer = false;
  bool ended = false;
  std::string fault;
};

Read read(MessageReader& reader, std::string_view bytes) {
  Read result;
  for (Event event = reader.read(bytes); event != Event::none; event = reader.read(bytes)) {
    result.body += reader.payload();
    result.trailer |= event == Event::trailer;
    result.ended |= event == Event::end;
    result.fault = reader.fault();
    if (event == Event::fault) break;
  }
  return result;
}

Read read_request(std::string_view bytes) {
  MessageReader reader(Role::request);
  return read(reader, bytes);
}

constexpr std::array kBodies = {
    Body{},
    Body{.shape = BodyShape::length, .bytes = 0},
    Body{.shape = BodyShape::length, .bytes = 100},
    Body{.shape = BodyShape::chunked, .bytes = 0, .trailers = true},
    Body{.shape = BodyShape::chunked, .bytes = 100, .chunk_bytes = 1},
    Body{.shape = BodyShape::chunked, .bytes = 100, .chunk_bytes = 16, .trailers = true},
    Body{.shape = BodyShape::chunked, .bytes = 96, .chunk_bytes = 16},
    Body{.shape = BodyShape::chunked, .bytes = 600, .chunk_bytes = 300},
};

TEST(Plan, ARequestIsReadAsItIsMeant) {
  for (const Body& body : kBodies) {
    const Ask ask{.id = 17, .method = "POST", .upstream = 2, .body = body, .keyed = true};
    const RawAsk raw = raw_of(ask);
    EXPECT_EQ(raw.bytes.substr(0, raw.head_bytes).find("\r\n\r\n"), raw.head_bytes - 4);
    MessageReader reader(Role::request);
    const Read result = read(reader, raw.bytes);
    EXPECT_EQ(result.fault, "");
    EXPECT_TRUE(result.ended);
    EXPECT_EQ(result.body, body_piece(request_key(ask), 0, body.bytes));
    EXPECT_EQ(result.trailer, body.trailers);
    EXPECT_EQ(reader.target(), "/u2/r17");
    EXPECT_EQ(id_of(reader.target()), 17U);
  }
}

TEST(Plan, ARequestSaysWhatItIsToSay) {
  const Ask ask{.id = 1,
                .http10 = true,
                .expects = true,
                .upgrades = true,
                .keyed = true,
                .says_close = true};
  const std::string raw = raw_of(ask).bytes;
  for (const std::string_view part :
       {"GET /u0/r1 HTTP/1.0\r\n", "Host: swarm\r\n", "Expect: 100-continue\r\n",
        "Connection: upgrade\r\nUpgrade: echo\r\n", "Idempotency-Key: key-1\r\n",
        "Connection: close\r\n"}) {
    EXPECT_TRUE(raw.contains(part)) << part;
  }
}

// The reader knows of framing and of lines only; what else is wrong is looked for by hand.
TEST(Plan, EveryFaultIsInTheBytes) {
  struct Row {
    Fault fault;
    std::string_view sign;
    bool reader_objects;
  };
  using namespace std::string_view_literals;
  constexpr std::array kRows = {
      Row{Fault::two_lengths, "Content-Length: 9\r\nContent-Length: 10\r\n", true},
      Row{Fault::two_equal_lengths, "Content-Length: 9\r\nContent-Length: 9\r\n", true},
      Row{Fault::length_and_chunked, "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n", true},
      Row{Fault::bare_lf, "X-Bare: lf\nT", true},
      Row{Fault::obs_fold, "one\r\n two\r\n", true},
      Row{Fault::nul, "a\0b"sv, true},
      Row{Fault::space_before_colon, "X-Space : a\r\n", true},
      Row{Fault::chunked_not_last, "Transfer-Encoding: chunked, gzip\r\n", true},
      Row{Fault::unknown_coding, "Transfer-Encoding: gzip\r\n", true},
      Row{Fault::no_host, "HTTP/1.1\r\nT", false},
      Row{Fault::two_hosts, "Host: swarm\r\nHost: other\r\n", false},
      Row{Fault::http10_chunked, "HTTP/1.0\r\nHost: swarm\r\nTransfer-Encoding: chunked\r\n", true},
      Row{Fault::bad_version, " HTTP/3.0\r\n", true},
      Row{Fault::garbage, "\x16\x03\x01", true},
      Row{Fault::bad_chunk_size, "\r\n5g\r\n", true},
      Row{Fault::chunk_without_lf, "\r\n1\rx", true},
  };
  static_assert(kRows.size() == static_cast<std::size_t>(Fault::chunk_without_lf));
  for (const Row& row : kRows) {
    const Ask ask{.id = 1,
                  .method = "POST",
                  .body = {.shape = BodyShape::chunked, .bytes = 9, .chunk_bytes = 4},
                  .fault = row.fault};
    const RawAsk raw = raw_of(ask);
    EXPECT_TRUE(raw.bytes.contains(row.sign)) << row.sign;
    EXPECT_EQ(!read_request(raw.bytes).fault.empty(), row.reader_objects) << row.sign;
    const bool in_head = row.fault <= Fault::last_in_head;
    EXPECT_EQ(raw.bytes.find(row.sign) < raw.head_bytes - 4, in_head) << row.sign;
  }
}

TEST(Plan, AFaultInABodyComesBehindAllOfIt) {
  for (const Fault fault : {Fault::bad_chunk_size, Fault::chunk_without_lf}) {
    const Ask ask{.id = 1,
                  .method = "POST",
                  .body = {.shape = BodyShape::chunked, .bytes = 9, .chunk_bytes = 4},
                  .fault = fault};
    const Read result = read_request(raw_of(ask).bytes);
    EXPECT_EQ(result.body, body_piece(request_key(ask), 0, 9));
    EXPECT_FALSE(result.ended);
  }
}

TEST(Plan, PayloadWithinIsWhatTheReaderHasGotByThen) {
  constexpr std::string_view kHead = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const Body& body : kBodies) {
    const std::string raw = framed(body, 5);
    for (std::size_t bytes = 0; bytes <= raw.size(); ++bytes) {
      std::size_t expected = std::min(bytes, body.bytes);
      if (body.shape == BodyShape::chunked) {
        expected = read_request(std::string(kHead) + raw.substr(0, bytes)).body.size();
      }
      EXPECT_EQ(payload_within(body, bytes), expected) << body.chunk_bytes << ", " << bytes;
    }
  }
}

TEST(Plan, PiecesOfABodyFitTogether) {
  const std::string whole = body_piece(3, 0, 100);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    EXPECT_EQ(body_byte(3, at), whole[at]);
    EXPECT_EQ(body_piece(3, at, 100 - at), whole.substr(at));
    EXPECT_TRUE(is_body_piece(3, at, std::string_view(whole).substr(at)));
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_FALSE(is_body_piece(3, 0, other));
  }
  EXPECT_NE(body_piece(3, 0, 16), body_piece(4, 0, 16));
  EXPECT_NE(body_piece(3, 0, 16), body_piece(3, 8, 16));
}

TEST(Plan, NamesAreReadBackOnlyIfTheyAreExact) {
  EXPECT_EQ(id_of("/u0/r4294967295"), 4'294'967'295U);
  for (const std::string_view text : {"", "/", "/u0", "/u0/r", "/u/r1", "/u0/r1/", "/u0/r1x",
                                      "/u0/r4294967296", "/r1", "u0/r1"}) {
    EXPECT_EQ(id_of(text), std::nullopt) << text;
  }
  const AnswerName name{.id = 12, .number = 2};
  EXPECT_EQ(answer_named(answer_name(name)), name);
  for (const std::string_view text : {"", "12", "12.", ".2", "12.2 ", "stray"}) {
    EXPECT_EQ(answer_named(text), std::nullopt) << text;
  }
}

TEST(Plan, AResponseIsReadAsItIsMeant) {
  for (const Body& body : kBodies) {
    const Ask ask{.id = 4};
    const Answer answer{.interims = 2, .status = 201, .body = body};
    const RawResponse raw = response_to(ask, 1, answer, Keeping::open);
    MessageReader reader(Role::response);
    reader.expect("GET");
    const Read result = read(reader, raw.bytes);
    EXPECT_EQ(result.fault, "");
    EXPECT_TRUE(result.ended);
    EXPECT_EQ(result.body, body_piece(answer_key(4, 1), 0, body.bytes));
    EXPECT_EQ(raw.bytes.substr(raw.interim_bytes + raw.head_bytes), framed(body, answer_key(4, 1)));
    EXPECT_EQ(reader.status(), 201);
  }
}

TEST(Plan, WhatIsNoProperAnswerCannotBeRead) {
  for (const auto manner : {Answer::Manner::nonsense, Answer::Manner::ambiguous}) {
    for (std::uint32_t id = 0; id < 8; ++id) {
      const Ask ask{.id = id};
      MessageReader reader(Role::response);
      reader.expect("GET");
      const std::string bytes = response_to(ask, 0, {.manner = manner}, Keeping::open).bytes;
      EXPECT_NE(read(reader, bytes).fault, "") << bytes;
    }
  }
}

TEST(Plan, AStrayAnswerCanBeRead) {
  MessageReader reader(Role::response);
  reader.expect("GET");
  reader.expect("GET");
  const Read result = read(reader, stray_piece(120));
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.body.substr(0, 5), "stray");
}

TEST(Draw, IsTheSameForTheSameSeed) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const Plan first = draw(seed);
    const Plan second = draw(seed);
    ASSERT_EQ(first.clients.size(), second.clients.size());
    for (std::size_t i = 0; i < first.clients.size(); ++i) {
      EXPECT_EQ(first.clients[i].start, second.clients[i].start);
      ASSERT_EQ(first.clients[i].asks.size(), second.clients[i].asks.size());
      for (std::size_t k = 0; k < first.clients[i].asks.size(); ++k) {
        EXPECT_EQ(raw_of(first.clients[i].asks[k]).bytes, raw_of(second.clients[i].asks[k]).bytes);
      }
    }
  }
}

TEST(Draw, EveryAskHasAnIdOfItsOwn) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    std::uint32_t last = 0;
    for (const ClientPlan& client : draw(seed).clients) {
      for (const Ask& ask : client.asks) {
        EXPECT_GT(ask.id, last);
        last = ask.id;
      }
    }
  }
}

// Only the last ask of a client may upgrade: what follows it is the tunnel's.
TEST(Draw, NothingIsAskedBehindAnUpgrade) {
  for (std::uint64_t seed = 1; seed < 500; ++seed) {
    for (const ClientPlan& client : draw(seed).clients) {
      for (std::size_t i = 0; i + 1 < client.asks.size(); ++i) {
        EXPECT_FALSE(client.asks[i].upgrades) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace hushgate::swarm
