#include "h2/message_reader.h"

#include <limits>

#include "base/assert.h"
#include "base/spare_room.h"
#include "h2/message.h"
#include "http/own_head.h"

namespace hushgate::h2 {

namespace {

// The text was bounded by who wrote it.
constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max() / 2;
constexpr http::ScanBounds kBounds{kUnbounded, kUnbounded, kUnbounded};

// Heads are used in the turn in which they are read: one of each is enough for all readers.
http::RequestHead& shared_request() {
  static thread_local http::RequestHead head;
  return head;
}
http::ResponseHead& shared_response() {
  static thread_local http::ResponseHead head;
  return head;
}

}  // namespace

MessageReader::MessageReader(http::ScanRole role, http::Method asked)
    : scanner_(role, kBounds), role_(role), asked_(asked) {
  HG_ASSERT(role != http::ScanRole::trailers);
}

MessageReader::~MessageReader() { give_room(kept_); }

MessageReader::MessageReader(MessageReader&&) noexcept = default;
MessageReader& MessageReader::operator=(MessageReader&&) noexcept = default;

const http::RequestHead& MessageReader::request() const { return shared_request(); }
const http::ResponseHead& MessageReader::response() const { return shared_response(); }

void MessageReader::become_tunnel() {
  HG_ASSERT(state_ == State::asked || state_ == State::tunnel);
  state_ = State::tunnel;
}

MessageReader::Step MessageReader::read(Bytes in) {
  switch (state_) {
    case State::head: return read_head(in);
    case State::body: return read_body(in);
    case State::tunnel:
      if (in.empty()) return {};
      return {Event::data, in.size(), in};
    case State::asked:
      if (!in.empty()) state_ = State::broken;
      return {Event::none, in.size()};
    case State::ended:
    case State::broken: break;
  }
  return {Event::none, in.size()};
}

// Nearly always the whole head is in `in`, and is looked at where it lies. Else the scanner waits
// for its end: it does not begin again with every piece.
MessageReader::Step MessageReader::read_head(Bytes in) {
  if (keeps_head_) forget_head();
  if (kept_.empty()) {
    const Result<std::size_t> size = use_head(as_text(in));
    if (!size) return break_off(in);
    if (*size > 0) return {event_of_head(), *size};
    if (in.empty()) return {};
    take_room(kept_);
  }
  const std::size_t before = kept_.size();
  kept_.append(as_text(in));
  const http::Scan scan = scanner_.scan(kept_);
  if (scan.event == http::ScanEvent::refused) return break_off(in);
  if (scan.event == http::ScanEvent::need_more) return {Event::none, in.size()};
  scanner_.reset();
  keeps_head_ = true;
  const Result<std::size_t> size = use_head(scan.head(kept_));
  if (!size) return break_off(in);
  return {event_of_head(), scan.length - before};
}

MessageReader::Event MessageReader::event_of_head() const {
  return role_ == http::ScanRole::request ? Event::request : Event::response;
}

// 0: its end is missing.
Result<std::size_t> MessageReader::use_head(std::string_view text) {
  return role_ == http::ScanRole::request ? use_request(text) : use_response(text);
}

Result<std::size_t> MessageReader::use_request(std::string_view text) {
  http::RequestHead& head = shared_request();
  const Result<std::size_t> size = http::read_own_request_head(text, head);
  if (!size || *size == 0) return size;
  const Result<http::Framing> framing = http::request_framing(head);
  if (!framing) return std::unexpected(framing.error());
  begin_body(*framing);
  if (head.method == http::Method::connect || asks_extended_connect(head)) state_ = State::asked;
  return size;
}

Result<std::size_t> MessageReader::use_response(std::string_view text) {
  http::ResponseHead& head = shared_response();
  const Result<std::size_t> size = http::read_own_response_head(text, head);
  if (!size || *size == 0 || head.interim()) return size;
  const Result<http::Framing> framing = http::response_framing(asked_, head);
  if (!framing) return std::unexpected(framing.error());
  // Nothing in HTTP/2 ends with its connection.
  if (framing->kind == http::FramingKind::until_eof) return fail(ErrorKind::http_protocol_error);
  if (framing->kind == http::FramingKind::tunnel) {
    state_ = State::tunnel;
  } else {
    begin_body(*framing);
  }
  return size;
}

void MessageReader::begin_body(http::Framing framing) {
  state_ = State::body;
  body_.begin(framing, {kUnbounded, kUnbounded});
}

MessageReader::Step MessageReader::read_body(Bytes in) {
  if (keeps_head_) forget_head();
  Step step;
  if (!body_.ended()) {
    const http::BodyReader::Piece piece = body_.read(in);
    if (piece.error != ErrorKind::none) return break_off(in);
    step.consumed = piece.consumed;
    step.data = piece.data;
  }
  if (!step.data.empty()) {
    step.event = Event::data;
  } else if (body_.ended()) {
    state_ = State::ended;
    step.event = Event::end;
  }
  return step;
}

MessageReader::Step MessageReader::break_off(Bytes in) {
  state_ = State::broken;
  return {Event::none, in.size()};
}

void MessageReader::forget_head() {
  keeps_head_ = false;
  give_room(kept_);
}

}  // namespace hushgate::h2
