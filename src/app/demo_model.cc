#include "app/demo_model.h"

#include <optional>

namespace hushgate::app {
namespace {

constexpr std::string_view kDefaultModel = "demo";

std::optional<Ms> think_time(const http::RequestHead& head, const DemoTiming& timing) {
  if (const auto asked = query_value(head.query, "think")) return parse_seconds(*asked);
  const http::Field* field = http::find_field(head.fields, "x-demo-think");
  return field != nullptr ? parse_seconds(field->value) : timing.think;
}

std::optional<std::uint64_t> token_count(const http::RequestHead& head) {
  const auto asked = query_value(head.query, "tokens");
  if (!asked) return kDemoTokens.size();
  const auto count = http::parse_decimal(*asked, kMaxDemoTokens);
  return count == 0 ? std::nullopt : count;
}

}  // namespace

std::expected<ModelAsk, DemoReply> read_model_ask(const DemoRequest& request,
                                                  const DemoTiming& timing) {
  if (request.head.method != http::Method::post) return std::unexpected(method_refused("POST"));
  const auto refused = [](std::uint16_t status, std::string_view why) {
    return std::unexpected(error_reply(status, why));
  };
  if (request.body_bytes > kMaxDemoBodyBytes) return refused(413, "The body is over 1 MiB.");
  const auto chat = read_chat_ask(request.body);
  if (!chat) return refused(400, "The body is no JSON object with an array `messages`.");
  const auto think = think_time(request.head, timing);
  if (!think) return refused(400, "The thinking time is 0 to 600 seconds, as think=2.5.");
  const auto tokens = token_count(request.head);
  if (!tokens) return refused(400, "The number of tokens is 1 to 1000, as tokens=100.");
  return ModelAsk{
      .chat = *chat,
      .model = json_string(chat->model.empty() ? kDefaultModel : std::string_view(chat->model)),
      .think = *think,
      .tokens = *tokens};
}

std::string_view demo_token(std::size_t index) {
  const std::size_t again = index % kDemoTokens.size();
  return again == 0 && index > 0 ? " Silence" : kDemoTokens[again];
}

std::string demo_text(std::size_t tokens) {
  std::string text;
  for (std::size_t i = 0; i < tokens; ++i) text += demo_token(i);
  return text;
}

}  // namespace hushgate::app
