// The response's way: upstream → client.
#include <algorithm>
#include <cerrno>

#include "http/parser.h"
#include "proxy/exchange.h"
#include "proxy/retry.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using http::FramingKind;
using phase::Attempt;
using phase::Event;
using phase::Out;

bool Exchange::wants_response_bytes() const {
  const phase::State& state = session_->state();
  const bool expected = state.attempt == Attempt::waiting || state.attempt == Attempt::answering;
  return expected && state.out == Out::serving && !response_complete_;
}

void Exchange::relay_response() {
  for (int takes = 0; takes < kTurnTakes && !over() && wants_response_bytes(); ++takes) {
    if (!connection_->stream().readable()) return;
    {
      const io::Take take = connection_->stream().take();
      if (take.kind == io::Take::Kind::nothing) return;
      if (take.kind == io::Take::Kind::data) {
        upstream_timer_.note_progress(now());
        take_response(take.lease.bytes());
      } else {
        upstream_ended(take.kind, take.os_error);
      }
    }
    if (!over()) flush_client();
  }
}

void Exchange::take_response(Bytes bytes) {
  if (session_->state().attempt == Attempt::answering) return take_response_body(bytes);
  take_response_head(bytes);
}

// The parsed fields are views of the text, and both are done with when this returns.
void Exchange::take_response_head(Bytes bytes) {
  take_room(response_text_);
  response_text_.append(as_text(bytes));
  response_.fields.swap(context_.response_fields);
  read_response_head();
  response_.fields.clear();
  response_.fields.swap(context_.response_fields);
}

// Interim heads, then the final one; what lies behind it is body.
void Exchange::read_response_head() {
  while (session_->state().attempt == Attempt::waiting && !response_text_.empty()) {
    const http::Scan scan = response_scanner_.scan(response_text_);
    if (scan.event == http::ScanEvent::refused)
      return response_broken(http::as_upstream(scan.error));
    if (scan.event == http::ScanEvent::need_more) {
      if (session_->state().replay != phase::Replay::never) session_->apply(Event::answer_bytes);
      return;
    }
    if (!use_response_head(scan.head(response_text_))) return;
    if (session_->state().attempt == Attempt::answering) {
      take_response_body(as_bytes(std::string_view(response_text_).substr(scan.length)));
      return give_room(response_text_);
    }
    response_text_.erase(0, scan.length);
    response_scanner_.reset();
  }
}

// False: the attempt or the exchange is over, or has become a tunnel.
bool Exchange::use_response_head(std::string_view text) {
  const Result<void> parsed = http::parse_response_head(text, response_);
  if (!parsed) {
    response_broken(parsed.error().kind);
    return false;
  }
  if (is_stale_timeout()) {
    response_broken(ErrorKind::connection_terminated);
    return false;
  }
  if (session_->state().replay != phase::Replay::never) session_->apply(Event::answer_bytes);
  if (response_.interim()) {
    if (++interims_ > kMaxInterimResponses) {
      response_broken(ErrorKind::http_protocol_error);
      return false;
    }
    use_interim();
    return true;
  }
  const Result<http::Framing> framing = http::response_framing(head.method, response_);
  const bool asked = response_.status != 101 || head.wants_upgrade;
  // Nobody can tell where a request that is still arriving ends and the tunnel's bytes begin.
  const bool too_early =
      framing && framing->kind == FramingKind::tunnel && session_->state().in != phase::In::done;
  // To an HTTP/2 client every 2xx agrees to its CONNECT (RFC 8441 section 5). This one has ignored
  // it.
  const bool would_agree = framing && framing->kind != FramingKind::tunnel &&
                           response_.status / 100 == 2 && head.wants_upgrade &&
                           record.client_http == "2";
  if (!framing || !asked || too_early || would_agree) {
    response_broken(ErrorKind::http_protocol_error);
    return false;
  }
  if (framing->kind == FramingKind::tunnel) {
    const std::size_t head_bytes = text.size();
    response_framing_ = *framing;
    use_upgrade();                        // its fields are views of the text
    response_text_.erase(0, head_bytes);  // what is left is the tunnel's
    return false;
  }
  use_final(*framing);
  return true;
}

// Some servers say that an idle connection has timed out at the moment in which a request reaches
// them.
bool Exchange::is_stale_timeout() const {
  return response_.status == 408 && response_.connection.close && record.ordinal > 1 &&
         session_->state().replay == phase::Replay::once;
}

