// What of OpenSSL's digests others need.
#pragma once

#include <string>
#include <string_view>

namespace hushgate::tls {

// SHA-1 in base64, as RFC 6455 section 4.2.2 asks for; it protects nothing there.
std::string sha1_base64(std::string_view text);

}  // namespace hushgate::tls
