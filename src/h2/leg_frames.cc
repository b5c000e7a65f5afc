// A leg between the inner form and nghttp2: frames that come become text, text that is written
// becomes frames.
#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/limits.h"
#include "base/spare_room.h"
#include "h2/callbacks.h"
#include "h2/leg.h"
#include "h2/message_fields.h"
#include "h2/websocket.h"
#include "http/chunked.h"

namespace hushgate::h2 {
namespace {

// Room for the fields of a head on their way to nghttp2, which copies them. Those that were not
// sent before are kept out of HPACK's table; nghttp2 has but "never indexed" for that, which asks
// intermediaries for the same. Pseudo-fields are nearly all in the static table.
template <typename Fields>
std::span<const nghttp2_nv> fields_of(const Fields& block, RepeatFilter& sent_before) {
  static thread_local std::vector<nghttp2_nv> fields;
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  fields.clear();
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Block::Field field = block[i];
    const bool may_repeat =
        is_pseudo(field.name) || sent_before.seen_before(field.name, field.value);
    const std::uint8_t indexing = may_repeat ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX;
    fields.push_back(
        {bytes(field.name), bytes(field.value), field.name.size(), field.value.size(), indexing});
  }
  return fields;
}

}  // namespace

// --- received

void Leg::receive_head(const Block& block, h2::Stream stream) {
  take_room(in_);
  if (role_ == Role::answers) return receive_request(block, stream);
  receive_response(block, stream);
}

void Leg::receive_request(const Block& block, h2::Stream stream) {
  std::string key;
  if (block.find(":protocol").data() != nullptr) key = websocket_key(loop_.now(), id_);
  const Result<Inner> inner = request_text(block, stream, key, in_);
  if (!inner) {
    in_.clear();
    return break_off(NGHTTP2_PROTOCOL_ERROR, ECONNRESET);
  }
  method_ = inner->method;
  is_connect_ = inner->is_connect;
  if (http::equals_lower(block.find(":protocol"), "websocket")) accept_ = websocket_accept(key);
  in_body_ = inner->body;
  reading_ = stream == h2::Stream::ended ? Reading::ended : Reading::body;
  reader_ = MessageReader(http::ScanRole::response, method_);
  link_->leg_ready(*this);
  come_to_life();
}

// Interim heads, then the final one.
void Leg::receive_response(const Block& block, h2::Stream stream) {
  begun_ = true;
  drop_held();
  const Result<Inner> inner = response_text(
      block, {.method = method_, .protocol = protocol_, .accept = accept_}, stream, in_);
  if (!inner) return break_off(NGHTTP2_PROTOCOL_ERROR, EBADMSG);
  if (inner->is_interim) {
    // More than whoever takes them will bear; until then they would wait here.
    if (++interims_ > kMaxInterimResponses) break_off(NGHTTP2_ENHANCE_YOUR_CALM, EBADMSG);
    return come_to_life();
  }
  in_body_ = inner->body;
  in_left_ = inner->length;
  tunnel_ = in_body_ == Body::tunnel;
  if (tunnel_) reader_.become_tunnel();
  // Whatever was asked for, it was not agreed to, and its bytes would be nobody's.
  if (is_connect_ && !tunnel_ && writing_ == Writing::message) writing_ = Writing::deaf;
  reading_ = stream == h2::Stream::ended ? Reading::ended : Reading::body;
  come_to_life();
  settle();
}

void Leg::receive_data(Bytes data) {
  if (failed() || gone_ || reading_ != Reading::body) return link_->consumed(id_, data.size());
  if (data.empty()) return;
  in_left_ -= std::min<std::uint64_t>(in_left_, data.size());
  take_room(in_);
  in_credit_ += data.size();
  if (in_body_ == Body::chunked) {
    char line[http::kMaxChunkHeaderBytes];
    in_.append(line, http::write_chunk_header(data.size(), line));
    in_.append(as_text(data)).append("\r\n");
  } else {
    in_.append(as_text(data));
  }
  come_to_life();
}

void Leg::receive_end() {
  if (failed() || reading_ != Reading::body) return;
  reading_ = Reading::ended;
  if (in_body_ == Body::chunked) in_.append("0\r\n\r\n");
  come_to_life();
  settle();
}

