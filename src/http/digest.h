// What the fields of a head say, gathered once, right after its lines were parsed. Internal to the
// parser.
#pragma once

#include "base/result.h"
#include "http/head.h"

namespace hushgate::http {

// Fills the digest members of a head whose start line and fields are there. Error: bad_request (a
// missing, second or invalid Host; an unknown expectation; Max-Forwards that is no number on TRACE
// or OPTIONS; too many Connection options).
Result<void> digest_request(RequestHead& head);

// Error: bad_request (too many Connection options).
Result<void> digest_response(ResponseHead& head);

// True for an element of Upgrade that may be forwarded: a protocol other than h2c.
bool is_upgrade_protocol(std::string_view element);

}  // namespace hushgate::http
