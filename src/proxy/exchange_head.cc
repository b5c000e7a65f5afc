// The request's head: taken, understood, routed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/assert.h"
#include "http/parser.h"
#include "proxy/exchange.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using phase::Event;
using stats::Counter;

namespace {

void append_hex(std::string& out, std::uint64_t bits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<char, 16> digits;
  for (std::size_t i = digits.size(); i > 0; --i, bits >>= 4U) digits[i - 1] = kHex[bits & 0xFU];
  out.append(digits.data(), digits.size());
}

}  // namespace

bool Exchange::take_head(Bytes bytes) {
  request_text_.append(as_text(bytes));
  return scan_head();
}

bool Exchange::take_head_from_rest() {
  HG_ASSERT(request_text_.empty());
  request_text_.swap(rest);
  return scan_head();
}

bool Exchange::scan_head() {
  request_scan_ = request_scanner_.scan(request_text_);
  if (request_scan_.event == http::ScanEvent::need_more) return false;
  if (request_scan_.event == http::ScanEvent::complete) {
    rest.assign(request_text_, request_scan_.length);
    request_text_.resize(request_scan_.length);
    if (request_text_.capacity() > kWarmBytes) request_text_.shrink_to_fit();
  }
  return true;
}

bool Exchange::is_http2_preface() const {
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\n";
  return request_scan_.event == http::ScanEvent::complete && request_text_ == kPreface;
}

std::string Exchange::give_up_head() {
  record.ended = now();
  std::string taken = std::exchange(request_text_, {});
  taken += rest;
  rest.clear();
  return taken;
}

void Exchange::act_on_head() {
  record.head_done = now();
  const ErrorKind fault = parse_head();
  choose_request_id();
  if (fault != ErrorKind::none) return refuse(fault);
  context_.counters.add(Counter::requests);
  const bool may_stay = http::may_keep_alive({
      .request_version = head.version,
      .request_connection = head.connection,
      .request = http::Passage::complete,
      .response_framing = {},
      .response = http::Passage::complete,
      .lifetime =
          context_.stage == Stage::stopping ? http::Lifetime::stopping : http::Lifetime::serving,
  });
  if (!may_stay) session_->apply(Event::last);
  const std::size_t head_bytes =
      std::min<std::size_t>(request_text_.size(), limits().max_header_bytes);
  request_body_.begin(request_framing_, {limits().max_header_bytes - head_bytes,
                                         limits().max_headers - head.fields.size()});
  route_request();
}

ErrorKind Exchange::parse_head() {
  if (request_scan_.event == http::ScanEvent::refused) return request_scan_.error;
  const Result<void> parsed = http::parse_request_head(request_scan_.head(request_text_), head);
  if (!parsed) return parsed.error().kind;
  const Result<http::Framing> framing = http::request_framing(head);
  if (!framing) return framing.error().kind;
  request_framing_ = *framing;
  safe_ = http::is_safe_bodyless(head, request_framing_);
  return ErrorKind::none;
}

// A client that we trust may bring an id; otherwise one is made.
void Exchange::choose_request_id() {
  const IpPort* peer = session_->stream().peer().ip();
  trust_ = http::Trust::untrusted;
  if (peer != nullptr) {
    client_text_size_ = peer->ip.unmapped().format(client_text_);
    for (const Cidr& block : setup().config.client.trusted_proxies) {
      if (block.contains(peer->ip)) trust_ = http::Trust::trusted;
    }
  }
  const http::Field* brought = http::find_field(head.fields, http::FieldId::x_request_id);
  if (trust_ == http::Trust::trusted && brought != nullptr && !brought->value.empty() &&
      brought->value.size() <= kMaxRequestIdBytes && http::is_token(brought->value)) {
    request_id = brought->value;
    return;
  }
  append_hex(request_id, context_.random());
  append_hex(request_id, context_.random());
}

// Ends through `closing`: what follows this head cannot be told.
void Exchange::refuse(ErrorKind kind) { session_->fail(kind, Event::refused); }

// Behind an Expect or a CONNECT that we answer ourselves nobody knows what the client will send;
// and nothing can follow a body that will not be read.
void Exchange::close_if_unsure() {
  const bool unsure = head.expect_continue || head.method == http::Method::connect;
  if (unsure || rest_is_too_much()) session_->apply(Event::last);
}

// An error that leaves the connection usable.
void Exchange::fail_here(ErrorKind kind) {
  close_if_unsure();
  record.error = {kind, 0};
  session_->apply(request_framing_.bodyless() ? Event::head_local : Event::head_local_body);
  write_error_answer();
}

void Exchange::answer_here(const LocalAnswer& answer) {
  close_if_unsure();
  session_->apply(request_framing_.bodyless() ? Event::head_local : Event::head_local_body);
  record.status = answer.status;
  write_local(client_out_.large_tail(), answer, head.method, client_connection_field(), request_id);
}

// RFC 9110 section 7.6.2: a TRACE or OPTIONS with Max-Forwards: 0 ends here.
bool Exchange::answer_at_last_hop() {
  if (!head.max_forwards || *head.max_forwards != 0) return false;
  if (head.method == http::Method::options) {
    answer_here({200, "", "", "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE\r\n"});
    return true;
  }
  std::string echo = fmt::format("{} {} HTTP/1.1\r\n", head.method_text, head.target);
  for (const http::Field& field : head.fields) {
    const bool secret = field.id == http::FieldId::proxy_authorization ||
                        http::equals_lower(field.name, "authorization") ||
                        http::equals_lower(field.name, "cookie");
    if (!secret) fmt::format_to(std::back_inserter(echo), "{}: {}\r\n", field.name, field.value);
  }
  answer_here({200, "message/http", echo + "\r\n", ""});
  return true;
}

void Exchange::route_request() {
  if (http::via_names(head.fields, setup().via_token)) {
    return fail_here(ErrorKind::proxy_loop);
  }
  route::Site* const site = session_->site();
  const route::Verdict verdict = site != nullptr ? site->decide(head) : setup().decide(head);
  if (const ErrorKind* error = std::get_if<ErrorKind>(&verdict)) {
    const bool faulty = facts(*error).status == 400;
    return faulty ? refuse(*error) : fail_here(*error);
  }
  if (answer_at_last_hop()) return;
  if (const auto* answer = std::get_if<route::SiteAnswer>(&verdict)) {
    return answer_here({answer->status, answer->content_type, answer->body, answer->fields});
  }
  begin_upstream(std::get<route::Decision>(verdict));
}

void Exchange::begin_upstream(const route::Decision& decision) {
  decision_ = decision;
  endpoint_ = &generation_->endpoint(*decision.upstream);
  session_->timer().set_upload_rate(decision.limits->min_upload_bytes_per_second);
  const std::uint64_t most = decision.limits->max_body_bytes;
  if (most != 0 && request_framing_.length > most) return refuse(ErrorKind::body_too_large);
  if (safe_) return session_->apply(Event::head_safe);
  if (request_framing_.bodyless()) return session_->apply(Event::head_bodyless);
  session_->apply(head.expect_continue ? Event::head_expect : Event::head_body);
}

http::ConnectionField Exchange::client_connection_field() const {
  if (session_->state().after == phase::After::close) return http::ConnectionField::close;
  return head.version == http::Version::http10 ? http::ConnectionField::keep_alive
                                               : http::ConnectionField::none;
}

}  // namespace hushgate::proxy