void Exchange::use_interim() {
  if (head.version == http::Version::http11) {
    http::write_interim_head(client_out_.large_tail(), response_, setup().via_token,
                             record.upstream_http);
  }
  session_->apply(Event::interim);
}

void Exchange::use_upgrade() {
  record.status = response_.status;
  record.first_byte = now();
  const bool is_101 = response_.status == 101;
  http::write_response_head(
      client_out_.large_tail(), response_,
      {.framing = {},
       .connection = is_101 ? http::ConnectionField::upgrade : http::ConnectionField::none,
       .via_token = setup().via_token,
       .via_version = record.upstream_http,
       .request_id = request_id});
  session_->apply(Event::upgraded);
}

void Exchange::use_final(http::Framing framing) {
  record.status = response_.status;
  record.first_byte = now();
  response_framing_ = framing;
  http::Framing to_client = framing;
  if (framing.kind == FramingKind::chunked || framing.kind == FramingKind::until_eof) {
    const bool chunks = head.version == http::Version::http11;
    to_client.kind = chunks ? FramingKind::chunked : FramingKind::until_eof;
  }
  client_framing_ = to_client.kind;
  if (client_framing_ == FramingKind::until_eof) session_->apply(Event::last);
  session_->apply(Event::answer_head);
  http::write_response_head(client_out_.large_tail(), response_,
                            {.framing = to_client,
                             .connection = client_connection_field(),
                             .via_token = setup().via_token,
                             .via_version = record.upstream_http,
                             .request_id = request_id});
  response_body_.begin(framing, {limits().max_header_bytes, limits().max_headers});
  response_complete_ = response_body_.ended();
}

void Exchange::take_response_body(Bytes bytes) {
  const Relayed relayed =
      relay_body(bytes, response_body_, client_framing_, client_out_, session_->stream());
  record.response_bytes += relayed.payload;
  if (relayed.failed) {
    return session_->fail(ErrorKind::client_gone, Event::reset, session_->stream().error());
  }
  if (relayed.error != ErrorKind::none) return response_broken(http::as_upstream(relayed.error));
  if (!response_body_.ended()) return;
  response_complete_ = true;
  surplus_bytes_ += bytes.size() - relayed.consumed;
}

// The attempt is over before its response was complete. Whether it is repeated is retry.h's word.
void Exchange::attempt_lost(Error error) {
  const bool replayable = session_->state().replay == phase::Replay::once;
  const Again again = try_again({.error = error.kind,
                                 .submitted = Submitted::something,
                                 .replayable = replayable,
                                 .rounds_failed = record.connect_rounds,
                                 .retries = limits().upstream_retries});
  if (replayable && again == Again::no) session_->apply(Event::answer_bytes);
  session_->fail(error.kind, Event::upstream_lost, error.os_error);
}

// Behind the handshake. In TLS 1.3 an upstream refuses our certificate, or misses it, only here.
void Exchange::tell_tls_failure() {
  const std::string why = connection_->stream().failure_text();
  if (why.empty()) return;
  context_.log.line(now(), LogLevel::warning, "upstream_tls_failed")
      .text("upstream", decision_.upstream->name)
      .text("endpoint", record.endpoint.to_string())
      .text("detail", why);
}

void Exchange::response_broken(ErrorKind kind) { attempt_lost({kind, 0}); }

void Exchange::upstream_ended(io::Take::Kind how, int os_error) {
  const bool answering = session_->state().attempt == Attempt::answering;
  if (how == io::Take::Kind::fin && answering && response_body_.ends_with_eof()) {
    response_body_.end_of_input();
    response_complete_ = true;
    if (!finish_body(response_body_, client_framing_, client_out_, session_->stream())) {
      session_->fail(ErrorKind::client_gone, Event::reset, session_->stream().error());
    }
    return;
  }
  const bool unprocessed =
      connection_->unprocessed() && phase::applicable(session_->state(), Event::unprocessed);
  if (unprocessed) return attempt_refused(os_error);
  if (os_error == EBADMSG) return response_broken(ErrorKind::http_protocol_error);
  if (os_error == EPROTO) tell_tls_failure();
  attempt_lost({ErrorKind::connection_terminated, os_error});
}

void Exchange::try_end_response() {
  const phase::State& state = session_->state();
  if (response_complete_ && state.attempt == Attempt::answering && state.out == Out::serving) {
    session_->apply(Event::answer_end);
  }
}

}  // namespace hushgate::proxy
