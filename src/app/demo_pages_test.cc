#include "app/demo_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "app/demo_chat.h"
#include "config/json.h"
#include "http/parser.h"

namespace hushgate::app {
namespace {

using testing::HasSubstr;
using testing::Not;

class DemoPagesTest : public testing::Test {
 protected:
  DemoReply ask(const std::string& request_line, std::string_view body = {},
                const std::string& fields = {}) {
    const std::string bytes = request_line + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    http::RequestHead head;
    EXPECT_TRUE(http::parse_request_head(bytes, head)) << request_line;
    last_id_ = pages_.ledger().begin(head, now_);
    return pages_.answer({.head = head,
                          .body = body.substr(0, kMaxDemoBodyBytes),
                          .body_bytes = body.size(),
                          .unix_s = 1'700'000'000},
                         last_id_, now_);
  }
  std::string body(const std::string& request_line, std::string_view body = {}) {
    return ask(request_line, body).steps.front().text;
  }
  std::uint16_t status(const std::string& request_line, std::string_view body = {}) {
    return ask(request_line, body).status;
  }

  Time now_{};
  std::uint64_t last_id_ = 0;
  DemoPages pages_{DemoTiming{}};
};

constexpr const char* kChat = "POST /v1/chat/completions";

bool is_json(std::string_view text) { return config::parse_json(text).faults.empty(); }

// The JSON of each event; "[DONE]" stays as it is.
std::vector<std::string> events_of(const DemoReply& reply) {
  std::string all;
  for (const DemoStep& step : reply.steps) all += step.text;
  std::vector<std::string> events;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find("\n\n", at);
    EXPECT_NE(end, std::string::npos);
    EXPECT_EQ(all.substr(at, 6), "data: ");
    events.push_back(all.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return events;
}

TEST_F(DemoPagesTest, AStreamThinksFirstThenSpeaksTwelveTokensAndSaysDone) {
  const DemoReply reply = ask(kChat, R"({"model":"m","stream":true,"messages":[]})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "text/event-stream");
  ASSERT_EQ(reply.steps.size(), 12U);
  EXPECT_EQ(reply.steps[0].after, Ms{3'000});
  for (std::size_t i = 1; i < 12; ++i) EXPECT_EQ(reply.steps[i].after, Ms{150});

  const auto events = events_of(reply);
  ASSERT_EQ(events.size(), 15U);  // role, tokens, finish, [DONE]
  EXPECT_EQ(events.back(), "[DONE]");
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_TRUE(is_json(events[i])) << events[i];
    EXPECT_THAT(events[i], HasSubstr(R"("object":"chat.completion.chunk","created":1700000000,)"
                                     R"("model":"m")"));
  }
  EXPECT_THAT(events[0], HasSubstr(R"("delta":{"role":"assistant","content":""})"));
  EXPECT_THAT(events[1], HasSubstr(R"("delta":{"content":"Silence"},"logprobs":null,)"
                                   R"("finish_reason":null)"));
  EXPECT_THAT(events[13], HasSubstr(R"("delta":{},"logprobs":null,"finish_reason":"stop")"));
}

TEST_F(DemoPagesTest, AStreamTellsItsUsageWhenAsked) {
  const auto events = events_of(ask(kChat, R"({"stream":true,"stream_options":{"include_usage":)"
                                           R"(true},"messages":[{"content":"a b"}]})"));
  ASSERT_EQ(events.size(), 16U);
  EXPECT_TRUE(is_json(events[14]));
  EXPECT_THAT(events[14], HasSubstr(R"("choices":[],"usage":{"prompt_tokens":2,)"
                                    R"("completion_tokens":12,"total_tokens":14})"));
}

TEST_F(DemoPagesTest, AWholeCompletionIsOneObject) {
  const DemoReply reply = ask(kChat, R"({"messages":[]})");
  ASSERT_EQ(reply.steps.size(), 1U);
  EXPECT_EQ(reply.steps[0].after, Ms{3'000});
  const std::string& text = reply.steps[0].text;
  EXPECT_TRUE(is_json(text)) << text;
  EXPECT_THAT(text, HasSubstr(R"("object":"chat.completion",)"));
  EXPECT_THAT(text,
              HasSubstr("Silence is not failure: somebody was thinking, and nobody hung up."));
  EXPECT_THAT(text, HasSubstr(R"("finish_reason":"stop")"));
  EXPECT_THAT(text, HasSubstr(R"("usage":{)"));
}

TEST_F(DemoPagesTest, TheThinkingTimeIsTakenFromTheQueryThenTheFieldThenTheDefault) {
  const std::string chat = R"({"messages":[]})";
  const auto think = [&](const std::string& query, const std::string& fields) {
    return ask(kChat + query, chat, fields).steps.front().after;
  };
  EXPECT_EQ(think("?think=0", ""), Ms{0});
  EXPECT_EQ(think("?a=1&think=2.5&think=9", "X-Demo-Think: 4\r\n"), Ms{2'500});
  EXPECT_EQ(think("", "X-Demo-Think: 4\r\n"), Ms{4'000});
  EXPECT_EQ(think("?thinking=9", ""), Ms{3'000});
  EXPECT_EQ(think("?think=600", ""), Ms{600'000});
  EXPECT_EQ(status(std::string(kChat) + "?think=601", chat), 400);
  EXPECT_EQ(status(std::string(kChat) + "?think", chat), 400);
}

TEST_F(DemoPagesTest, WhatIsNoChatRequestIsRefusedInTheShapeThatSdksRead) {
  for (const auto& [body_text, code] : std::initializer_list<std::pair<std::string, int>>{
           {"", 400}, {"{}", 400}, {std::string(kMaxDemoBodyBytes + 1, ' '), 413}}) {
    const DemoReply reply = ask(kChat, body_text);
    EXPECT_EQ(reply.status, code);
    EXPECT_TRUE(is_json(reply.steps.front().text));
    EXPECT_THAT(reply.steps.front().text, HasSubstr(R"({"error":{"message":")"));
  }
  EXPECT_EQ(status("GET /v1/chat/completions"), 405);
}

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
  for (const char* page :
       {"/v1/chat/completions", "/echo", "/slow", "/count", "/events", "/items/{n}"}) {
    EXPECT_THAT(text, HasSubstr(page));
  }
  EXPECT_EQ(status("GET /nowhere"), 404);
  EXPECT_EQ(ask("DELETE /").fields, "Allow: GET, HEAD\r\n");
}

}  // namespace
}  // namespace hushgate::app
