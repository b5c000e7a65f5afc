// How a failure looks from outside: one table from kinds to status, RFC 9209 type, words, and what
// a client should do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/head.h"
#include "http/rewrite.h"

namespace hushgate::proxy {

struct ErrorFacts {
  ErrorKind kind;
  Side side;
  std::uint16_t status;           // 0: there is no answer, the connection is cut
  std::string_view type;          // in the body and the log
  std::string_view proxy_status;  // RFC 9209 section 2.3 error type; empty: none fits
  std::string_view message;       // for people; never quotes the request
};

const ErrorFacts& facts(ErrorKind kind);
// As it stands in the log.
std::string_view name(Side side);

// What SDKs that repeat on 5xx by themselves are told (`x-should-retry`).
enum class ShouldRetry : std::uint8_t {
  unsaid,
  yes,  // nothing of the request was submitted, or what was is proved unprocessed
  no,   // an unsafe request whose fate is unknown
};

enum class ErrorForm : std::uint8_t {
  json,
  grpc,  // errors_grpc.h
};

// With which an error of this kind is answered. 0: it is not.
std::uint16_t answer_status(ErrorKind kind, ErrorForm form);

struct ErrorAnswer {
  ErrorKind kind = ErrorKind::none;
  http::Method method = http::Method::get;  // HEAD: no body
  http::ConnectionField connection = http::ConnectionField::close;
  ShouldRetry should_retry = ShouldRetry::unsaid;
  ErrorForm form = ErrorForm::json;
  std::string_view server;      // our token, for Proxy-Status
  std::string_view request_id;  // may be empty
};

// Appends a whole response.
void write_error(std::string& out, const ErrorAnswer& answer);

// Any other response of hushgate's own. `extra`: whole field lines, or empty.
struct LocalAnswer {
  std::uint16_t status;
  std::string_view content_type;
  std::string_view body;
  std::string_view extra;
};
void write_local(std::string& out, const LocalAnswer& answer, http::Method method,
                 http::ConnectionField connection, std::string_view request_id);

}  // namespace hushgate::proxy
