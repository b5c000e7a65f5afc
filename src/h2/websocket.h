// The handshake fields of RFC 6455 that HTTP/2 does without (RFC 8441 section 5): one side of a
// translation has to make them up, the other has to answer for the peer.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "http/head.h"

namespace hushgate::h2 {

// Sec-WebSocket-Key: 16 bytes in base64. It need not be secret, only seldom the same.
std::string websocket_key(Time now, std::int32_t stream);

// Sec-WebSocket-Accept for a request's key; empty where it has none.
std::string websocket_accept(const http::RequestHead& head);

}  // namespace hushgate::h2
