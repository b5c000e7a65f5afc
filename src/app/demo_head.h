// The head of a reply as the demo's upstream writes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "app/demo_reply.h"
#include "base/error.h"
#include "http/head.h"

namespace hushgate::app {

enum class DemoKeep : std::uint8_t { yes, no };

// Appends it. `version` is the client's: HTTP/1.0 gets no chunked body. `idle` is for how long a
// kept connection is.
void write_demo_head(const DemoReply& reply, http::Version version, DemoKeep keep,
                     std::chrono::seconds idle, std::string& output);

// Of a request that could not be understood.
std::uint16_t demo_status_of(ErrorKind kind);

std::int64_t unix_now_s();

}  // namespace hushgate::app
