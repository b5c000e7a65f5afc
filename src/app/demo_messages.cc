#include "app/demo_messages.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace hushgate::app {
namespace {

// `rest` is what follows the event's type in its JSON.
std::string event_of(std::string_view type, std::string_view rest) {
  return fmt::format("event: {0}\ndata: {{\"type\":\"{0}\"{1}}}\n\n", type, rest);
}

// `content`, `stop_reason` as JSON.
std::string message_of(const ModelAsk& ask, std::uint64_t id, std::string_view content,
                       std::string_view stop_reason, std::size_t tokens) {
  return fmt::format(
      R"({{"id":"msg_demo_{}","type":"message","role":"assistant","model":{},"content":{},)"
      R"("stop_reason":{},"stop_sequence":null,"usage":{{"input_tokens":{},"output_tokens":{}}}}})",
      id, ask.model, content, stop_reason, ask.chat.prompt_words, tokens);
}

DemoReply streamed(const ModelAsk& ask, std::uint64_t id, const DemoTiming& timing) {
  DemoReply reply{.content_type = "text/event-stream", .fields = "Cache-Control: no-cache\r\n"};
  const std::string start = fmt::format(R"(,"message":{})", message_of(ask, id, "[]", "null", 0));
  reply.steps.push_back(
      {.text = event_of("message_start", start) +
               event_of("content_block_start",
                        R"(,"index":0,"content_block":{"type":"text","text":""})")});
  for (std::size_t i = 0; i < ask.tokens; ++i) {
    const std::string delta = fmt::format(R"(,"index":0,"delta":{{"type":"text_delta","text":{}}})",
                                          json_string(demo_token(i)));
    reply.steps.push_back({.after = i == 0 ? ask.think : timing.token_gap,
                           .text = event_of("content_block_delta", delta),
                           .tokens = 1});
  }
  const std::string usage =
      fmt::format(R"(,"delta":{{"stop_reason":"end_turn","stop_sequence":null}},)"
                  R"("usage":{{"output_tokens":{}}})",
                  ask.tokens);
  reply.steps.push_back({.text = event_of("content_block_stop", R"(,"index":0)") +
                                 event_of("message_delta", usage) + event_of("message_stop", "")});
  return reply;
}

DemoReply whole(const ModelAsk& ask, std::uint64_t id) {
  const std::string content =
      fmt::format(R"([{{"type":"text","text":{}}}])", json_string(demo_text(ask.tokens)));
  DemoReply reply = json_reply(200, message_of(ask, id, content, R"("end_turn")", ask.tokens));
  reply.steps.front().after = ask.think;
  reply.steps.front().tokens = ask.tokens;
  return reply;
}

}  // namespace

DemoReply messages_reply(const DemoRequest& request, const DemoTiming& timing, std::uint64_t id) {
  auto ask = read_model_ask(request, timing);
  if (!ask) return std::move(ask.error());
  return ask->chat.delivery == ChatDelivery::whole ? whole(*ask, id) : streamed(*ask, id, timing);
}

}  // namespace hushgate::app
