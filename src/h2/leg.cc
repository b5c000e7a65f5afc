#include "h2/leg.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/spare_room.h"
#include "h2/callbacks.h"
#include "h2/link.h"

namespace hushgate::h2 {

Leg::Leg(Link& link, Role role)
    : loop_(link.loop()),
      link_(&link),
      role_(role),
      reader_(role == Role::answers ? http::ScanRole::response : http::ScanRole::request,
              http::Method::other) {
  peer_ = link.wire().peer();
  flags_ = kWritable;
}

// --- the contract of io::Stream

io::Take Leg::take() {
  if (!in_.empty()) {
    HG_ASSERT(!lent_);
    lent_ = true;
    return {.kind = io::Take::Kind::data, .lease = io::Lease(*this, 0, as_bytes(in_))};
  }
  if (failed()) return {.kind = io::Take::Kind::failed, .os_error = error_};
  if (peer_finished()) return {.kind = io::Take::Kind::fin};
  clear(kReadable);
  return {};
}

Result<std::size_t> Leg::write(std::span<const Bytes> pieces) {
  if (failed()) return std::unexpected(Error{ErrorKind::connection_terminated, error_});
  if (writing_ == Writing::deaf)
    return std::unexpected(Error{ErrorKind::connection_terminated, EPIPE});
  if (waiting() >= kLegBytes) {
    clear(kWritable);
    return 0;
  }
  std::size_t accepted = 0;
  for (const Bytes piece : pieces) {
    if (const Result<void> digested = digest(piece); !digested)
      return std::unexpected(digested.error());
    accepted += piece.size();
  }
  resume();
  return accepted;
}

void Leg::finish_writing() {
  if (failed() || writing_ != Writing::message) return;
  // A message says itself where it ends; one that stops before is a cut one.
  if (!tunnel_) return cut();
  writing_ = Writing::complete;
  resume();
}

std::size_t Leg::unacknowledged() {
  if (!on_wire()) return waiting();
  const auto acknowledged =
      static_cast<std::uint64_t>(std::max<std::int64_t>(link_->acknowledged(), 0));
  const std::uint64_t on_wire = wire_mark_ > acknowledged ? wire_mark_ - acknowledged : 0;
  return waiting() + static_cast<std::size_t>(std::min(payload_sent_, on_wire));
}

bool Leg::on_wire() const { return link_ != nullptr && link_->state() != Link::State::ended; }

bool Leg::encrypted() const { return on_wire() && link_->wire().encrypted(); }

std::string Leg::peer_subject() const {
  return on_wire() ? link_->wire().peer_subject() : std::string();
}

SocketAddress Leg::local() { return on_wire() ? link_->wire().local() : SocketAddress(); }

std::string Leg::failure_text() const {
  if (!failed() || code_ == NGHTTP2_NO_ERROR) return {};
  return std::string("HTTP/2 stream ended with ").append(nghttp2_http2_strerror(code_));
}

void Leg::close(io::CloseHow how) {
  owner_ = nullptr;
  if (how == io::CloseHow::fin && !failed() && id_ != kNoStream) {
    // What was accepted is still delivered; a whole response's END_STREAM may be a frame of its
    // own.
    if (writing_ == Writing::complete) return live_on(kLegFinishTime);
    if (writing_ == Writing::ended && has_read_all()) return live_on(kLegEndTime);
  }
  const bool whole = how == io::CloseHow::fin && writing_ == Writing::ended;
  if (role_ == Role::asks) {
    reset_stream(NGHTTP2_CANCEL);
  } else if (whole) {
    reset_stream(NGHTTP2_NO_ERROR);
  } else {
    cut();
  }
  end();
}

void Leg::live_on(Ms most) {
  handed_ = false;
  finish_alarm_ = std::make_unique<io::Alarm>(static_cast<io::Runnable&>(*this));
  loop_.set_alarm(*finish_alarm_, loop_.now() + most);
}

// But for END_STREAM.
bool Leg::has_read_all() const {
  return role_ == Role::asks && reading_ == Reading::body && in_body_ == Body::length &&
         in_left_ == 0;
}

std::optional<std::string> Leg::take_back() {
  if (!holds_) return std::nullopt;
  holds_ = false;
  return std::move(held_);
}

// --- inside

// Nothing was received meanwhile: frames are read in the link's own run.
void Leg::give_back(std::uint32_t) noexcept {
  lent_ = false;
  give_room(in_);
  const std::size_t credit = std::exchange(in_credit_, 0);
  if (credit > 0 && link_ != nullptr) link_->consumed(id_, credit);
  if (gone_) const std::unique_ptr<Leg> ended(this);
}

// kLegFinishTime is over.
void Leg::run() {
  reset_stream(NGHTTP2_CANCEL);
  end();
}

// Its stream is gone, or is being reset by us. nghttp2 reports the end of a stream that we reset
// to nobody.
void Leg::end() {
  if (link_ != nullptr) link_->forget(*this);
  link_ = nullptr;
  give_room(out_);
  drop_held();
  gone_ = true;
  if (lent_) return;  // until the lease has ended
  give_room(in_);
  const std::unique_ptr<Leg> ended(this);
}

void Leg::reset_stream(std::uint32_t code) {
  if (link_ == nullptr || id_ == kNoStream || link_->over()) return;
  static_cast<void>(nghttp2_submit_rst_stream(link_->session_, NGHTTP2_FLAG_NONE, id_, code));
  link_->schedule();
}

// Our message ends here, and is not whole. As far as it came it goes out, which a reset would
// overtake.
void Leg::cut() {
  if (begun_writing_ && on_wire()) link_->make_frames();
  reset_stream(NGHTTP2_INTERNAL_ERROR);
}

// The peer's message is no message.
void Leg::break_off(std::uint32_t code, int os_error) {
  reset_stream(code);
  fail(os_error, code);
}

void Leg::fail(int os_error, std::uint32_t code) {
  if (failed()) return;
  code_ = code;
  error_ = os_error;
  flags_ |= kFailed | kReadable | kWritable;
  give_room(out_);
  out_begin_ = 0;
  wake();
}

void Leg::settle() {
  const bool finished =
      tunnel_ ? reading_ == Reading::ended : role_ == Role::answers && writing_ == Writing::ended;
  if (!finished || peer_finished()) return;
  flags_ |= kPeerFinished | kReadable;
  wake();
}

void Leg::wake() {
  if (owner_ != nullptr) loop_.ready(*owner_);
}

void Leg::come_to_life() {
  flags_ |= kReadable;
  wake();
}

// What came before can still be taken.
void Leg::link_lost(int os_error) {
  link_ = nullptr;
  id_ = kNoStream;
  if (!handed_) return end();
  if (reading_ == Reading::ended && role_ == Role::asks) {
    if (writing_ != Writing::ended) writing_ = Writing::deaf;
    return;
  }
  if (failed()) return;
  unprocessed_ = role_ == Role::asks && wire_mark_ == 0;  // no frame of it was made
  fail(os_error, NGHTTP2_NO_ERROR);
}

}  // namespace hushgate::h2
