// Strict parsing of whole heads (RFC 9112 sections 2 to 5). What may be read two ways is refused,
// never repaired.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/head.h"

namespace hushgate::http {

// `bytes` is a whole head with its final empty line, as Scan::head() gives it. Errors: bad_request,
// version_not_supported. Framing errors are request_framing()'s. On an error `out` holds what was
// understood so far (its method, target and version are empty or right); good for a log line,
// nothing else.
Result<void> parse_request_head(std::string_view bytes, RequestHead& out);

// Error: http_protocol_error. Framing errors are response_framing()'s.
Result<void> parse_response_head(std::string_view bytes, ResponseHead& out);

// Field lines up to and with the empty line that ends them; appends to `out`. Nothing may follow
// it. Error: bad_request.
Result<void> parse_field_lines(std::string_view bytes, FieldList& out);

}  // namespace hushgate::http
