// A chat completion in OpenAI's shape: it thinks first, then speaks twelve tokens, as one JSON
// object or as a stream of server-sent events that ends with [DONE].
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::array<std::string_view, 12> kDemoTokens{
    "Silence",    " is",  " not",    " failure:", " somebody", " was",
    " thinking,", " and", " nobody", " hung",     " up",       "."};

// POST /v1/chat/completions. `?think=SECONDS`, else the field X-Demo-Think, else timing.think.
DemoReply chat_reply(const DemoRequest& request, const DemoTiming& timing, std::uint64_t id);

}  // namespace hushgate::app
