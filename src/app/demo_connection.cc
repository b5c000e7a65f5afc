#include "app/demo_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "app/demo_bytes.h"
#include "app/demo_head.h"
#include "app/demo_socket.h"
#include "http/framing.h"
#include "http/parser.h"

namespace hushgate::app {
namespace {

constexpr std::size_t kNumberedPieceBytes = 64 * 1'024;

http::TrailerBounds trailer_bounds() {
  const Limits limits;
  return {limits.max_header_bytes, limits.max_headers};
}

}  // namespace

DemoConnection::DemoConnection(const DemoHouse& house, io::StreamPtr stream)
    : house_(house),
      stream_(std::move(stream)),
      scanner_(http::ScanRole::request, http::ScanBounds::of(Limits{})),
      chunked_(trailer_bounds()) {
  stream_->set_owner(this);
  life_ = live();
  life_.start();
  house_.loop.ready(*this);
}

void DemoConnection::stop(io::CloseHow how) {
  stage_ = Stage::stopping;
  how_ = how;
  house_.loop.ready(*this);
}

void DemoConnection::after_run() {
  if (life_.done()) house_.keeper.ended(*this);
}

io::Task<> DemoConnection::live() {
  co_await *this;  // nothing may end before the constructor has
  while (keep_ == DemoKeep::yes && !over()) {
    const Heard heard = co_await hear();
    if (heard == Heard::nothing) break;
    if (heard == Heard::refusal) keep_ = DemoKeep::no;
    const DemoOutcome outcome = co_await answer();
    end_request(outcome);
    if (outcome != DemoOutcome::answered) break;
  }
  if (!over()) co_await linger();
  alarm_.cancel();
  io::close(std::move(stream_), how_);
}

io::Task<DemoConnection::Heard> DemoConnection::hear() {
  request_id_ = 0;
  const Time begun_by = house_.loop.now() + house_.timing.idle_timeout;
  while (input_.empty()) {
    const bool more = co_await more_input(begun_by);
    if (!more) co_return Heard::nothing;
  }
  const Time due = house_.loop.now() + kDemoRequestTimeout;
  Heard heard = co_await hear_head(due);
  if (heard != Heard::request) co_return heard;
  request_id_ = house_.pages.ledger().begin(head_, house_.loop.now());
  heard = co_await hear_body(due);
  if (heard != Heard::request) co_return heard;
  ++requests_;
  compose();
  co_return Heard::request;
}

// Has a page answer the request, or the manner.
void DemoConnection::compose() {
  if (house_.manner == DemoManner::closing && requests_ > 1) {
    reply_ = {.play = DemoPlay::drop};
    return;
  }
  std::string_view path = head_.path;
  const std::string_view prefix = prefix_of(house_.manner);
  if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  reply_ = house_.pages.answer({.head = head_,
                                .path = path,
                                .body = body_,
                                .body_bytes = body_bytes_,
                                .sha1 = sha1_.finish(),
                                .unix_s = unix_now_s()},
                               house_.manner, request_id_, house_.loop.now());
  std::size_t tokens = 0;
  for (const DemoStep& step : reply_.steps) tokens += step.tokens;
  house_.pages.ledger().will_speak(request_id_, tokens);
}

io::Task<DemoConnection::Heard> DemoConnection::hear_head(Time due) {
  scanner_.reset();
  for (;;) {
    const http::Scan scan = scanner_.scan(input_);
    if (scan.event == http::ScanEvent::refused) co_return refuse(scan.error);
    if (scan.event == http::ScanEvent::complete) {
      co_return accept_head(scan) ? Heard::request : Heard::refusal;
    }
    const bool more = co_await more_input(due);
    if (!more) co_return Heard::nothing;
  }
}

// Moves a head from input_ to head_. False: reply_ refuses it.
bool DemoConnection::accept_head(const http::Scan& scan) {
  head_text_ = scan.head(input_);
  input_.erase(0, scan.length);
  if (const auto parsed = http::parse_request_head(head_text_, head_); !parsed) {
    refuse(parsed.error().kind);
    return false;
  }
  const auto framing = http::request_framing(head_);
  if (!framing) {
    refuse(framing.error().kind);
    return false;
  }
  framing_ = *framing;
  if (head_.version == http::Version::http10 || head_.connection.close) keep_ = DemoKeep::no;
  body_.clear();
  body_bytes_ = 0;
  sha1_ = {};
  chunked_ = http::ChunkedDecoder(trailer_bounds());
  trailers_.clear();
  return true;
}

io::Task<DemoConnection::Heard> DemoConnection::hear_body(Time due) {
  if (head_.expect_continue && input_.empty()) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    const bool sent = co_await flush();
    if (!sent) {
      end_request(DemoOutcome::cut);
      co_return Heard::nothing;
    }
  }
  for (;;) {
    const Body body = take_body();
    if (body == Body::malformed) co_return refuse(ErrorKind::bad_request);
    if (body == Body::whole) co_return Heard::request;
    const bool more = co_await more_input(due);
    if (!more) {
      end_request(DemoOutcome::cut);
      co_return Heard::nothing;
    }
    house_.loop.ready_next_turn(*this);  // a fast sender does not hold up the others
    co_await *this;
  }
}

