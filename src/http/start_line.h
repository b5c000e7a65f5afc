// The first lines of heads (RFC 9112 sections 3 and 4), without their CRLF. Internal to the
// parsers.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/head.h"

namespace hushgate::http {

// Errors: bad_request, version_not_supported.
Result<void> parse_request_line(std::string_view line, RequestHead& head);
// Error: http_protocol_error.
Result<void> parse_status_line(std::string_view line, ResponseHead& head);

}  // namespace hushgate::http
