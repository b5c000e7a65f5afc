// Addresses, names and paths as people write them in a configuration. The error says what would be
// right ("it must be ...").
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/model.h"

namespace hushgate::config {

template <typename T>
using Written = std::expected<T, std::string>;

// "127.0.0.1:8787", "[::1]:8787", ":8787" or "*:8787" (any address), "localhost:8787" (127.0.0.1).
// Port 0: the kernel's.
Written<ListenAddress> parse_listen(std::string_view text);

// "10.0.0.0/8" or one address; bits behind the prefix must be zero.
Written<Cidr> parse_cidr(std::string_view text);

Written<IpAddress> parse_source_address(std::string_view text);

// "http://host[:port][/prefix]", the same with https, or "unix:/path". Sets the fields of
// `upstream` that the URL decides.
Written<void> parse_upstream_url(std::string_view text, Upstream& upstream);

// In quotes, as a fault may show it: what stands before '@' may be a password and is left out.
std::string shown_url(std::string_view text);

// The path of a route; see Route::path.
Written<std::string> parse_route_path(std::string_view text);

// A name of upstreams.
Written<std::string> parse_upstream_name(std::string_view text);

// UpstreamTls::server_name: in lower case, a name without a dot at its end.
Written<std::string> parse_server_name(std::string_view text);

// The path of a file; a relative one begins at `folder`, unless that is empty.
Written<std::string> parse_file_path(std::string_view text, std::string_view folder);

}  // namespace hushgate::config
