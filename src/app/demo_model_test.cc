// The model APIs of the demo's upstream.
#include "app/demo_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "app/demo_pages_testing.h"

namespace hushgate::app {
namespace {

using ::testing::HasSubstr;
using testing::is_json;

class DemoModelTest : public testing::DemoPagesTest {};

constexpr const char* kChat = "POST /v1/chat/completions";

std::size_t tokens_of(const DemoReply& reply) {
  std::size_t tokens = 0;
  for (const DemoStep& step : reply.steps) tokens += step.tokens;
  return tokens;
}

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

TEST_F(DemoModelTest, AStreamThinksFirstThenSpeaksTwelveTokensAndSaysDone) {
  const DemoReply reply = ask(kChat, R"({"model":"m","stream":true,"messages":[]})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "text/event-stream");
  ASSERT_EQ(reply.steps.size(), 13U);  // tokens, end
  EXPECT_EQ(tokens_of(reply), 12U);
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

TEST_F(DemoModelTest, AStreamTellsItsUsageWhenAsked) {
  const auto events = events_of(ask(kChat, R"({"stream":true,"stream_options":{"include_usage":)"
                                           R"(true},"messages":[{"content":"a b"}]})"));
  ASSERT_EQ(events.size(), 16U);
  EXPECT_TRUE(is_json(events[14]));
  EXPECT_THAT(events[14], HasSubstr(R"("choices":[],"usage":{"prompt_tokens":2,)"
                                    R"("completion_tokens":12,"total_tokens":14})"));
}

TEST_F(DemoModelTest, AWholeCompletionIsOneObject) {
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

TEST_F(DemoModelTest, TheThinkingTimeIsTakenFromTheQueryThenTheFieldThenTheDefault) {
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

TEST_F(DemoModelTest, WhatIsNoChatRequestIsRefusedInTheShapeThatSdksRead) {
  for (const auto& [body_text, code] : std::initializer_list<std::pair<std::string, int>>{
           {"", 400}, {"{}", 400}, {std::string(kMaxDemoBodyBytes + 1, ' '), 413}}) {
    const DemoReply reply = ask(kChat, body_text);
    EXPECT_EQ(reply.status, code);
    EXPECT_TRUE(is_json(reply.steps.front().text));
    EXPECT_THAT(reply.steps.front().text, HasSubstr(R"({"error":{"message":")"));
  }
  EXPECT_EQ(status("GET /v1/chat/completions"), 405);
}

TEST_F(DemoModelTest, AModelSpeaksAsManyTokensAsItIsAsked) {
  const std::string chat = R"({"stream":true,"messages":[]})";
  for (const char* page : {"POST /v1/chat/completions", "POST /v1/messages"}) {
    EXPECT_EQ(tokens_of(ask(page + std::string("?tokens=1"), chat)), 1U);
    EXPECT_EQ(tokens_of(ask(page + std::string("?think=1&tokens=1000"), chat)), 1'000U);
    EXPECT_EQ(tokens_of(ask(page + std::string("?tokens=99"), R"({"messages":[]})")), 99U);
    for (const char* count : {"0", "1001", "", "x", "-1"}) {
      EXPECT_EQ(status(page + std::string("?tokens=") + count, chat), 400) << count;
    }
  }
  EXPECT_EQ(demo_text(13).substr(demo_text(11).size()), ". Silence");
}

constexpr const char* kMessages = "POST /v1/messages";

TEST_F(DemoModelTest, AStreamOfMessagesBeginsAtOnceAndThinksInside) {
  const DemoReply reply = ask(kMessages, R"({"model":"m","stream":true,"messages":[]})");
  EXPECT_EQ(reply.content_type, "text/event-stream");
  ASSERT_EQ(reply.steps.size(), 14U);  // begin, tokens, end
  EXPECT_EQ(reply.steps[0].after, Ms{0});
  EXPECT_EQ(reply.steps[1].after, Ms{3'000});
  EXPECT_EQ(reply.steps[2].after, Ms{150});
  std::vector<std::string> types;
  for (const DemoStep& step : reply.steps) {
    for (std::size_t at = 0; at < step.text.size();) {
      const std::size_t data = step.text.find("\ndata: ", at);
      const std::size_t end = step.text.find("\n\n", at);
      ASSERT_LT(data, end);
      types.push_back(step.text.substr(at + 7, data - at - 7));  // behind "event: "
      const std::string json = step.text.substr(data + 7, end - data - 7);
      EXPECT_TRUE(is_json(json)) << json;
      EXPECT_THAT(json, ::testing::StartsWith(R"({"type":")" + types.back() + '"'));
      at = end + 2;
    }
  }
  std::vector<std::string> expected{"message_start", "content_block_start"};
  expected.insert(expected.end(), 12, "content_block_delta");
  for (const char* type : {"content_block_stop", "message_delta", "message_stop"}) {
    expected.emplace_back(type);
  }
  EXPECT_EQ(types, expected);
}

TEST_F(DemoModelTest, AWholeMessageIsOneObject) {
  const DemoReply reply = ask(kMessages, R"({"messages":[{"content":"a b c"}]})");
  ASSERT_EQ(reply.steps.size(), 1U);
  EXPECT_EQ(reply.steps[0].after, Ms{3'000});
  const std::string& text = reply.steps[0].text;
  EXPECT_TRUE(is_json(text)) << text;
  EXPECT_THAT(text, HasSubstr(R"("type":"message","role":"assistant","model":"demo",)"
                              R"("content":[{"type":"text","text":"Silence is not)"));
  EXPECT_THAT(text, HasSubstr(R"("stop_reason":"end_turn")"));
  EXPECT_THAT(text, HasSubstr(R"("usage":{"input_tokens":3,"output_tokens":12})"));
  EXPECT_EQ(status(kMessages, "{}"), 400);
  EXPECT_EQ(status("GET /v1/messages"), 405);
}

TEST_F(DemoModelTest, ThereIsOneModel) {
  EXPECT_TRUE(is_json(body("GET /v1/models")));
  EXPECT_THAT(body("GET /v1/models"), HasSubstr(R"("id":"demo")"));
}

TEST_F(DemoModelTest, AModelsEventTellsHowManyTokensItHasSpoken) {
  ask(kChat, R"({"messages":[]})");
  const std::uint64_t id = last_id_;
  pages_.ledger().will_speak(id, 12);
  pages_.ledger().spoke(id, 3);
  pages_.ledger().spoke(id, 2);
  pages_.ledger().spoke(999, 2);  // forgotten
  EXPECT_THAT(body("GET /events"), HasSubstr(R"("ms":0,"tokens":5,"of_tokens":12})"));
  const DemoEvent* event = pages_.ledger().end(id, DemoOutcome::cancelled, now_ + Ms{1'500});
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->to_string(),
            "POST /v1/chat/completions cancelled after 1.5 s, 5 of 12 tokens spoken");
}

}  // namespace
}  // namespace hushgate::app
