// Request targets (RFC 9112 section 3.2) and authorities (RFC 9110 section 7.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "http/head.h"

namespace hushgate::http {

struct Authority {
  std::string_view host;  // a name, an IPv4 address, or an IPv6 address in brackets; may be empty
  std::optional<std::uint16_t> port;  // absent too if the colon stands alone

  friend bool operator==(const Authority&, const Authority&) = default;
};

// uri-host [ ":" port ] without userinfo: the grammar of Host. A comma, though a sub-delim, is
// refused: it is how two Hosts that were merged look. nullopt if it is none.
std::optional<Authority> parse_authority(std::string_view text);

// Fills form, target, scheme, path, query and (absolute- and authority-form) authority from
// `head.method` and `text`. Error: bad_request.
Result<void> parse_target(std::string_view text, RequestHead& head);

}  // namespace hushgate::http
