// An attempt: a connection from the pool or a new one, and the head written to it.
#include <utility>

#include "proxy/access_log.h"
#include "proxy/exchange.h"
#include "proxy/retry.h"
#include "proxy/session.h"
#include "upstream/spares.h"

namespace hushgate::proxy {

using phase::Attempt;
using phase::Event;
using stats::Counter;

void Exchange::open_attempt() {
  if (safe_) {
    if (upstream::ConnectionPtr pooled = endpoint_->take_idle()) return use(std::move(pooled));
  }
  upstream::Spares* const spares = endpoint_->spares();
  if (spares == nullptr) return begin_dial();
  if (upstream::ConnectionPtr spare = spares->take()) {
    use(std::move(spare));
  } else {
    begin_dial();
  }
  spares->refill(limits());  // behind it: what is needed now comes first
}

// The failed one is gone already, or goes now; the second one is always new.
void Exchange::reopen_attempt() {
  context_.counters.add(Counter::replays);
  context_.log.line(now(), LogLevel::info, "replay")
      .text("request_id", request_id)
      .text("upstream", decision_.upstream->name)
      .text("endpoint", record.endpoint.to_string())
      .number("ordinal", record.ordinal);
  abort_upstream();
  record.error = {};
  give_room(response_text_);
  response_scanner_.reset();
  begin_dial();
}

void Exchange::begin_dial() {
  dialer_.start(*endpoint_, limits(), now());
  step_dial();
}

void Exchange::step_dial() {
  if (retry_alarm_.pending()) return;
  if (dialer_.state() == upstream::Dialer::State::idle) dialer_.start(*endpoint_, limits(), now());
  switch (dialer_.step(now())) {
    case upstream::Dialer::State::connected: return use(dialer_.take(now()));
    case upstream::Dialer::State::failed: return dial_failed();
    default: return;
  }
}

void Exchange::dial_failed() {
  const Error error = dialer_.error();
  ++record.connect_rounds;
  record.endpoint = dialer_.failed_address();
  dialer_.cancel();
  const Again again = try_again({.error = error.kind,
                                 .submitted = Submitted::nothing,
                                 .replayable = false,
                                 .rounds_failed = record.connect_rounds,
                                 .retries = limits().upstream_retries});
  if (again != Again::after_backoff) {
    return session_->fail(error.kind, Event::not_connected, error.os_error);
  }
  const Duration wait = backoff(limits().retry_backoff, record.connect_rounds, context_.random());
  context_.counters.add(Counter::connect_retries);
  LogLine line = context_.log.line(now(), LogLevel::warning, "connect_retry");
  line.text("request_id", request_id).text("upstream", decision_.upstream->name);
  add_endpoint(line, record.endpoint);
  line.text("error", facts(error.kind).type).ms("wait_ms", wait);
  add_os_error(line, error);
  context_.loop.set_alarm(retry_alarm_, now() + wait);
}

void Exchange::use(upstream::ConnectionPtr connection) {
  connection_ = std::move(connection);
  io::Stream& stream = connection_->stream();
  stream.set_owner(session_);
  ++connection_->ordinal;
  ++record.attempts;
  record.connected = now();
  record.ordinal = connection_->ordinal;
  record.endpoint = stream.peer();
  upstream_deaf_ = false;
  surplus_bytes_ = 0;
  response_complete_ = false;
  upstream_out_.restart();
  write_upstream_head();
  session_->apply(Event::connected);
}

void Exchange::write_upstream_head() {
  const config::Upstream& upstream = *decision_.upstream;
  http::ConnectionField connection = http::ConnectionField::close;
  if (safe_ || head.method == http::Method::connect) connection = http::ConnectionField::none;
  if (head.wants_upgrade) connection = http::ConnectionField::upgrade;
  const io::Stream& client = session_->stream();
  const std::string subject = client.peer_subject();
  const bool own_host =
      upstream.host_policy == config::HostPolicy::upstream || head.authority.empty();
  http::write_request_head(
      upstream_out_.large_tail(), head,
      {.path_prefix = upstream.prefix,
       .host = own_host ? std::string_view(upstream.authority) : head.authority,
       .framing = request_framing_,
       .connection = connection,
       .trust = trust_,
       .client_address = {client_text_.data(), client_text_size_},
       .forwarded_proto = client.encrypted() ? "https" : "http",
       .forwarded_host = head.authority,
       .via_token = setup().via_token,
       .request_id = request_id,
       .client_subject = subject});
}

}  // namespace hushgate::proxy
