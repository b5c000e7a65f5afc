#include "proxy/errors.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/assert.h"
#include "proxy/errors_grpc.h"

namespace hushgate::proxy {
namespace {

using enum ErrorKind;

constexpr std::array kFacts{
    ErrorFacts{none, Side::hushgate, 0, "none", "", ""},
    ErrorFacts{bad_request, Side::client, 400, "bad_request", "http_request_error",
               "The request is malformed, or could be read in two ways."},
    ErrorFacts{bad_path, Side::client, 400, "bad_path", "http_request_error",
               "The path, once decoded, leads to another route than the one it is written for."},
    ErrorFacts{
        request_timeout, Side::client, 408, "request_timeout", "http_request_error",
        "The request did not arrive in time (limits.requestTimeoutMs, limits.idleTimeoutMs)."},
    ErrorFacts{body_too_large, Side::client, 413, "body_too_large", "http_request_denied",
               "The request body is larger than is allowed here (limits.maxBodyBytes)."},
    ErrorFacts{target_too_long, Side::client, 414, "target_too_long", "http_request_error",
               "The request line is too long (limits.maxRequestLineBytes)."},
    ErrorFacts{
        head_too_large, Side::client, 431, "head_too_large", "http_request_error",
        "The header fields are too large or too many (limits.maxHeaderBytes, limits.maxHeaders)."},
    ErrorFacts{unknown_transfer_coding, Side::client, 501, "unknown_transfer_coding",
               "http_request_error", "A transfer coding other than chunked is not supported."},
    ErrorFacts{method_not_allowed, Side::client, 405, "method_not_allowed", "http_request_denied",
               "This method is not allowed on this route."},
    ErrorFacts{version_not_supported, Side::client, 505, "version_not_supported",
               "http_request_error", "This version of HTTP is not spoken here."},
    ErrorFacts{client_gone, Side::client, 0, "client_gone", "", "The client went away."},
    ErrorFacts{client_stalled, Side::client, 0, "client_stalled", "",
               "The client took too little of its response (limits.sendTimeoutMs)."},
    ErrorFacts{no_route, Side::hushgate, 404, "no_route", "destination_not_found",
               "No route covers this path."},
    ErrorFacts{proxy_loop, Side::hushgate, 508, "proxy_loop_detected", "proxy_loop_detected",
               "The request has come through this gateway before."},
    ErrorFacts{shedding, Side::hushgate, 503, "connection_limit_reached",
               "connection_limit_reached",
               "There is no room for another connection (limits.maxConnections, descriptors)."},
    ErrorFacts{stopping, Side::hushgate, 0, "stopping", "", "The gateway was stopped."},
    ErrorFacts{internal_fault, Side::hushgate, 500, "internal_error", "proxy_internal_error",
               "The gateway failed."},
    ErrorFacts{dns_error, Side::upstream, 502, "dns_error", "dns_error",
               "The upstream's name could not be resolved."},
    ErrorFacts{dns_timeout, Side::upstream, 504, "dns_timeout", "dns_timeout",
               "Resolving the upstream's name took too long (limits.connectTotalMs)."},
    ErrorFacts{connection_refused, Side::upstream, 502, "connection_refused", "connection_refused",
               "The upstream refused the connection."},
    ErrorFacts{connection_failed, Side::upstream, 502, "connection_failed",
               "destination_ip_unroutable", "No connection to the upstream could be made."},
    ErrorFacts{connection_timeout, Side::upstream, 504, "connection_timeout", "connection_timeout",
               "Connecting to the upstream took too long (limits.connectTimeoutMs)."},
    ErrorFacts{tls_certificate_error, Side::upstream, 502, "tls_certificate_error",
               "tls_certificate_error", "The upstream's certificate could not be verified."},
    ErrorFacts{tls_protocol_error, Side::upstream, 502, "tls_protocol_error", "tls_protocol_error",
               "The TLS handshake with the upstream failed."},
    ErrorFacts{
        ports_exhausted, Side::hushgate, 503, "connection_limit_reached",
        "connection_limit_reached",
        "No local port was free for a connection to the upstream (upstream.sourceAddresses)."},
    ErrorFacts{connection_terminated, Side::upstream, 502, "connection_terminated",
               "connection_terminated",
               "The upstream closed the connection before its response was complete."},
    ErrorFacts{http_protocol_error, Side::upstream, 502, "http_protocol_error",
               "http_protocol_error",
               "The upstream's response is malformed, or could be read in two ways."},
    ErrorFacts{upstream_head_too_large, Side::upstream, 502, "http_response_header_section_size",
               "http_response_header_section_size",
               "The upstream's header fields are too large or too many (limits.maxHeaderBytes, "
               "limits.maxHeaders)."},
    ErrorFacts{request_refused, Side::upstream, 503, "request_refused", "destination_unavailable",
               "The upstream refused the request without processing it (limits.upstreamRetries)."},
    ErrorFacts{response_timeout, Side::upstream, 504, "http_response_timeout",
               "http_response_timeout",
               "The upstream was silent for too long (limits.upstreamTimeoutMs)."},
};

constexpr bool in_order_of_kinds() {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].kind != static_cast<ErrorKind>(i)) return false;
  }
  return true;
}
static_assert(in_order_of_kinds());

