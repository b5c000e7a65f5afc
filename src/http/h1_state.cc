#include "http/h1_state.h"

namespace hushgate::http {

namespace {

bool is_self_delimited(FramingKind kind) {
  return kind != FramingKind::until_eof && kind != FramingKind::tunnel;
}

bool peer_stays(Version version, const ConnectionOptions& connection) {
  if (connection.close) return false;
  return version == Version::http11 || connection.keep_alive;
}

}  // namespace

bool may_keep_alive(const ClientExchange& exchange) {
  if (exchange.lifetime == Lifetime::stopping) return false;
  if (exchange.request == Passage::incomplete) return false;
  if (exchange.response == Passage::incomplete) return false;
  if (!is_self_delimited(exchange.response_framing.kind)) return false;
  return peer_stays(exchange.request_version, exchange.request_connection);
}

bool may_pool(const UpstreamExchange& exchange) {
  if (exchange.request == Passage::incomplete) return false;
  if (exchange.response == Passage::incomplete) return false;
  if (exchange.surplus_bytes > 0) return false;
  if (exchange.request_connection.close) return false;
  if (!is_self_delimited(exchange.response_framing.kind)) return false;
  if (exchange.keep_alive_timeout_s.value_or(kMinPoolTimeoutS) < kMinPoolTimeoutS) return false;
  return peer_stays(exchange.response_version, exchange.response_connection);
}

}  // namespace hushgate::http
