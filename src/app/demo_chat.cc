#include "app/demo_chat.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "app/demo_json.h"

namespace hushgate::app {
namespace {

constexpr std::string_view kDefaultModel = "demo";
constexpr std::string_view kDone = "data: [DONE]\n\n";

// What all chunks of a completion have in common.
struct Voice {
  std::string begin;  // {"id":...,"object":...,"created":...,"model":...
  std::size_t prompt_tokens = 0;
};

Voice voice_of(const ChatAsk& ask, const DemoRequest& request, std::string_view object,
               std::uint64_t id) {
  const std::string_view model = ask.model.empty() ? kDefaultModel : std::string_view(ask.model);
  return {fmt::format(R"({{"id":"chatcmpl-demo-{}","object":"{}","created":{},"model":{})", id,
                      object, request.unix_s, json_string(model)),
          ask.prompt_words};
}

std::string usage_of(const Voice& voice) {
  return fmt::format(R"("usage":{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                     voice.prompt_tokens, kDemoTokens.size(),
                     voice.prompt_tokens + kDemoTokens.size());
}

// `finish` as JSON: null, or a string.
std::string chunk_of(const Voice& voice, std::string_view delta, std::string_view finish) {
  return fmt::format(
      "data: {},\"choices\":[{{\"index\":0,\"delta\":{},\"logprobs\":null,"
      "\"finish_reason\":{}}}]}}\n\n",
      voice.begin, delta, finish);
}

DemoReply streamed(const Voice& voice, Ms think, const ChatAsk& ask, const DemoTiming& timing) {
  DemoReply reply{.content_type = "text/event-stream", .fields = "Cache-Control: no-cache\r\n"};
  for (const std::string_view token : kDemoTokens) {
    const std::string delta = fmt::format(R"({{"content":{}}})", json_string(token));
    reply.steps.push_back({.after = timing.token_gap, .text = chunk_of(voice, delta, "null")});
  }
  DemoStep& first = reply.steps.front();
  first.after = think;
  first.text.insert(0, chunk_of(voice, R"({"role":"assistant","content":""})", "null"));
  std::string& last = reply.steps.back().text;
  last += chunk_of(voice, "{}", "\"stop\"");
  if (ask.usage == ChatUsage::included) {
    last += fmt::format("data: {},\"choices\":[],{}}}\n\n", voice.begin, usage_of(voice));
  }
  last += kDone;
  return reply;
}

DemoReply whole(const Voice& voice, Ms think) {
  std::string content;
  for (const std::string_view token : kDemoTokens) content += token;
  DemoReply reply = json_reply(
      200, fmt::format(R"({},"choices":[{{"index":0,"message":{{"role":"assistant","content":{},)"
                       R"("refusal":null}},"logprobs":null,"finish_reason":"stop"}}],{}}})",
                       voice.begin, json_string(content), usage_of(voice)));
  reply.steps.front().after = think;
  return reply;
}

std::optional<Ms> think_time(const http::RequestHead& head, const DemoTiming& timing) {
  if (const auto asked = query_value(head.query, "think")) return parse_seconds(*asked);
  const http::Field* field = http::find_field(head.fields, "x-demo-think");
  return field != nullptr ? parse_seconds(field->value) : timing.think;
}

}  // namespace

DemoReply chat_reply(const DemoRequest& request, const DemoTiming& timing, std::uint64_t id) {
  if (request.head.method != http::Method::post) return method_refused("POST");
  if (request.body_bytes > kMaxDemoBodyBytes) return error_reply(413, "The body is over 1 MiB.");
  const auto ask = read_chat_ask(request.body);
  if (!ask) return error_reply(400, "The body is no JSON object with an array `messages`.");
  const auto think = think_time(request.head, timing);
  if (!think) return error_reply(400, "The thinking time is 0 to 600 seconds, as think=2.5.");
  if (ask->delivery == ChatDelivery::whole) {
    return whole(voice_of(*ask, request, "chat.completion", id), *think);
  }
  return streamed(voice_of(*ask, request, "chat.completion.chunk", id), *think, *ask, timing);
}

}  // namespace hushgate::app
