// Every failure that an exchange can meet, in one list. `proxy/errors.h` maps a kind to its status,
// its RFC 9209 type, its counter and its words; nothing else decides how a failure looks from
// outside.
#pragma once

#include <cstdint>

namespace hushgate {

// Whose doing a failure is.
enum class Side : std::uint8_t { client, upstream, hushgate };

enum class ErrorKind : std::uint8_t {
  none,

  // The client's message (side client). Answered, then `closing`.
  bad_request,              // 400: a message that is malformed or could be read two ways
  bad_path,                 // 400: the path decodes to another route than it is written for
  request_timeout,          // 408
  body_too_large,           // 413
  target_too_long,          // 414: the request line is over maxRequestLineBytes
  head_too_large,           // 431: over maxHeaderBytes or maxHeaders
  unknown_transfer_coding,  // 501
  method_not_allowed,     // 405: CONNECT where no route allows it; `*` with anything but OPTIONS is
                          // bad_request
  version_not_supported,  // 505
  client_gone,            // no answer: nobody is there to read it
  client_stalled,         // no answer: it took nothing of its response for sendTimeoutMs

  // Of hushgate itself.
  no_route,        // 404
  proxy_loop,      // 508: our own Via came back
  shedding,        // 503: no descriptors, or maxConnections
  stopping,        // cut at the end of graceMs
  internal_fault,  // 500

  // Before anything was submitted to an upstream.
  dns_error,              // 502
  dns_timeout,            // 504
  connection_refused,     // 502
  connection_failed,      // 502: any other error of connect(2), named in the log
  connection_timeout,     // 504
  tls_certificate_error,  // 502: the upstream's did not verify; never retried
  tls_protocol_error,     // 502: the handshake failed otherwise
  ports_exhausted,        // 503: EADDRNOTAVAIL on every address for connectTimeoutMs

  // After something was submitted to an upstream.
  connection_terminated,    // 502: EOF or reset before the response was complete
  http_protocol_error,      // 502: what it sent is no HTTP, or could be read two ways
  upstream_head_too_large,  // 502
  request_refused,          // 503: it proved that it did not process it, and it is not sent again
  response_timeout,         // 504: silent for upstreamTimeoutMs while it owed something
};

struct Error {
  ErrorKind kind = ErrorKind::none;
  int os_error = 0;  // errno where a system call failed, else 0

  friend bool operator==(const Error&, const Error&) = default;
};

}  // namespace hushgate
