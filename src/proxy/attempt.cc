// An attempt: a connection from the pool or a new one, and the head written to it.
#include <utility>

#include "base/assert.h"
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

// The failed one is gone already, or goes now; the next one is never from the pool.
void Exchange::reopen_attempt() {
  const bool refused = connection_ && connection_->unprocessed();
  if (!refused) {
    context_.counters.add(Counter::replays);
    context_.log.line(now(), LogLevel::info, "replay")
        .text("request_id", request_id)
        .text("upstream", decision_.upstream->name)
        .text("endpoint", record.endpoint.to_string())
        .number("ordinal", record.ordinal);
  }
  abort_upstream();
  record.error = {};
  give_room(response_text_);
  response_scanner_.reset();
  if (refused && record.refusals > 1) {
    wait_for_retry(record.refusals - 1);
  } else {
    begin_dial();
  }
}

// step_dial() follows.
Duration Exchange::wait_for_retry(std::uint32_t failures) {
  const Duration wait = backoff(limits().retry_backoff, failures, context_.random());
  context_.loop.set_alarm(retry_alarm_, now() + wait);
  return wait;
}

// The attempt has failed, and the upstream has proved that it did not process it (CONTRACT section
// 2). The connection is still there.
void Exchange::attempt_refused(int os_error) {
  ++record.refusals;
  context_.counters.add(Counter::upstream_refusals);
  tell_refusal();
  std::optional<std::string> body = held_body();
  const Again again = try_again({.error = ErrorKind::request_refused,
                                 .submitted = Submitted::refused,
                                 .replayable = false,
                                 .rounds_failed = record.refusals,
                                 .retries = limits().upstream_retries,
                                 .held = body.has_value()});
  if (again == Again::no) {
    session_->apply(Event::answer_bytes);  // nothing of it may be sent again
    return session_->fail(ErrorKind::request_refused, Event::upstream_lost, os_error);
  }
  resend_ = *std::move(body);
  session_->apply(Event::unprocessed);
}

void Exchange::tell_refusal() {
  LogLine line = context_.log.line(now(), LogLevel::info, "upstream_refused");
  line.text("request_id", request_id)
      .text("upstream", decision_.upstream->name)
      .text("endpoint", record.endpoint.to_string())
      .number("ordinal", record.ordinal);
  const std::string why = connection_->stream().failure_text();
  if (!why.empty()) line.text("detail", why);
}

// Everything that was taken of the request's body, as it was framed for the upstream; none if a
// part of it is lost.
std::optional<std::string> Exchange::held_body() {
  if (upstream_out_.accepted() < upstream_head_bytes_) return std::move(resend_);
  if (upstream_deaf_) return std::nullopt;
  std::optional<std::string> body = connection_->take_back();
  if (body) body->append(upstream_out_.waiting_text());
  return body;
}

// Nothing is offered to a stream that has failed: what it does not take would be lost, and may have
// to be sent again.
bool Exchange::stream_lost() const {
  return connection_->multiplexed() && connection_->stream().failed();
}

// What an earlier attempt may have acted on goes out on a connection that is younger than it.
upstream::Dialer::Purpose Exchange::dial_purpose() const {
  if (head.wants_upgrade) return upstream::Dialer::Purpose::upgrade;
  return record.attempts > record.refusals ? upstream::Dialer::Purpose::replay
                                           : upstream::Dialer::Purpose::request;
}

void Exchange::begin_dial() {
  dialer_.start(*endpoint_, limits(), now(), dial_purpose());
  step_dial();
}

void Exchange::step_dial() {
  if (retry_alarm_.pending()) return;
  if (dialer_.state() == upstream::Dialer::State::idle) {
    dialer_.start(*endpoint_, limits(), now(), dial_purpose());
  }
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
  const Duration wait = wait_for_retry(record.connect_rounds);
  context_.counters.add(Counter::connect_retries);
  LogLine line = context_.log.line(now(), LogLevel::warning, "connect_retry");
  line.text("request_id", request_id).text("upstream", decision_.upstream->name);
  add_endpoint(line, record.endpoint);
  line.text("error", facts(error.kind).type).ms("wait_ms", wait);
  add_os_error(line, error);
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
  record.upstream_http = stream.http_version();
  upstream_deaf_ = false;
  surplus_bytes_ = 0;
  response_complete_ = false;
  upstream_out_.restart();
  write_upstream_head();
  upstream_head_bytes_ = upstream_out_.waiting();
  session_->apply(Event::connected);
  // Alone: of a head that a stream does not take, all that is to follow stays here.
  if (connection_->multiplexed()) flush_upstream();
  if (stream_lost()) return;
  HG_ASSERT(!connection_->multiplexed() || upstream_out_.accepted() == upstream_head_bytes_);
  upstream_out_.tail().append(resend_);
  clear_warm(resend_);
}

void Exchange::write_upstream_head() {
  const config::Upstream& upstream = *decision_.upstream;
  http::ConnectionField connection = http::ConnectionField::close;
  const bool stays = safe_ || head.method == http::Method::connect || connection_->multiplexed();
  if (stays) connection = http::ConnectionField::none;
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
       .via_version = record.client_http,
       .request_id = request_id,
       .client_subject = subject});
}

}  // namespace hushgate::proxy
