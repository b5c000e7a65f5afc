#include "proxy/exchange.h"

#include <utility>

#include "proxy/errors_grpc.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using phase::Attempt;
using phase::Conn;
using phase::Event;
using phase::In;
using phase::Out;
using stats::Counter;

void Exchange::Relay::run() { session->run(); }

Exchange::Exchange(Context& context)
    : context_(context),
      request_scanner_(http::ScanRole::request, http::ScanBounds::of(context.limits())),
      dialer_(relay_),
      retry_alarm_(relay_),
      upstream_timer_(context.wheel, relay_),
      response_scanner_(http::ScanRole::response, http::ScanBounds::of(context.limits())) {}

void Exchange::begin(Session& session, Time first_byte) {
  session_ = &session;
  relay_.session = &session;
  generation_ = &context_.generations.take();
  const http::ScanBounds bounds = http::ScanBounds::of(limits());
  request_scanner_ = {http::ScanRole::request, bounds};
  response_scanner_ = {http::ScanRole::response, bounds};
  record = {};
  record.began = first_byte;
  record.client_http = session.stream().http_version();
}

void Exchange::reset() {
  abort_upstream();
  relay_.unlink();
  session_ = nullptr;
  if (generation_ != nullptr) context_.generations.release(*std::exchange(generation_, nullptr));
  head.clear();
  request_id.clear();
  clear_warm(request_text_);
  request_scanner_.reset();
  decision_ = {};
  safe_ = false;
  endpoint_ = nullptr;
  give_room(response_text_);
  response_scanner_.reset();
  response_.clear();
  request_framing_ = response_framing_ = {};
  request_body_.begin({}, {0, 0});
  response_body_.begin({}, {0, 0});
  upstream_deaf_ = false;
  client_framing_ = http::FramingKind::none;
  client_out_.restart();
  upstream_out_.restart();
  clear_warm(resend_);
  interims_ = 0;
  surplus_bytes_ = 0;
  response_complete_ = false;
  tunnel_moved_ = 0;
  client_finished_ = upstream_finished_ = client_shut_ = upstream_shut_ = false;
}

bool Exchange::over() const { return session_->state().conn != Conn::exchange; }

io::Task<> Exchange::run() {
  for (;;) {
    step();
    if (over()) break;
    co_await *session_;
  }
}

// Everything that can be done now, the client's leaving first.
void Exchange::step() {
  if (!session_->look_at_client()) return;
  flush_client();
  if (!over() && session_->state().attempt == Attempt::opening) step_dial();
  if (!over()) relay_request();
  if (!session_->look_at_client())
    return;  // its FIN may have come before its last bytes were wanted
  if (!over()) relay_response();
  if (!over()) flush_upstream();  // a repeated request, whose connection was there at once
  if (!over()) try_end_response();
  if (!over()) session_->judge_client();
  if (!over()) judge_upstream();
  // An error's answer is this turn's work too.
  if (!over() && session_->state().attempt == Attempt::none) flush_client();
  if (!over()) judge_discard();
  if (!over() && work_waits()) context_.loop.ready_next_turn(*session_);
}

// Bytes are here, they are wanted, and no event will tell of them again: whether a share of the
// turn was used up, or something later in the step made them wanted.
bool Exchange::work_waits() const {
  const bool request_here = !rest.empty() || session_->stream().readable();
  if (request_here && wants_request_bytes()) return true;
  return wants_response_bytes() && connection_->stream().readable();
}

// Writes what waits for the client, and says whether something still does.
void Exchange::flush_client() {
  if (!client_out_.empty() && !client_out_.flush(session_->stream())) {
    return session_->fail(ErrorKind::client_gone, Event::reset, session_->stream().error());
  }
  const Out out = session_->state().out;
  if (!client_out_.empty()) {
    if (out == Out::serving) session_->apply(Event::takes_not);
    return;
  }
  if (out == Out::sending) session_->apply(Event::takes);
  const phase::State& state = session_->state();
  if (!over() && state.attempt == Attempt::none && state.out == Out::serving) {
    session_->apply(Event::local_end);
  }
}

