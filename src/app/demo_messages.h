// A message in Anthropic's shape. A stream begins at once and is silent behind its first events
// while the model thinks; a whole one thinks first.
#pragma once

#include <cstdint>

#include "app/demo_model.h"

namespace hushgate::app {

// POST /v1/messages.
DemoReply messages_reply(const DemoRequest& request, const DemoTiming& timing, std::uint64_t id);

}  // namespace hushgate::app
