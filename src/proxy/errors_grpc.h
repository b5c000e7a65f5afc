// Errors of hushgate's own as gRPC clients read them: HTTP 200, and the outcome in `grpc-status`
// and `grpc-message`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hushgate::proxy {

// Whether a request with this Content-Type is gRPC: application/grpc, or application/grpc+proto and
// the like; not grpc-web, whose messages have a framing of their own.
bool is_grpc(std::string_view content_type);

// The gRPC status of an HTTP status, by gRPC's own table (doc/http-grpc-status-mapping.md).
int grpc_status(std::uint16_t http_status);

// Appends text as `grpc-message` has it: percent-encoded but for printable ASCII without '%'.
void append_grpc_message(std::string& out, std::string_view text);

}  // namespace hushgate::proxy
