#include "app/demo_pages.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/demo_chat.h"
#include "app/demo_json.h"

namespace hushgate::app {
namespace {

constexpr std::string_view kIndex =
    "The demo's upstream. It keeps nothing but memory.\n"
    "\n"
    "POST /v1/chat/completions  thinks 3 s, then 12 tokens; \"stream\": true for events;\n"
    "                           ?think=SECONDS or X-Demo-Think: SECONDS, up to 600\n"
    "any  /echo                 what arrived: method, target, fields, body\n"
    "GET  /slow?seconds=N       N seconds of silence, then a line\n"
    "GET  /count                requests that arrived, by method (this and /events apart)\n"
    "GET  /events               the last 100 of them, and what became of each\n"
    "     /items                GET lists, POST adds any JSON; 1000 at most\n"
    "     /items/{n}            GET, PUT, DELETE\n";

DemoReply echo(const DemoRequest& request) {
  std::string fields;
  for (const http::Field& field : request.head.fields) {
    if (!fields.empty()) fields += ',';
    fields += fmt::format("[{},{}]", json_string(field.name), json_string(field.value));
  }
  const std::string_view body = cut_text(request.body, kMaxDemoEchoBytes);
  return json_reply(
      200, fmt::format(R"({{"method":{},"path":{},"fields":[{}],"body_bytes":{},"body":{}}})",
                       json_string(request.head.method_text), json_string(request.head.target),
                       fields, request.body_bytes, json_string(body)));
}

DemoReply slow(const DemoRequest& request) {
  const auto asked = query_value(request.head.query, "seconds");
  const auto silence = parse_seconds(asked.value_or("1"));
  if (!silence) return error_reply(400, "seconds is 0 to 600, as seconds=2.5.");
  const double seconds = static_cast<double>(silence->count()) / 1'000;
  DemoReply reply = text_reply(200, fmt::format("silent for {} s\n", seconds));
  reply.steps.front().after = *silence;
  return reply;
}

}  // namespace

DemoReply DemoPages::answer(const DemoRequest& request, std::uint64_t id, Time now) {
  const std::string_view path = request.head.path;
  if (path == "/v1/chat/completions") return chat_reply(request, timing_, id);
  if (path == "/echo") return echo(request);
  if (path == "/items" || path.starts_with("/items/")) {
    return items_.answer(request, path.substr(std::string_view("/items").size()));
  }
  const bool reads = is_read(request.head.method);
  if (path == "/")
    return reads ? text_reply(200, std::string(kIndex)) : method_refused("GET, HEAD");
  if (path == "/slow") return reads ? slow(request) : method_refused("GET, HEAD");
  if (path == "/count") {
    return reads ? json_reply(200, ledger_.counts_json()) : method_refused("GET, HEAD");
  }
  if (path == "/events") {
    return reads ? json_reply(200, ledger_.events_json(now)) : method_refused("GET, HEAD");
  }
  return error_reply(404, "There is no such page; / lists them.");
}

}  // namespace hushgate::app