void Exchange::run_upstream_clock(phase::UpstreamClock clock) {
  switch (clock) {
    case phase::UpstreamClock::none:
    case phase::UpstreamClock::connect: return upstream_timer_.stop();  // the dialer has its own
    case phase::UpstreamClock::silence:
      return upstream_timer_.run_silence(decision_.limits->upstream_timeout, now());
    case phase::UpstreamClock::send:
      return upstream_timer_.run_send(upstream_acknowledged(), now(), limits());
  }
}

std::int64_t Exchange::upstream_acknowledged() {
  return static_cast<std::int64_t>(upstream_out_.accepted()) -
         static_cast<std::int64_t>(connection_->stream().unacknowledged());
}

void Exchange::judge_upstream() {
  if (!upstream_timer_.expired()) return;
  if (upstream_timer_.judge_silence(now()) == TimerVerdict::goes_on) return;
  context_.counters.add(Counter::upstream_silent);
  session_->fail(ErrorKind::response_timeout, Event::upstream_deadline);
}

// Everything of the request is with the kernel.
bool Exchange::request_sent() const {
  return request_body_.ended() && upstream_out_.empty() && !upstream_deaf_;
}

void Exchange::finish_upstream() {
  const bool sent = request_sent();
  const http::UpstreamExchange facts{
      .request_connection = {},
      .request = sent ? http::Passage::complete : http::Passage::incomplete,
      .response_version = response_.version,
      .response_connection = response_.connection,
      .response_framing = response_framing_,
      .response = http::Passage::complete,
      .surplus_bytes = surplus_bytes_,
      .keep_alive_timeout_s = response_.keep_alive_timeout_s,
  };
  if (surplus_bytes_ > 0 || !sent) return abort_upstream();
  if (safe_ && http::may_pool(facts)) {
    return endpoint_->put_idle(std::move(connection_), response_.keep_alive_timeout_s);
  }
  endpoint_->end(std::move(connection_));
}

void Exchange::abort_upstream() {
  upstream_timer_.stop();
  retry_alarm_.cancel();
  dialer_.cancel();
  if (!connection_) return;
  // Before the reset, a FIN: a server that reads then sees the orderly end that it knows how to
  // take, and whoever ignores it meets the reset. Only behind a whole request, so that a cut one
  // cannot be taken for complete; a tunnel is never known to be whole.
  const bool is_tunnel = response_framing_.kind == http::FramingKind::tunnel;
  if (request_sent() && !is_tunnel) connection_->stream().finish_writing();
  endpoint_->drop(std::move(connection_));
}

ShouldRetry Exchange::should_retry() const {
  if (facts(record.error.kind).status < 500 || facts(record.error.kind).side == Side::client) {
    return ShouldRetry::unsaid;
  }
  if (record.attempts == record.refusals) return ShouldRetry::yes;
  return safe_ ? ShouldRetry::unsaid : ShouldRetry::no;
}

void Exchange::write_error_answer() {
  const ErrorKind kind = record.error.kind;
  const http::Field* const type = http::find_field(head.fields, "content-type");
  const ErrorForm form =
      type != nullptr && is_grpc(type->value) ? ErrorForm::grpc : ErrorForm::json;
  record.status = answer_status(kind, form);
  const ShouldRetry retry = should_retry();
  record.fate_unknown = retry == ShouldRetry::no;
  if (record.fate_unknown) context_.counters.add(Counter::fates_unknown);
  if (request_id.empty()) choose_request_id();  // a head that never became complete
  if (session_->state().in == In::discarding && rest_is_too_much()) session_->apply(Event::last);
  client_framing_ = http::FramingKind::length;
  write_error(client_out_.large_tail(), {.kind = kind,
                                         .method = head.method,
                                         .connection = client_connection_field(),
                                         .should_retry = retry,
                                         .form = form,
                                         .server = setup().via_token,
                                         .request_id = request_id});
}

}  // namespace hushgate::proxy
