// Heads as values. Every view points into the bytes that were parsed; a head is valid as long as
// they neither move nor change. Heads are reused: parsing into one that has been used allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "http/fields.h"
#include "http/framing.h"

namespace hushgate::http {

inline constexpr std::size_t kMaxMethodBytes = 32;
inline constexpr std::size_t kMaxConnectionOptions = 64;  // of a head, empty list elements included

enum class Method : std::uint8_t {
  get,
  head,
  options,
  trace,
  post,
  put,
  patch,
  delete_,
  connect,
  other,
};

Method method_of(std::string_view text);  // case matters (RFC 9110 section 9.1)

// HTTP/1.2 to 1.9 are read as http11.
enum class Version : std::uint8_t { http10, http11 };

enum class TargetForm : std::uint8_t {
  origin,     // `path` begins with '/'
  absolute,   // `scheme`, `authority` and `path` come from the target
  authority,  // CONNECT: `authority` is the target, `path` is empty
  asterisk,   // OPTIONS: `path` is "*"; also OPTIONS of an absolute-form without path and query
};

// The options of all Connection fields of a head.
struct ConnectionOptions {
  bool close = false;  // asked for, or an element is no token: then nothing is certain, and the
                       // connection ends
  bool keep_alive = false;
  bool upgrade = false;
  bool te = false;

  friend bool operator==(const ConnectionOptions&, const ConnectionOptions&) = default;
};

struct RequestHead {
  Method method = Method::other;
  TargetForm form = TargetForm::origin;
  Version version = Version::http11;
  std::string_view method_text;
  std::string_view target;  // as it was sent
  std::string_view scheme;  // absolute-form: "http" or "https" in any case; else empty
  std::string_view
      path;  // never empty but in authority-form; an absolute-form without a path has "/"
  std::string_view query;      // with its '?', or empty
  std::string_view authority;  // of the target if it has one, else Host's value; may be empty;
                               // valid (http/target.h)
  FieldList fields;

  FramingInputs framing;  // see request_framing()
  ConnectionOptions connection;
  bool expect_continue =
      false;  // HTTP/1.1, a body will come, and the client waits to be told to send it
  bool te_trailers = false;    // TE: trailers, named by Connection
  bool wants_upgrade = false;  // HTTP/1.1, Connection: upgrade, and a protocol other than h2c
  std::optional<std::uint32_t>
      max_forwards;  // only of TRACE and OPTIONS; saturates. 0: answer here, never forward

  void clear();  // keeps the capacity of `fields`
};

struct ResponseHead {
  std::uint16_t status = 0;      // 100 to 599
  std::string_view status_text;  // the same, three digits
  Version version = Version::http11;
  std::string_view reason;  // may be empty
  FieldList fields;

  FramingInputs framing;  // see response_framing()
  ConnectionOptions connection;
  std::optional<std::uint32_t> keep_alive_timeout_s;  // of Keep-Alive: timeout=N; saturates

  bool interim() const { return status < 200 && status != 101; }

  void clear();  // keeps the capacity of `fields`
};

// The same fault, found in an upstream's message: bad_request and unknown_transfer_coding are
// http_protocol_error, head_too_large is upstream_head_too_large.
constexpr ErrorKind as_upstream(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_request:
    case ErrorKind::version_not_supported:
    case ErrorKind::unknown_transfer_coding: return ErrorKind::http_protocol_error;
    case ErrorKind::head_too_large: return ErrorKind::upstream_head_too_large;
    default: return kind;
  }
}

}  // namespace hushgate::http
