#include "proxy/access_log.h"

#include <netdb.h>

#include "proxy/errors.h"
#include "proxy/exchange.h"

namespace hushgate::proxy {
namespace {

void add_upstream(LogLine& line, const Exchange& exchange) {
  const Record& record = exchange.record;
  line.text("upstream", exchange.decision().upstream->name).number("attempts", record.attempts);
  add_endpoint(line, record.endpoint);
  if (record.refusals > 0) line.number("refusals", record.refusals);
  if (record.connect_rounds > 0) line.number("connect_rounds_failed", record.connect_rounds);
  if (record.attempts == 0) return;
  const std::string_view used = record.upstream_http.empty() ? "pooled" : "shared";
  line.text("connection", record.ordinal > 1 ? used : "new").number("ordinal", record.ordinal);
  if (!record.upstream_http.empty()) line.text("upstream_http", record.upstream_http);
}

void add_end(LogLine& line, const Record& record) {
  if (record.error.kind == ErrorKind::none) {
    line.text("end", "complete");
    return;
  }
  const ErrorFacts& error = facts(record.error.kind);
  line.text("end", error.type).text("side", name(error.side));
  add_os_error(line, record.error);
  if (record.fate_unknown) line.text("fate", "unknown");
}

}  // namespace

void add_endpoint(LogLine& line, const SocketAddress& endpoint) {
  if (endpoint != SocketAddress()) line.text("endpoint", endpoint.to_string());
}

void add_os_error(LogLine& line, const Error& error) {
  if (error.os_error == 0) return;
  if (error.kind == ErrorKind::dns_error) {
    line.text("resolver", ::gai_strerror(error.os_error));
  } else {
    line.number("errno", static_cast<std::uint64_t>(error.os_error));
  }
}

void log_exchange(Context& context, const Exchange& exchange, const SocketAddress& client) {
  const Record& record = exchange.record;
  const bool understood = record.head_done != Time{};
  if (!understood && record.status == 0) return;
  const Time now = context.loop.now();
  LogLine line = context.log.line(now, LogLevel::info, "exchange");
  line.text("request_id", exchange.request_id).text("client", client.to_string());
  if (!record.client_http.empty()) line.text("client_http", record.client_http);
  line.text("method", exchange.head.method_text).text("path", exchange.head.path);
  line.number("status", record.status)
      .number("request_bytes", record.request_bytes)
      .number("response_bytes", record.response_bytes)
      .ms("receiving_ms", record.turns[0])
      .ms("serving_ms", record.turns[1])
      .ms("sending_ms", record.turns[2])
      .ms("total_ms", now - record.began);
  if (record.first_byte != Time{}) line.ms("first_byte_ms", record.first_byte - record.began);
  if (exchange.has_decision()) add_upstream(line, exchange);
  add_end(line, record);
}

}  // namespace hushgate::proxy