// Takes what input_ holds of the body.
DemoConnection::Body DemoConnection::take_body() {
  if (framing_.kind != http::FramingKind::chunked) {
    const std::uint64_t missing = framing_.length - body_bytes_;
    const std::size_t here = std::min<std::uint64_t>(missing, input_.size());
    keep_body(std::string_view(input_).substr(0, here));
    input_.erase(0, here);
    return here == missing ? Body::whole : Body::more;
  }
  std::size_t consumed = 0;
  http::ChunkedStep step;
  do {
    step = chunked_.decode(as_bytes(std::string_view(input_).substr(consumed)), trailers_);
    if (step.event == http::ChunkedEvent::data) keep_body(as_text(step.data));
    consumed += step.consumed;
  } while (step.event == http::ChunkedEvent::data);
  input_.erase(0, consumed);
  if (step.event == http::ChunkedEvent::error) return Body::malformed;
  return step.event == http::ChunkedEvent::done ? Body::whole : Body::more;
}

void DemoConnection::keep_body(std::string_view piece) {
  body_ += piece.substr(0, kMaxDemoBodyBytes - body_.size());
  body_bytes_ += piece.size();
  sha1_.update(piece);
}

DemoConnection::Heard DemoConnection::refuse(ErrorKind kind) {
  reply_ = error_reply(demo_status_of(kind), "The request could not be understood.");
  head_.method = http::Method::other;  // the refusal has its body, whatever was asked
  head_.version = http::Version::http11;
  return Heard::refusal;
}

io::Task<DemoOutcome> DemoConnection::answer() {
  DemoOutcome outcome = DemoOutcome::dropped;
  switch (reply_.play) {
    case DemoPlay::steps: outcome = co_await play_steps(); break;
    case DemoPlay::numbered: outcome = co_await play_numbered(); break;
    case DemoPlay::socket: outcome = co_await play_socket(); break;
    case DemoPlay::drop: break;
    case DemoPlay::die: house_.keeper.die(reply_.away); break;
  }
  // A head that promised to keep the connection has left already.
  const bool was_post = head_.method == http::Method::post;
  if (house_.manner == DemoManner::closing && was_post) keep_ = DemoKeep::no;
  co_return outcome;
}

io::Task<DemoOutcome> DemoConnection::play_steps() {
  for (std::size_t i = 0; i < reply_.steps.size(); ++i) {
    const Time due = house_.loop.now() + reply_.steps[i].after;
    const bool waited = co_await wait_until(due);
    if (!waited) co_return DemoOutcome::cancelled;
    if (i == 0) write_head();
    if (head_.method != http::Method::head) write_step(i);
    const bool sent = co_await flush();
    if (!sent) co_return DemoOutcome::cancelled;
    house_.pages.ledger().spoke(request_id_, reply_.steps[i].tokens);
    if (head_.method == http::Method::head) break;
  }
  co_return DemoOutcome::answered;
}

