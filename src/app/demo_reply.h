// What the demo's upstream is asked and what it answers, as values: a reply is a script of pieces
// and of the silence before each. Pages write it, a connection plays it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/head.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoBodyBytes = 1U << 20U;  // kept of a request; more is counted
inline constexpr Ms kMaxDemoSilence{600'000};                // of think= and seconds=

struct DemoTiming {
  Ms think{3'000};         // before a chat completion begins, unless the request says
  Ms token_gap{150};       // between two tokens of a stream
  Ms idle_timeout{5'000};  // of a kept connection, as a Node server has it
};

// The views are valid while the page is asked, no longer.
struct DemoRequest {
  const http::RequestHead& head;
  std::string_view body;         // its first kMaxDemoBodyBytes
  std::uint64_t body_bytes = 0;  // of all of it
  std::int64_t unix_s = 0;       // now
};

struct DemoStep {
  Ms after{0};  // the silence before it, from the step before; the head leaves with the first step
  std::string text{};
};

// One step has a Content-Length; more are a stream, and each of those has text.
struct DemoReply {
  std::uint16_t status = 200;
  std::string content_type{};
  std::string fields{};  // more of them, whole lines
  std::vector<DemoStep> steps{};
};

DemoReply text_reply(std::uint16_t status, std::string text);
DemoReply json_reply(std::uint16_t status, std::string json);  // a newline goes behind it
// In the shape that OpenAI's SDKs read. `message` is ours and needs no escaping.
DemoReply error_reply(std::uint16_t status, std::string_view message);
DemoReply method_refused(std::string_view allowed);  // 405; "GET, HEAD"

bool is_read(http::Method method);  // GET or HEAD

// The value of `name` in "?a=1&b=2"; nothing if it is not there. Nothing is decoded.
std::optional<std::string_view> query_value(std::string_view query, std::string_view name);

// "20", "0.5", "1.234": seconds up to kMaxDemoSilence. Nothing if `text` is anything else.
std::optional<Ms> parse_seconds(std::string_view text);

}  // namespace hushgate::app
