// A chat completion in OpenAI's shape: it thinks first and says nothing at all meanwhile, then
// speaks, as one JSON object or as a stream of server-sent events that ends with [DONE].
#pragma once

#include <cstdint>

#include "app/demo_model.h"

namespace hushgate::app {

// POST /v1/chat/completions.
DemoReply chat_reply(const DemoRequest& request, const DemoTiming& timing, std::uint64_t id);

}  // namespace hushgate::app