void Leg::receive_trailers(const Block& block) {
  if (failed() || reading_ != Reading::body) return;
  reading_ = Reading::ended;
  take_room(in_);
  // Behind a body of known length, which has no place for them, they are dropped (RFC 9110 6.5.1).
  if (in_body_ == Body::chunked && !trailer_text(block, in_)) {
    return break_off(NGHTTP2_PROTOCOL_ERROR, role_ == Role::asks ? EBADMSG : ECONNRESET);
  }
  come_to_life();
  settle();
}

void Leg::stream_closed(std::uint32_t code) {
  id_ = kNoStream;
  if (!handed_) return end();
  if (failed()) return;
  const bool read_all = reading_ == Reading::ended;
  if (read_all && writing_ == Writing::ended) return settle();
  if (read_all && code == NGHTTP2_NO_ERROR && role_ == Role::asks) {
    writing_ = Writing::deaf;
    return wake();
  }
  unprocessed_ = role_ == Role::asks && code == NGHTTP2_REFUSED_STREAM && !begun_;
  fail(peer_at_fault_ && role_ == Role::asks ? EBADMSG : ECONNRESET, code);
}

void Leg::never_sent() {
  unprocessed_ = role_ == Role::asks && !begun_;
  fail(ECONNRESET, NGHTTP2_REFUSED_STREAM);
}

// --- written

Result<void> Leg::digest(Bytes bytes) {
  while (!bytes.empty() && writing_ == Writing::message) {
    const bool was_head = reader_.state() == MessageReader::State::head;
    const MessageReader::Step step = reader_.read(bytes);
    if (!was_head && role_ == Role::asks) hold(bytes.first(step.consumed));
    bytes = bytes.subspan(step.consumed);
    if (const Result<void> used = use(step); !used) return used;
    if (step.event == MessageReader::Event::none && step.consumed == 0) break;
  }
  // The end of a message without a body, or of a body that was read to its last byte.
  if (writing_ == Writing::message && bytes.empty() && begun_writing_) {
    const MessageReader::Step step = reader_.read({});
    if (step.event == MessageReader::Event::end) return use(step);
  }
  return {};
}

Result<void> Leg::use(const MessageReader::Step& step) {
  switch (step.event) {
    case MessageReader::Event::none:
      if (reader_.state() != MessageReader::State::broken) return {};
      break_off(NGHTTP2_INTERNAL_ERROR, ECONNRESET);
      return std::unexpected(Error{ErrorKind::connection_terminated, ECONNRESET});
    case MessageReader::Event::request: return begin_request();
    case MessageReader::Event::response: return begin_response();
    case MessageReader::Event::data:
      if (out_begin_ >= kLegBytes) out_.erase(0, std::exchange(out_begin_, 0));
      take_room(out_);
      out_.append(as_text(step.data));
      return {};
    case MessageReader::Event::end:
      if (!reader_.trailers().empty()) {
        trailers_ = std::make_unique<Block>(kMaxSentHeadBytes);
        if (!trailer_block(reader_.trailers(), *trailers_) || trailers_->size() == 0)
          trailers_.reset();
      }
      if (!ended_with_head_) writing_ = Writing::complete;
      return {};
  }
  return {};
}

Result<void> Leg::begin_request() {
  const http::RequestHead& head = reader_.request();
  method_ = head.method;
  const bool extended = asks_extended_connect(head);
  is_connect_ = extended || head.method == http::Method::connect;
  FieldViews& block = link_->sending_;
  block.clear();
  if (!request_block(head, encrypted() ? "https" : "http", block)) {
    unprocessed_ = true;
    break_off(NGHTTP2_INTERNAL_ERROR, EMSGSIZE);
    return std::unexpected(Error{ErrorKind::connection_terminated, EMSGSIZE});
  }
  if (extended) {
    protocol_ = block.find(":protocol");
    accept_ = websocket_accept(head);
  }
  if (is_connect_) reader_.become_tunnel();
  link_->floods_.note_stream();
  link_->floods_.note_served();  // an upstream may refuse or reset whatever it is asked
  return submit_head(block, !is_connect_ && reader_.bodyless());
}

