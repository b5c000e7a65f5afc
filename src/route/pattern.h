// Paths as routing sees them: which pattern covers a path, and what a path means to an upstream
// that decodes more, or less, than we do.
#pragma once

#include <string>
#include <string_view>

namespace hushgate::route {

// Whether `pattern` covers `path`, on segment borders: "/v1" covers "/v1", "/v1/" and "/v1/x", not
// "/v1x";
// "/v1/" covers "/v1/" and "/v1/x" but not "/v1" (its slash says "below"); "/" covers everything.
bool covers(std::string_view pattern, std::string_view path);

// Whether a path (no query) can be read in one way only: no '%', '\\', '#', NUL, "//", and no
// segment that begins with a dot. Says no to a few harmless paths ("/.well-known"); they take the
// careful way.
bool is_plain(std::string_view path);

// Every %XX is replaced by its byte, once; a '%' without two hex digits stays.
std::string percent_decoded(std::string_view path);

enum class Climb { within, above_root };

// `path` with '\\' read as '/', slashes merged and dot segments removed (RFC 3986 section 5.2.4). A
// dot segment may carry parameters ("..;x=1"), which some servers ignore. Without a leading '/' one
// is put before.
struct Normalized {
  std::string path;
  Climb climb = Climb::within;  // above_root: a ".." had nothing left to remove
};
Normalized normalized(std::string_view path);

}  // namespace hushgate::route