// An HTTP/1.0 client gets a stream as it is: the end of the connection ends it.
void DemoConnection::write_step(std::size_t index) {
  const std::string& text = reply_.steps[index].text;
  if (reply_.steps.size() == 1 || head_.version == http::Version::http10) {
    output_ += text;
    return;
  }
  fmt::format_to(std::back_inserter(output_), "{:x}\r\n{}\r\n", text.size(), text);
  if (index + 1 == reply_.steps.size()) output_ += http::kLastChunk;
}

io::Task<DemoOutcome> DemoConnection::play_numbered() {
  write_head();
  const std::uint64_t count = head_.method == http::Method::head ? 0 : reply_.numbered_bytes;
  std::uint64_t offset = 0;
  do {
    const std::size_t piece = std::min<std::uint64_t>(count - offset, kNumberedPieceBytes);
    write_numbered(offset, piece, output_);
    offset += piece;
    const bool sent = co_await flush();
    if (!sent) co_return DemoOutcome::cancelled;
    house_.loop.ready_next_turn(*this);  // a fast receiver does not hold up the others
    co_await *this;
  } while (offset < count);
  co_return DemoOutcome::answered;
}

io::Task<DemoOutcome> DemoConnection::play_socket() {
  keep_ = DemoKeep::no;
  write_head();
  DemoFrameEcho frames;
  for (;;) {
    frames.feed(std::exchange(input_, {}), output_);
    const bool sent = co_await flush();
    if (!sent) co_return DemoOutcome::cancelled;
    if (frames.closed()) co_return DemoOutcome::answered;
    const bool more = co_await more_input(kNever);
    if (!more) co_return DemoOutcome::cancelled;
    house_.loop.ready_next_turn(*this);
    co_await *this;
  }
}

void DemoConnection::write_head() {
  write_demo_head(reply_, head_.version, keep_,
                  std::chrono::floor<std::chrono::seconds>(house_.timing.idle_timeout), output_);
}

void DemoConnection::end_request(DemoOutcome outcome) {
  if (request_id_ == 0) return;
  const DemoEvent* event =
      house_.pages.ledger().end(std::exchange(request_id_, 0), outcome, house_.loop.now());
  if (event != nullptr) house_.keeper.told(*event);
}

io::Take::Kind DemoConnection::take_once() {
  const io::Take take = stream_->take();
  if (take.kind == io::Take::Kind::data) input_ += as_text(take.lease.bytes());
  return take.kind;
}

// Appends to input_. False: nothing more comes, or not by `due`.
io::Task<bool> DemoConnection::more_input(Time due) {
  while (!over()) {
    const io::Take::Kind kind = take_once();
    if (kind != io::Take::Kind::nothing) co_return kind == io::Take::Kind::data;
    if (house_.loop.now() >= due) co_return false;
    house_.loop.set_alarm(alarm_, due);
    co_await *this;
  }
  co_return false;
}

// False: the client is gone, takes nothing, or we stop.
io::Task<bool> DemoConnection::flush() {
  Time due = house_.loop.now() + kDemoSendTimeout;
  while (!over()) {
    const Bytes piece = as_bytes(output_);
    const Result<std::size_t> accepted = stream_->write({&piece, 1});
    if (!accepted) co_return false;
    output_.erase(0, *accepted);
    if (output_.empty()) co_return true;
    if (*accepted > 0) due = house_.loop.now() + kDemoSendTimeout;
    if (house_.loop.now() >= due) co_return false;
    house_.loop.set_alarm(alarm_, due);
    co_await *this;
  }
  co_return false;
}

// A FIN does not end the wait: who half-closes may still read. A reset does.
io::Task<bool> DemoConnection::wait_until(Time due) {
  while (!over()) {
    if (house_.loop.now() >= due) co_return true;
    house_.loop.set_alarm(alarm_, due);
    co_await *this;
  }
  co_return false;
}

// What was sent arrives only if nothing lies unread when the stream is closed.
io::Task<> DemoConnection::linger() {
  stream_->finish_writing();
  const Time due = house_.loop.now() + kDemoLinger;
  for (;;) {
    input_.clear();
    const bool more = co_await more_input(due);
    if (!more) break;
    house_.loop.ready_next_turn(*this);
    co_await *this;
    if (house_.loop.now() >= due) break;
  }
}

}  // namespace hushgate::app
