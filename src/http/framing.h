// Where a message's body ends (RFC 9112 section 6.3), as a pure table over what the head said. A
// message that could be read two ways has no framing: it is an error.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/result.h"

namespace hushgate::http {

enum class Method : std::uint8_t;
enum class Version : std::uint8_t;
struct RequestHead;
struct ResponseHead;

inline constexpr std::uint64_t kMaxContentLength = std::numeric_limits<std::int64_t>::max();

// What the Transfer-Encoding fields of a head come to, taken together and in order.
enum class Coding : std::uint8_t {
  absent,
  chunked,               // exactly "chunked", once
  unknown,               // well formed, only codings that hushgate does not know
  unknown_then_chunked,  // such, and chunked once, as the last
  malformed,  // an empty element, no token, or chunked repeated, parametrised or not last
};

// What the Content-Length fields of a head come to.
enum class LengthField : std::uint8_t {
  absent,
  valid,
  malformed,  // not 1*DIGIT up to kMaxContentLength
  repeated,   // two fields, equal or not
};

struct FramingInputs {
  Coding coding = Coding::absent;
  LengthField length_field = LengthField::absent;
  std::uint64_t content_length = 0;  // with LengthField::valid

  // One more field of the head, in its order.
  void add_transfer_encoding(std::string_view value);
  void add_content_length(std::string_view value);

  friend bool operator==(const FramingInputs&, const FramingInputs&) = default;
};

enum class FramingKind : std::uint8_t {
  none,    // no body
  length,  // `length` bytes, maybe 0
  chunked,
  until_eof,  // responses only
  tunnel,     // a 101, or a 2xx to CONNECT: what follows is not HTTP
};

struct Framing {
  FramingKind kind = FramingKind::none;
  std::uint64_t length = 0;

  // True if no body byte can come.
  bool bodyless() const {
    return kind == FramingKind::none || (kind == FramingKind::length && length == 0);
  }

  friend bool operator==(const Framing&, const Framing&) = default;
};

// Errors: bad_request, unknown_transfer_coding. TRACE and CONNECT may have no body (RFC 9110
// sections 9.3.6, 9.3.8).
Result<Framing> request_framing(Method method, Version version, const FramingInputs& inputs);
Result<Framing> request_framing(const RequestHead& head);

// `method` is the request's. Error: http_protocol_error. With `none` a Content-Length may still be
// there and say what a GET would have had (HEAD, 304); bytes that follow such a response belong to
// nobody.
Result<Framing> response_framing(Method method, std::uint16_t status, Version version,
                                 const FramingInputs& inputs);
Result<Framing> response_framing(Method method, const ResponseHead& head);

// "Safe bodyless" of the contract: the only requests that may use a pooled connection or be sent
// again.
bool is_safe_bodyless(const RequestHead& head, const Framing& framing);

}  // namespace hushgate::http
