#include "h2/link.h"

#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/spare_room.h"
#include "h2/callbacks.h"

namespace hushgate::h2 {

Link::Link(io::Loop& loop, io::StreamPtr wire, const LinkSettings& settings,
           std::size_t preface_bytes)
    : loop_(loop),
      wire_(std::move(wire)),
      settings_(settings),
      cursor_(preface_bytes),
      block_(settings.max_head_bytes),
      sending_(kMaxSentHeadBytes),
      last_heard_(loop.now()) {
  wire_->set_owner(this);
}

Link::~Link() {
  lose_legs(ECONNRESET);
  if (session_ != nullptr) nghttp2_session_del(session_);
}

// --- the turn

void Link::run() {
  if (state_ == State::ended) return changed();
  read_wire();
  if (!over()) write_wire();
  changed();  // may be the end of this object
}

void Link::schedule() {
  if (state_ != State::ended) loop_.ready(*this);
}

void Link::read_wire() {
  for (int takes = 0; state_ != State::ended && wire_->readable(); ++takes) {
    if (takes == kLinkTakes) return loop_.ready_next_turn(*this);
    const io::Take take = wire_->take();
    switch (take.kind) {
      case io::Take::Kind::nothing: return;
      case io::Take::Kind::fin: return lose(ECONNRESET, {});
      case io::Take::Kind::failed: return lose(take.os_error, wire_->failure_text());
      case io::Take::Kind::data: break;
    }
    last_heard_ = loop_.now();
    if (state_ != State::closing) {
      feed(take.lease.bytes());
    } else if ((discarded_ += take.lease.bytes().size()) > settings_.linger_bytes) {
      break;
    }
  }
  if (discarded_ > settings_.linger_bytes) return end(io::CloseHow::fin, {});
  if (state_ != State::ended && wire_->failed()) lose(wire_->error(), wire_->failure_text());
}

void Link::feed(Bytes bytes) {
  feeding_ = true;
  settings_fed_ = false;
  ssize_t taken = 0;
  while (!bytes.empty() && taken >= 0) {
    const FrameCursor::Slice slice = cursor_.next(bytes);
    if (slice.begins) {
      judge(slice.head);
      follow_block(slice.head);
    }
    bytes = bytes.subspan(slice.consumed);
    if (slice.bytes.empty()) continue;
    taken = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(slice.bytes.data()), slice.bytes.size());
  }
  feeding_ = false;
  within_head_ = block_goes_on_ || (in_block_frame_ && cursor_.in_frame());
  if (taken < 0) return break_off(static_cast<int>(taken));
  if (end_asked_) static_cast<void>(nghttp2_session_terminate_session(session_, *end_asked_));
}

// What nghttp2 lets pass. It forgets a stream with its end and ignores what comes behind it,
// because that may have been on its way when we reset it; where we have reset none, it is a fault
// (RFC 9113 section 5.1).
void Link::judge(const FrameHead& head) {
  const bool is_priority = head.type == NGHTTP2_PRIORITY;
  if (is_priority || head.type > NGHTTP2_CONTINUATION) note_flood(Flood::priorities);
  if (is_priority && head.stream == 0) ask_end(NGHTTP2_PROTOCOL_ERROR, "PRIORITY on stream 0");
  if (head.type != NGHTTP2_DATA && head.type != NGHTTP2_HEADERS) return;
  if (head.stream > highest_stream_) return;
  if (has_reset_ || Callbacks::leg_of(*this, head.stream) != nullptr) return;
  if (nghttp2_session_find_stream(session_, head.stream) != nullptr) return;
  ask_end(NGHTTP2_STREAM_CLOSED, "a frame on a stream that is closed");
}

void Link::follow_block(const FrameHead& head) {
  in_block_frame_ = head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_CONTINUATION;
  if (in_block_frame_) block_goes_on_ = (head.flags & NGHTTP2_FLAG_END_HEADERS) == 0;
}

// Frames are made while there is room for them: what a peer makes us answer waits in nghttp2, where
// it is bounded by count (max_outbound_ack), not here.
void Link::write_wire() {
  for (;;) {
    if (!flush()) return;
    if (waiting() > 0 || nghttp2_session_want_write(session_) == 0) break;
    const std::uint64_t before = written_;
    const int result = nghttp2_session_send(session_);
    if (result != 0) return break_off(result);
    if (end_asked_) static_cast<void>(nghttp2_session_terminate_session(session_, *end_asked_));
    if (written_ == before) break;  // every window is shut
  }
  const bool is_over =
      nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
  if (is_over && waiting() == 0) close_down();
}

