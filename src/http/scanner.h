// Finds the end of a head (or trailer section) in bytes that come in pieces, and refuses what can
// never become one as soon as that is known. It looks at each byte once, however they arrive, and
// its verdict does not depend on how they were cut. Syntax inside the lines is the parser's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"

namespace hushgate::http {

enum class ScanRole : std::uint8_t {
  request,   // one empty line before the request line is skipped (RFC 9112 section 2.2)
  response,  // no bound on the status line but the head's
  trailers,  // no first line; an empty line alone is a complete section
};

struct ScanBounds {
  std::size_t max_request_line_bytes;  // without its CRLF; only for ScanRole::request
  std::size_t max_head_bytes;  // all lines with their CRLF; the skipped empty line not counted
  std::size_t max_fields;

  static ScanBounds of(const Limits& limits) {
    return {limits.max_request_line_bytes, limits.max_header_bytes, limits.max_headers};
  }
};

enum class ScanEvent : std::uint8_t {
  need_more,
  complete,  // `skipped` and `length` are valid
  refused,   // `error` is valid; terminal
};

struct Scan {
  ScanEvent event = ScanEvent::need_more;
  // bad_request (a control character, bare CR or bare LF among them; an empty first line),
  // target_too_long (request line), head_too_large (bytes or fields). For a response see
  // as_upstream() in http/head.h.
  ErrorKind error = ErrorKind::none;
  std::size_t skipped = 0;  // bytes of the empty line before the head: 0 or 2
  std::size_t length =
      0;  // bytes up to the end of the head, `skipped` and the final empty line included

  // What the parser takes: the head with its final empty line.
  std::string_view head(std::string_view buffered) const {
    return buffered.substr(skipped, length - skipped);
  }
};

class HeadScanner {
 public:
  HeadScanner(ScanRole role, const ScanBounds& bounds) : bounds_(bounds), role_(role) {}

  // `buffered` begins where the first call's did and holds everything since. After `complete` or
  // `refused`, reset() comes first.
  Scan scan(std::string_view buffered);

  void reset();

  // True once a byte of a head has been seen (an empty line that is skipped counts).
  bool begun() const { return offset_ != 0; }

  const ScanBounds& bounds() const { return bounds_; }

 private:
  Scan end_line(std::size_t at);
  static Scan refuse(ErrorKind error) { return {ScanEvent::refused, error, 0, 0}; }

  ScanBounds bounds_;
  std::size_t offset_ = 0;      // the first byte not looked at
  std::size_t line_start_ = 0;  // of the line that offset_ is in
  std::size_t start_ = 0;       // of the head: 0 or 2
  std::size_t lines_ = 0;       // complete ones, the first line included
  ScanRole role_;
};

}  // namespace hushgate::http
