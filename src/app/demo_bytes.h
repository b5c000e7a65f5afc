// Large bodies whose content anybody can check: lines of 16 bytes, each of which is its own offset
// in 15 digits, as `seq -f %015.0f 0 16 N | head -c N` makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/demo_reply.h"

namespace hushgate::app {

inline constexpr std::uint64_t kMaxDemoBytes = 1ULL << 40U;
inline constexpr std::size_t kDemoLineBytes = 16;

// GET /bytes/{n}. `rest` is what stands behind "/bytes/".
DemoReply bytes_reply(const DemoRequest& request, std::string_view rest);

// PUT or POST /upload: {"bytes":N,"sha1":"..."} of what came.
DemoReply upload_reply(const DemoRequest& request);

// Appends [offset, offset + count) of the numbered lines to `output`.
void write_numbered(std::uint64_t offset, std::size_t count, std::string& output);

}  // namespace hushgate::app