// False: the wire is dead.
bool Link::flush() {
  if (waiting() == 0) return true;
  const std::array pieces{as_bytes(std::string_view(out_).substr(out_begin_))};
  const Result<std::size_t> accepted = wire_->write(pieces);
  if (!accepted) {
    lose(accepted.error().os_error, wire_->failure_text());
    return false;
  }
  accepted_ += *accepted;
  out_begin_ += *accepted;
  if (out_begin_ == out_.size()) {
    out_begin_ = 0;
    give_room(out_);
  } else if (out_begin_ >= kWireBytes) {
    out_.erase(0, std::exchange(out_begin_, 0));
  }
  return true;
}

std::int64_t Link::acknowledged() {
  return static_cast<std::int64_t>(accepted_) - static_cast<std::int64_t>(wire_->unacknowledged());
}

// --- ends

void Link::go_away(std::uint32_t code, std::string_view why) {
  if (over()) return;
  if (why_.empty()) why_ = why;
  if (code != NGHTTP2_NO_ERROR) {
    static_cast<void>(nghttp2_session_terminate_session(session_, code));
  } else {
    const std::int32_t last = nghttp2_session_get_last_proc_stream_id(session_);
    static_cast<void>(nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, code, nullptr, 0));
  }
  state_ = State::draining;
  schedule();
}

void Link::end(io::CloseHow how, std::string_view why) {
  if (state_ == State::ended) return;
  if (why_.empty()) why_ = why;
  if (how == io::CloseHow::fin && !over()) {
    static_cast<void>(nghttp2_session_send(session_));
    if (!flush()) return;
  }
  state_ = State::ended;
  io::close(std::move(wire_), how);
  lose_legs(ECONNRESET);
}

// Nothing more can be said or heard: a FIN goes behind what was said, and what still comes is
// dropped, because unread bytes would turn it into a reset that destroys a GOAWAY.
void Link::close_down() {
  state_ = State::closing;
  if (why_.empty()) why_ = fault_;
  lose_legs(ECONNRESET);
  wire_->finish_writing();
}

// nghttp2 cannot go on: its GOAWAY, if it made one, is still sent.
void Link::break_off(int error) {
  const bool flood = error == NGHTTP2_ERR_FLOODED || error == NGHTTP2_ERR_TOO_MANY_SETTINGS ||
                     error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;
  if (flood) end_asked_ = kEnhanceYourCalm;
  if (why_.empty()) why_ = nghttp2_strerror(error);
  static_cast<void>(
      nghttp2_session_terminate_session(session_, end_asked_.value_or(NGHTTP2_PROTOCOL_ERROR)));
  static_cast<void>(nghttp2_session_send(session_));
  if (flush()) close_down();
}

void Link::lose(int os_error, std::string_view why) {
  if (why_.empty()) why_ = why;
  state_ = State::ended;
  wire_.reset();
  lose_legs(os_error);
  loop_.ready(*this);  // changed() tells, wherever this was noticed
}

void Link::lose_legs(int os_error) {
  while (!legs_.empty()) {
    Leg& leg = legs_.front();
    forget(leg);
    leg.link_lost(os_error);
  }
}

void Link::forget(Leg& leg) {
  static_cast<ListNode<LegTag>&>(leg).unlink();
  --leg_count_;
  if (recent_leg_ == &leg) recent_leg_ = nullptr;
  leg_gone(leg);
  if (leg.id_ != Leg::kNoStream) {
    static_cast<void>(nghttp2_session_set_stream_user_data(session_, leg.id_, nullptr));
  }
  schedule();  // changed() tells who waits for the last one, or for room
}

void Link::adopt(Leg& leg) {
  legs_.push_back(leg);
  ++leg_count_;
}

// The stream's window is given back, if it still is one.
void Link::consumed(std::int32_t stream, std::size_t bytes) {
  if (over() || stream == Leg::kNoStream) return;
  static_cast<void>(nghttp2_session_consume_stream(session_, stream, bytes));
  if (nghttp2_session_want_write(session_) != 0) schedule();
}

// --- floods

void Link::note_flood(Flood kind) {
  if (end_asked_ || floods_.note(kind, loop_.now())) return;
  ask_end(kEnhanceYourCalm, std::string("too many of: ").append(name(kind)));
  flooded(kind);
}

// nghttp2 is in the middle of something: it is told behind it.
void Link::ask_end(std::uint32_t code, std::string_view why) {
  if (end_asked_) return;
  end_asked_ = code;
  if (why_.empty()) why_ = why;
}

// Everything of it that windows allow becomes frames now: a reset would overtake it.
void Link::make_frames() {
  if (!over() && !feeding_) static_cast<void>(nghttp2_session_send(session_));
}

}  // namespace hushgate::h2
