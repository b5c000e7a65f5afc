#include "app/demo_chat.h"

#include <fmt/format.h>

#include <string>

namespace hushgate::app {
namespace {

constexpr std::string_view kDone = "data: [DONE]\n\n";

// What all chunks of a completion begin with: {"id":...,"object":...,"created":...,"model":...
std::string beginning(const ModelAsk& ask, const DemoRequest& request, std::string_view object,
                      std::uint64_t id) {
  return fmt::format(R"({{"id":"chatcmpl-demo-{}","object":"{}","created":{},"model":{})", id,
                     object, request.unix_s, ask.model);
}

std::string usage_of(const ModelAsk& ask) {
  const std::size_t prompt = ask.chat.prompt_words;
  return fmt::format(R"("usage":{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                     prompt, ask.tokens, prompt + ask.tokens);
}

// `finish` as JSON: null, or a string.
std::string chunk_of(const std::string& begin, std::string_view delta, std::string_view finish) {
  return fmt::format(
      "data: {},\"choices\":[{{\"index\":0,\"delta\":{},\"logprobs\":null,"
      "\"finish_reason\":{}}}]}}\n\n",
      begin, delta, finish);
}

DemoReply streamed(const ModelAsk& ask, const std::string& begin, const DemoTiming& timing) {
  DemoReply reply{.content_type = "text/event-stream", .fields = "Cache-Control: no-cache\r\n"};
  for (std::size_t i = 0; i < ask.tokens; ++i) {
    const std::string delta = fmt::format(R"({{"content":{}}})", json_string(demo_token(i)));
    reply.steps.push_back(
        {.after = timing.token_gap, .text = chunk_of(begin, delta, "null"), .tokens = 1});
  }
  DemoStep& first = reply.steps.front();
  first.after = ask.think;
  first.text.insert(0, chunk_of(begin, R"({"role":"assistant","content":""})", "null"));
  std::string last = chunk_of(begin, "{}", "\"stop\"");
  if (ask.chat.usage == ChatUsage::included) {
    last += fmt::format("data: {},\"choices\":[],{}}}\n\n", begin, usage_of(ask));
  }
  reply.steps.push_back({.text = last.append(kDone)});
  return reply;
}

DemoReply whole(const ModelAsk& ask, const std::string& begin) {
  DemoReply reply = json_reply(
      200, fmt::format(R"({},"choices":[{{"index":0,"message":{{"role":"assistant","content":{},)"
                       R"("refusal":null}},"logprobs":null,"finish_reason":"stop"}}],{}}})",
                       begin, json_string(demo_text(ask.tokens)), usage_of(ask)));
  reply.steps.front().after = ask.think;
  reply.steps.front().tokens = ask.tokens;
  return reply;
}

}  // namespace

DemoReply chat_reply(const DemoRequest& request, const DemoTiming& timing, std::uint64_t id) {
  auto ask = read_model_ask(request, timing);
  if (!ask) return std::move(ask.error());
  if (ask->chat.delivery == ChatDelivery::whole) {
    return whole(*ask, beginning(*ask, request, "chat.completion", id));
  }
  return streamed(*ask, beginning(*ask, request, "chat.completion.chunk", id), timing);
}

}  // namespace hushgate::app
