// The handshake fields of RFC 6455 that HTTP/2 does without (RFC 8441 section 5): one side of a
// translation has to make them up, the other has to answer for the peer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "http/head.h"

namespace hushgate::h2 {

// Sec-WebSocket-Key: 16 bytes in base64. It need not be secret, only seldom the same.
std::string websocket_key(Time now, std::int32_t stream);

// Sec-WebSocket-Accept for a key; for a request's, empty where it has none.
std::string websocket_accept(std::string_view key);
std::string websocket_accept(const http::RequestHead& head);

// The 101 answers the request with this `accept`; where that is empty it was not asked for one.
bool is_accepted(const http::ResponseHead& head, std::string_view accept);

}  // namespace hushgate::h2
