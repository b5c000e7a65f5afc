#include "app/demo_pages.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/demo_bytes.h"
#include "app/demo_chat.h"
#include "app/demo_json.h"
#include "app/demo_messages.h"
#include "app/demo_socket.h"

namespace hushgate::app {
namespace {

constexpr std::string_view kIndex =
    "The demo's upstream. It keeps nothing but memory.\n"
    "\n"
    "POST /v1/chat/completions  as OpenAI has it: silent for 3 s, then 12 tokens; \"stream\": "
    "true\n"
    "                           for events; ?think=SECONDS (to 600), ?tokens=N (to 1000)\n"
    "POST /v1/messages          the same as Anthropic has it\n"
    "GET  /v1/models            the one there is\n"
    "     /items                GET lists, POST adds any JSON; 1000 at most\n"
    "     /items/{n}            GET, PUT, DELETE\n"
    "GET  /ws                   a WebSocket that echoes; in a browser, a page to try it\n"
    "GET  /bytes/{n}            n bytes, in lines of 16 that each say where they are\n"
    "PUT  /upload               how much came, and its SHA-1; or POST\n"
    "any  /echo                 what arrived: method, target, fields, body\n"
    "GET  /slow?seconds=N       N seconds of silence, then a line\n"
    "GET  /count                requests that arrived, by method (this, /events and /tour apart)\n"
    "GET  /events               the last 100 of them, and what became of each\n"
    "GET  /tour                 the commands to try\n"
    "\n"
    "     /closing/...          all of that from an upstream that promises to keep connections,\n"
    "                           but closes behind each POST, and on the second request of a\n"
    "                           connection, having read it, without a word\n"
    "     /mortal/...           all of that from an upstream that dies on demand:\n"
    "POST /mortal/die?for=N     gone for N seconds (3; to 600), every connection with it\n"
    "any  /mortal/drop          the request is read, the connection closed without a word\n";

// As OpenAI lists it, with what Anthropic's SDK wants beside.
constexpr std::string_view kModels =
    R"({"object":"list","data":[{"id":"demo","object":"model","created":1700000000,)"
    R"("owned_by":"hushgate","type":"model","display_name":"demo",)"
    R"("created_at":"2023-11-14T22:13:20Z"}],"has_more":false,"first_id":"demo","last_id":"demo"})";

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

DemoReply die(const DemoRequest& request) {
  if (request.head.method != http::Method::post) return method_refused("POST");
  const auto away = parse_seconds(query_value(request.head.query, "for").value_or("3"));
  if (!away) return error_reply(400, "for is 0 to 600, as for=2.5.");
  return {.play = DemoPlay::die, .away = *away};
}

}  // namespace

std::string_view prefix_of(DemoManner manner) {
  switch (manner) {
    case DemoManner::kept: return "";
    case DemoManner::closing: return "/closing";
    case DemoManner::mortal: return "/mortal";
  }
  return "";
}

DemoReply DemoPages::answer(const DemoRequest& request, DemoManner manner, std::uint64_t id,
                            Time now) {
  const std::string_view path = request.path;
  if (path == "/v1/chat/completions") return chat_reply(request, timing_, id);
  if (path == "/v1/messages") return messages_reply(request, timing_, id);
  if (path == "/echo") return echo(request);
  if (path == "/upload") return upload_reply(request);
  if (path == "/ws") return socket_reply(request);
  constexpr std::string_view kItems = "/items";
  if (path == kItems || path.starts_with("/items/")) {
    return items_.answer(request, path.substr(kItems.size()));
  }
  constexpr std::string_view kBytes = "/bytes/";
  if (path.starts_with(kBytes)) return bytes_reply(request, path.substr(kBytes.size()));
  if (manner == DemoManner::mortal && path == "/die") return die(request);
  if (manner == DemoManner::mortal && path == "/drop") return {.play = DemoPlay::drop};
  return answer_read(request, now);
}

// Pages that are only read.
DemoReply DemoPages::answer_read(const DemoRequest& request, Time now) const {
  const std::string_view path = request.path;
  DemoReply reply = error_reply(404, "There is no such page; / lists them.");
  if (path == "/") reply = text_reply(200, std::string(kIndex));
  if (path == "/tour") reply = text_reply(200, tour_);
  if (path == "/v1/models") reply = json_reply(200, std::string(kModels));
  if (path == "/slow") reply = slow(request);
  if (path == "/count") reply = json_reply(200, ledger_.counts_json());
  if (path == "/events") reply = json_reply(200, ledger_.events_json(now));
  if (reply.status == 404 || is_read(request.head.method)) return reply;
  return method_refused("GET, HEAD");
}

}  // namespace hushgate::app