std::string_view reason(std::uint16_t status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 508: return "Loop Detected";
    default: return "";
  }
}

void write_connection(std::string& out, http::ConnectionField connection) {
  if (connection == http::ConnectionField::close) out += "Connection: close\r\n";
  if (connection == http::ConnectionField::keep_alive) out += "Connection: keep-alive\r\n";
}

}  // namespace

std::string_view name(Side side) {
  switch (side) {
    case Side::client: return "client";
    case Side::upstream: return "upstream";
    case Side::hushgate: return "hushgate";
  }
  return "";
}

const ErrorFacts& facts(ErrorKind kind) { return kFacts[static_cast<std::size_t>(kind)]; }

std::uint16_t answer_status(ErrorKind kind, ErrorForm form) {
  const std::uint16_t status = facts(kind).status;
  return status == 0 || form == ErrorForm::json ? status : 200;
}

void write_error(std::string& out, const ErrorAnswer& answer) {
  const ErrorFacts& error = facts(answer.kind);
  HG_ASSERT(error.status != 0);
  std::string body;
  std::string extra;
  if (answer.form == ErrorForm::grpc) {
    extra = fmt::format("Content-Type: application/grpc\r\ngrpc-status: {}\r\ngrpc-message: ",
                        grpc_status(error.status));
    append_grpc_message(extra, error.message);
    extra += "\r\n";
  } else {
    body = fmt::format(R"({{"error":{{"type":"{}","message":"{}","request_id":"{}"}}}})"
                       "\n",
                       error.type, error.message, answer.request_id);
  }
  if (!error.proxy_status.empty()) {
    fmt::format_to(std::back_inserter(extra), "Proxy-Status: {}; error={}", answer.server,
                   error.proxy_status);
    if (answer.kind == ports_exhausted) extra += "; details=\"no local port\"";
    extra += "\r\n";
  }
  if (error.status == 503) extra += "Retry-After: 1\r\n";
  if (error.status == 405)
    extra += "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE\r\n";
  if (answer.should_retry == ShouldRetry::yes) extra += "x-should-retry: true\r\n";
  if (answer.should_retry == ShouldRetry::no) extra += "x-should-retry: false\r\n";
  const std::uint16_t status = answer_status(answer.kind, answer.form);
  write_local(out, {status, "application/json", body, extra}, answer.method, answer.connection,
              answer.request_id);
}

void write_local(std::string& out, const LocalAnswer& answer, http::Method method,
                 http::ConnectionField connection, std::string_view request_id) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", answer.status,
                 reason(answer.status));
  if (!answer.body.empty()) {
    fmt::format_to(std::back_inserter(out), "Content-Type: {}\r\n", answer.content_type);
  }
  if (answer.status != 204) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", answer.body.size());
  }
  out += answer.extra;
  write_connection(out, connection);
  if (!request_id.empty())
    fmt::format_to(std::back_inserter(out), "X-Request-Id: {}\r\n", request_id);
  out += "\r\n";
  if (method != http::Method::head) out += answer.body;
}

}  // namespace hushgate::proxy