Result<void> Leg::begin_response() {
  const http::ResponseHead& head = reader_.response();
  begun_writing_ = true;
  if (head.status == 101 && !is_accepted(head, accept_)) {
    break_off(NGHTTP2_INTERNAL_ERROR, ECONNRESET);
    return std::unexpected(Error{ErrorKind::connection_terminated, ECONNRESET});
  }
  if (!head.interim() && !std::exchange(final_submitted_, true)) link_->floods_.note_served();
  FieldViews& block = link_->sending_;
  block.clear();
  if (!response_block(head, block)) {
    break_off(NGHTTP2_INTERNAL_ERROR, EMSGSIZE);
    return std::unexpected(Error{ErrorKind::connection_terminated, EMSGSIZE});
  }
  if (head.interim()) return submit_head(block, false);
  tunnel_ = reader_.state() == MessageReader::State::tunnel;
  const Result<void> submitted = submit_head(block, !tunnel_ && reader_.bodyless());
  settle();
  return submitted;
}

Result<void> Leg::submit_head(const FieldViews& block, bool ends) {
  const std::span<const nghttp2_nv> fields = fields_of(block, link_->sent_before_);
  nghttp2_data_provider provider{{.ptr = this}, Callbacks::read_data};
  nghttp2_data_provider* const body = ends ? nullptr : &provider;
  nghttp2_session* const session = link_->session_;
  int result = 0;
  if (role_ == Role::asks) {
    result = nghttp2_submit_request(session, nullptr, fields.data(), fields.size(), body, this);
    if (result > 0) {
      link_->highest_stream_ = id_ = result;
      begun_writing_ = true;
    }
  } else if (final_submitted_) {
    result = nghttp2_submit_response(session, id_, fields.data(), fields.size(), body);
  } else {
    result = nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, id_, nullptr, fields.data(),
                                    fields.size(), nullptr);
  }
  if (result < 0) {
    if (role_ == Role::asks) unprocessed_ = true;  // no id is left: nothing was sent
    fail(ECONNRESET, NGHTTP2_REFUSED_STREAM);
    return std::unexpected(Error{ErrorKind::connection_terminated, ECONNRESET});
  }
  if (ends) {
    writing_ = Writing::complete;
    ended_with_head_ = true;
  } else {
    data_submitted_ = role_ == Role::asks || final_submitted_;
  }
  link_->schedule();
  return {};
}

// Tells nghttp2 that there is something to be sent again.
void Leg::resume() {
  if (link_ == nullptr || id_ == kNoStream) return;
  if (data_submitted_ && deferred_ && (waiting() > 0 || writing_ == Writing::complete)) {
    deferred_ = false;
    static_cast<void>(nghttp2_session_resume_data(link_->session_, id_));
  }
  link_->schedule();
}

Leg::Offer Leg::offer(std::size_t most) const {
  const std::size_t bytes = std::min(waiting(), most);
  return {bytes, writing_ == Writing::complete && bytes == waiting()};
}

void Leg::move(std::size_t size, std::string& to) {
  to.append(out_, out_begin_, size);
  out_begin_ += size;
  payload_sent_ += size;
  if (out_begin_ == out_.size()) {
    out_begin_ = 0;
    give_room(out_);
  }
  if (!writable() && waiting() < kLegBytes) {
    flags_ |= kWritable;
    wake();
  }
}

void Leg::submit_trailers(nghttp2_session* session) {
  const std::span<const nghttp2_nv> fields = fields_of(*trailers_, link_->sent_before_);
  static_cast<void>(nghttp2_submit_trailer(session, id_, fields.data(), fields.size()));
}

void Leg::sent(std::uint64_t position, bool ends) {
  wire_mark_ = position;
  if (!ends) return;
  writing_ = Writing::ended;
  if (handed_ || role_ == Role::asks || reading_ == Reading::ended) return settle();
  // Nobody takes what still comes of the request.
  reset_stream(NGHTTP2_NO_ERROR);
  end();
}

// --- what may have to be sent again

void Leg::hold(Bytes bytes) {
  if (!holds_) return;
  if (held_.size() + bytes.size() > link_->settings().held_bytes) return drop_held();
  take_room(held_);
  held_.append(as_text(bytes));
}

void Leg::drop_held() {
  holds_ = false;
  give_room(held_);
}

}  // namespace hushgate::h2
