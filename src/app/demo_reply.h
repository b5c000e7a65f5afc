// What the demo's upstream is asked and what it answers, as values: a reply is a script of pieces
// and of the silence before each. Pages write it, a connection plays it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/demo_digest.h"
#include "base/clock.h"
#include "http/head.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoBodyBytes = 1U << 20U;  // kept of a request; more is counted
inline constexpr Ms kMaxDemoSilence{600'000};                // of think=, seconds= and for=

struct DemoTiming {
  Ms think{3'000};         // before a chat completion begins, unless the request says
  Ms token_gap{150};       // between two tokens of a stream
  Ms idle_timeout{5'000};  // of a kept connection, as a Node server has it
};

// How the upstream treats its connections.
enum class DemoManner : std::uint8_t {
  kept,     // as a Node server does
  closing,  // says keep-alive and closes: behind each POST at once, and when a connection is used
            // again, having read that request, without a byte
  mortal,   // as kept, until it is told to die
};

// The views are valid while the page is asked, no longer.
struct DemoRequest {
  const http::RequestHead& head;
  std::string_view path;         // the page's: the head's without the manner's prefix
  std::string_view body;         // its first kMaxDemoBodyBytes
  std::uint64_t body_bytes = 0;  // of all of it
  DemoSha1::Digest sha1{};       // of all of it
  std::int64_t unix_s = 0;       // now
};

struct DemoStep {
  Ms after{0};  // the silence before it, from the step before; the head leaves with the first step
  std::string text{};
  std::size_t tokens = 0;  // that a model has spoken with it
};

enum class DemoPlay : std::uint8_t {
  steps,     // `steps`, in their time
  numbered,  // numbered_bytes of numbered lines (demo_bytes.h), with a Content-Length
  socket,    // a WebSocket that echoes, once the head is out
  drop,      // no answer: the connection ends with a FIN
  die,       // no answer: the upstream is gone for `away`, and all its connections with it
};

// One step has a Content-Length; more are a stream, and each of those has text.
struct DemoReply {
  std::uint16_t status = 200;
  std::string content_type{};
  std::string fields{};  // more of them, whole lines
  DemoPlay play = DemoPlay::steps;
  std::vector<DemoStep> steps{};
  std::uint64_t numbered_bytes = 0;
  Ms away{0};
};

DemoReply text_reply(std::uint16_t status, std::string text);
DemoReply json_reply(std::uint16_t status, std::string json);  // a newline goes behind it
// In the shape that the SDKs of OpenAI and Anthropic read. `message` is ours and needs no escaping.
DemoReply error_reply(std::uint16_t status, std::string_view message);
DemoReply method_refused(std::string_view allowed);  // 405; "GET, HEAD"

bool is_read(http::Method method);  // GET or HEAD

// The value of `name` in "?a=1&b=2"; nothing if it is not there. Nothing is decoded.
std::optional<std::string_view> query_value(std::string_view query, std::string_view name);

// "20", "0.5", "1.234": seconds up to kMaxDemoSilence. Nothing if `text` is anything else.
std::optional<Ms> parse_seconds(std::string_view text);

}  // namespace hushgate::app
