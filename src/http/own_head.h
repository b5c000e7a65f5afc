// Heads that this process has written (http/head_writer.h), read again: into the same structs as
// parser.h, but what holds for them by construction is not checked a second time: that lines end in
// CRLF, that names are tokens, and that no value has a control character.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "http/head.h"

namespace hushgate::http {

// `text` begins with the head, and may go on behind it. Its size; 0 while its final empty line is
// missing, and `out` is good for nothing then. Errors: those of parser.h for what is not by
// construction: targets, versions, and fields that contradict each other.
Result<std::size_t> read_own_request_head(std::string_view text, RequestHead& out);
Result<std::size_t> read_own_response_head(std::string_view text, ResponseHead& out);

}  // namespace hushgate::http
