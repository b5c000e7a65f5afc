// Reason phrases (RFC 9110 section 15, RFC 6585), for responses that came without one.
#pragma once

#include <cstdint>
#include <string_view>

namespace hushgate::http {

// Empty for a status that has none.
std::string_view reason_of(std::uint16_t status);

}  // namespace hushgate::http
