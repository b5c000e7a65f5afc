#include "app/demo_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "app/demo_bytes.h"
#include "app/demo_pages_testing.h"

namespace hushgate::app {
namespace {

using ::testing::HasSubstr;
using testing::is_json;
using ::testing::Not;

class DemoPagesTest : public testing::DemoPagesTest {};

TEST(DemoReply, SecondsAreDecimalsUpToTenMinutes) {
  for (const auto& [text, ms] :
       std::initializer_list<std::pair<const char*, std::optional<std::int64_t>>>{
           {"0", 0},
           {"20", 20'000},
           {"0.5", 500},
           {"1.234", 1'234},
           {"600", 600'000},
           {"600.0", 600'000},
           {"600.001", {}},
           {"601", {}},
           {"", {}},
           {".5", {}},
           {"1.", {}},
           {"1.2345", {}},
           {"-1", {}},
           {"+1", {}},
           {"1e3", {}},
           {"1.2.3", {}},
           {" 1", {}},
           {"99999999999", {}}}) {
    const auto parsed = parse_seconds(text);
    EXPECT_EQ(parsed.has_value(), ms.has_value()) << text;
    if (parsed && ms) EXPECT_EQ(parsed->count(), *ms) << text;
  }
}

TEST(DemoReply, AQueryIsSearchedByWholeNames) {
  EXPECT_EQ(query_value("?a=1&b=2", "b"), "2");
  EXPECT_EQ(query_value("?a=1&b", "b"), "");
  EXPECT_EQ(query_value("?a=b=c", "a"), "b=c");
  EXPECT_EQ(query_value("?ab=1", "b"), std::nullopt);
  EXPECT_EQ(query_value("?&&=1&", "a"), std::nullopt);
  EXPECT_EQ(query_value("", "a"), std::nullopt);
}

TEST_F(DemoPagesTest, EchoShowsWhatArrived) {
  const DemoReply reply = ask("PATCH /echo?x=%22", "h\"i", "X-A: 1\r\nX-A: gr\xFC\r\n");
  EXPECT_EQ(reply.steps.front().text,
            R"({"method":"PATCH","path":"/echo?x=%22","fields":[["Host","a"],["X-A","1"],)"
            "[\"X-A\",\"gr\xC3\xBC\"]],\"body_bytes\":3,\"body\":\"h\\\"i\"}\n");
}

TEST_F(DemoPagesTest, EchoGivesBackTheFirst64KibibytesAndCountsTheRest) {
  for (const std::size_t size : {65'535UL, 65'536UL, 65'537UL, kMaxDemoBodyBytes + 1}) {
    const std::string text = body("POST /echo", std::string(size, 'x'));
    EXPECT_THAT(text, HasSubstr("\"body_bytes\":" + std::to_string(size) + ","));
    const std::size_t shown = std::min<std::size_t>(size, 65'536);
    EXPECT_THAT(text, HasSubstr('"' + std::string(shown, 'x') + '"'));
  }
}

TEST_F(DemoPagesTest, SlowIsSilentForAsLongAsItIsAsked) {
  const DemoReply reply = ask("GET /slow?seconds=2.5");
  ASSERT_EQ(reply.steps.size(), 1U);
  EXPECT_EQ(reply.steps[0].after, Ms{2'500});
  EXPECT_EQ(reply.steps[0].text, "silent for 2.5 s\n");
  EXPECT_EQ(ask("GET /slow").steps[0].after, Ms{1'000});
  EXPECT_EQ(status("GET /slow?seconds=x"), 400);
  EXPECT_EQ(status("POST /slow"), 405);
}

TEST_F(DemoPagesTest, LookingAtTheCountsChangesNothing) {
  EXPECT_EQ(body("GET /count"), "{\"total\":0}\n");
  ask("POST /echo");
  ask("GET /events");
  ask("PURGE /echo");
  ask("GET /nowhere");
  EXPECT_EQ(body("GET /count"), "{\"GET\":1,\"POST\":1,\"other\":1,\"total\":3}\n");
  EXPECT_EQ(body("GET /count"), "{\"GET\":1,\"POST\":1,\"other\":1,\"total\":3}\n");
}

TEST_F(DemoPagesTest, BytesAreAsManyAsAsked) {
  for (const auto& [line, count] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"GET /bytes/0", 0},
           {"HEAD /bytes/17", 17},
           {"GET /bytes/1099511627776", 1ULL << 40U}}) {
    const DemoReply reply = ask(line);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.play, DemoPlay::numbered);
    EXPECT_EQ(reply.numbered_bytes, count);
  }
  for (const char* line : {"GET /bytes/", "GET /bytes/x", "GET /bytes/1099511627777"}) {
    EXPECT_EQ(status(line), 400) << line;
  }
  EXPECT_EQ(status("POST /bytes/1"), 405);
}

TEST(DemoBytes, EveryLineSaysWhereItIsHoweverTheyAreCut) {
  std::string whole;
  write_numbered(0, 160, whole);
  EXPECT_EQ(whole.substr(0, 48), "000000000000000\n000000000000016\n000000000000032\n");
  for (std::size_t piece = 1; piece < 40; ++piece) {
    std::string cut;
    for (std::size_t at = 0; at < 160; at += piece) {
      write_numbered(at, std::min<std::size_t>(piece, 160 - at), cut);
    }
    EXPECT_EQ(cut, whole) << piece;
  }
  std::string last;
  write_numbered(kMaxDemoBytes - 16, 16, last);
  EXPECT_EQ(last, "001099511627760\n");
}

TEST_F(DemoPagesTest, AnUploadIsCountedAndSummed) {
  const std::string text = R"({"bytes":3,"sha1":"a9993e364706816aba3e25717850c26c9cd0d89d"})";
  EXPECT_EQ(body("PUT /upload", "abc"), text + '\n');
  EXPECT_EQ(body("POST /upload", "abc"), text + '\n');
  EXPECT_EQ(status("GET /upload"), 405);
}

TEST_F(DemoPagesTest, OnlyTheMortalCanBeToldToDie) {
  EXPECT_EQ(status("POST /die"), 404);
  EXPECT_EQ(status("GET /drop"), 404);
  manner_ = DemoManner::mortal;
  EXPECT_EQ(ask("GET /drop").play, DemoPlay::drop);
  EXPECT_EQ(ask("POST /die").play, DemoPlay::die);
  EXPECT_EQ(ask("POST /die").away, Ms{3'000});
  EXPECT_EQ(ask("POST /die?for=0.5").away, Ms{500});
  EXPECT_EQ(status("POST /die?for=ever"), 400);
  EXPECT_EQ(status("GET /die"), 405);
}

TEST_F(DemoPagesTest, TheTourIsShownOnceThereIsOne) {
  pages_.set_tour("try this\n");
  EXPECT_EQ(body("GET /tour"), "try this\n");
  EXPECT_EQ(body("GET /count"), "{\"total\":0}\n");
}

TEST_F(DemoPagesTest, EventsShowWhatBecameOfARequest) {
  ask("POST /slow?seconds=9");
  const std::uint64_t cancelled = last_id_;
  now_ += Ms{2'000};
  const DemoEvent* event = pages_.ledger().end(cancelled, DemoOutcome::cancelled, now_);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->to_string(), "POST /slow?seconds=9 cancelled after 2.0 s");
  ask("GET /echo");
  now_ += Ms{500};
  const std::string text = body("GET /events");
  EXPECT_TRUE(is_json(text)) << text;
  EXPECT_THAT(text, HasSubstr(R"("target":"/slow?seconds=9","outcome":"cancelled","ms":2000})"));
  EXPECT_THAT(text, HasSubstr(R"("target":"/echo","outcome":"serving","ms":500})"));
}

TEST_F(DemoPagesTest, TheOldestEventIsForgottenWhenThereAreAHundred) {
  ask("GET /first");
  const std::uint64_t first = last_id_;
  for (std::size_t i = 1; i < kMaxDemoEvents; ++i) ask("GET /more");
  EXPECT_THAT(body("GET /events"), HasSubstr("/first"));
  ask("GET /one-too-many");
  EXPECT_THAT(body("GET /events"), Not(HasSubstr("/first")));
  EXPECT_EQ(pages_.ledger().end(first, DemoOutcome::answered, now_), nullptr);
}

TEST_F(DemoPagesTest, ItemsAreMadeReadReplacedAndRemoved) {
  EXPECT_EQ(body("GET /items"), "[]\n");
  const DemoReply made = ask("POST /items", R"({ "name": "x" })");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.fields, "Location: /items/1\r\n");
  EXPECT_EQ(made.steps.front().text, "{\"id\":1,\"item\":{\"name\":\"x\"}}\n");
  EXPECT_EQ(status("POST /items", "[2]"), 201);
  EXPECT_EQ(body("PUT /items/1", "null"), "{\"id\":1,\"item\":null}\n");
  EXPECT_EQ(body("GET /items/1"), "{\"id\":1,\"item\":null}\n");
  EXPECT_EQ(body("GET /items"), "[{\"id\":1,\"item\":null},{\"id\":2,\"item\":[2]}]\n");
  const DemoReply removed = ask("DELETE /items/2");
  EXPECT_EQ(removed.status, 204);
  EXPECT_EQ(removed.steps.front().text, "");
  EXPECT_EQ(status("GET /items/2"), 404);
  EXPECT_EQ(ask("POST /items", "3").fields, "Location: /items/3\r\n") << "an id is never reused";
}

TEST_F(DemoPagesTest, ItemsThatCannotBeAreRefused) {
  EXPECT_EQ(status("POST /items", "{"), 400);
  EXPECT_EQ(status("POST /items", std::string(kMaxDemoBodyBytes + 1, ' ')), 413);
  EXPECT_EQ(status("PATCH /items"), 405);
  EXPECT_EQ(status("POST /items", "1"), 201);
  EXPECT_EQ(status("POST /items/1", "1"), 405);
  EXPECT_EQ(status("PUT /items/1", "{"), 400);
  for (const char* line :
       {"GET /items/", "GET /items/0", "GET /items/1/", "GET /items/-1", "GET /items/x",
        "PUT /items/2", "GET /items/99999999999999999999", "GET /itemsx"}) {
    EXPECT_EQ(status(line, "1"), 404) << line;
  }
}

TEST_F(DemoPagesTest, AnItemHasABoundAndSoHaveAllItems) {
  EXPECT_EQ(status("POST /items", '"' + std::string(4'093, 'x') + '"'), 201);
  EXPECT_EQ(status("POST /items", '"' + std::string(4'094, 'x') + '"'), 201);
  EXPECT_EQ(status("POST /items", '"' + std::string(4'095, 'x') + '"'), 413);
  for (std::size_t i = 2; i < kMaxDemoItems; ++i) EXPECT_EQ(status("POST /items", "0"), 201);
  EXPECT_EQ(status("POST /items", "0"), 507);
  EXPECT_EQ(status("DELETE /items/7"), 204);
  EXPECT_EQ(status("POST /items", "0"), 201);
}

TEST_F(DemoPagesTest, TheFirstPageListsTheOthers) {
  const std::string text = body("GET /");
  for (const char* page : {"/v1/chat/completions", "/v1/messages", "/v1/models", "/echo", "/slow",
                           "/count", "/events", "/tour", "/items/{n}", "/bytes/{n}", "/upload",
                           "/ws", "/closing/", "/mortal/die", "/mortal/drop"}) {
    EXPECT_THAT(text, HasSubstr(page));
  }
  EXPECT_EQ(status("GET /nowhere"), 404);
  EXPECT_EQ(ask("DELETE /").fields, "Allow: GET, HEAD\r\n");
}

}  // namespace
}  // namespace hushgate::app
