#include "h2/callbacks.h"

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "base/assert.h"
#include "base/spare_room.h"
#include "h2/session_memory.h"

namespace hushgate::h2 {
namespace {

struct FreeOption {
  void operator()(nghttp2_option* option) const noexcept { nghttp2_option_del(option); }
};
struct FreeCallbacks {
  void operator()(nghttp2_session_callbacks* all) const noexcept {
    nghttp2_session_callbacks_del(all);
  }
};
using Options = std::unique_ptr<nghttp2_option, FreeOption>;
using All = std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks>;

Link& link_of(void* user) { return *static_cast<Link*>(user); }

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

Options make_options() {
  nghttp2_option* raw = nullptr;
  HG_ASSERT(nghttp2_option_new(&raw) == 0);
  Options option(raw);
  nghttp2_option_set_no_auto_window_update(raw, 1);
  nghttp2_option_set_no_closed_streams(raw, 1);
  nghttp2_option_set_max_outbound_ack(raw, kMaxHeldAcks);
  nghttp2_option_set_max_send_header_block_length(raw, kMaxSentHeadBytes);
  return option;
}

All make_callbacks() {
  nghttp2_session_callbacks* raw = nullptr;
  HG_ASSERT(nghttp2_session_callbacks_new(&raw) == 0);
  All all(raw);
  nghttp2_session_callbacks_set_send_callback(raw, Callbacks::send);
  nghttp2_session_callbacks_set_send_data_callback(raw, Callbacks::send_data);
  nghttp2_session_callbacks_set_on_begin_frame_callback(raw, Callbacks::on_begin_frame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(raw, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(raw, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_invalid_header_callback(raw, Callbacks::on_invalid_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(raw, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(raw, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(raw, Callbacks::on_stream_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(raw, Callbacks::on_sent);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(raw, Callbacks::on_not_sent);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(raw, Callbacks::on_invalid_frame);
  nghttp2_session_callbacks_set_error_callback2(raw, Callbacks::on_error);
  return all;
}

void begin(nghttp2_session* session, std::span<const nghttp2_settings_entry> settings) {
  HG_ASSERT(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) ==
            0);
  HG_ASSERT(
      nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kLinkWindowBytes) == 0);
}

}  // namespace

nghttp2_session* Callbacks::make_server(Link& link) {
  const Options option = make_options();
  nghttp2_session* session = nullptr;
  HG_ASSERT(nghttp2_session_server_new3(&session, make_callbacks().get(), &link, option.get(),
                                        session_memory()) == 0);
  const LinkSettings& ours = link.settings();
  const std::array<nghttp2_settings_entry, 5> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, ours.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(ours.stream_window_bytes)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(ours.max_head_bytes)},
      {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, ours.extended_connect ? 1U : 0U},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  begin(session, settings);
  return session;
}

nghttp2_session* Callbacks::make_client(Link& link) {
  const Options option = make_options();
  nghttp2_session* session = nullptr;
  HG_ASSERT(nghttp2_session_client_new3(&session, make_callbacks().get(), &link, option.get(),
                                        session_memory()) == 0);
  const LinkSettings& ours = link.settings();
  const std::array<nghttp2_settings_entry, 3> settings{{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(ours.stream_window_bytes)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(ours.max_head_bytes)},
  }};
  begin(session, settings);
  return session;
}

// A stream's frames often follow each other.
Leg* Callbacks::leg_of(Link& link, std::int32_t stream) {
  if (link.recent_leg_ == nullptr || link.recent_stream_ != stream) {
    link.recent_stream_ = stream;
    link.recent_leg_ =
        static_cast<Leg*>(nghttp2_session_get_stream_user_data(link.session_, stream));
  }
  return link.recent_leg_;
}

// --- sending

ssize_t Callbacks::send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int,
                        void* user) {
  Link& link = link_of(user);
  if (link.waiting() >= kWireBytes) return NGHTTP2_ERR_WOULDBLOCK;
  take_room(link.out_);
  link.out_.append(text_of(bytes, size));
  link.written_ += size;
  return static_cast<ssize_t>(size);
}

// Says how much of a leg's bytes goes into the next DATA frame; send_data() takes them.
ssize_t Callbacks::read_data(nghttp2_session* session, std::int32_t, std::uint8_t*,
                             std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                             void*) {
  Leg& leg = *static_cast<Leg*>(source->ptr);
  const Leg::Offer offer = leg.offer(size);
  if (offer.bytes == 0 && !offer.ends) {
    leg.deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (offer.ends) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (leg.trailers_) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (leg.trailers_) leg.submit_trailers(session);
  }
  return static_cast<ssize_t>(offer.bytes);
}

// Always takes the whole frame: one that nghttp2 kept would be asked for again when its leg may be
// gone. So one more than fits may wait for the wire.
int Callbacks::send_data(nghttp2_session*, nghttp2_frame*, const std::uint8_t* head,
                         std::size_t size, nghttp2_data_source* source, void* user) {
  Link& link = link_of(user);
  take_room(link.out_);
  link.out_.append(text_of(head, kFrameHeadBytes));
  static_cast<Leg*>(source->ptr)->move(size, link.out_);
  link.written_ += kFrameHeadBytes + size;
  link.floods_.note_data_sent(1);
  return link.waiting() >= kWireBytes ? NGHTTP2_ERR_PAUSE : 0;
}

int Callbacks::on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  Link& link = link_of(user);
  if (frame->hd.type == NGHTTP2_RST_STREAM) {
    link.has_reset_ = true;
    // To nghttp2 it is the stream's fault (RFC 9113 section 6.9.2: the connection's).
    if (link.settings_fed_ && frame->rst_stream.error_code == NGHTTP2_FLOW_CONTROL_ERROR) {
      nghttp2_session_terminate_session(session, NGHTTP2_FLOW_CONTROL_ERROR);
    }
  }
  if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_CANCEL &&
      frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
      frame->rst_stream.error_code != NGHTTP2_INTERNAL_ERROR) {
    if (link.counted_resets_ > 0) {
      --link.counted_resets_;
    } else {
      link.note_flood(Flood::made_resets);
    }
  }
  Leg* const leg = frame->hd.stream_id == 0 ? nullptr : leg_of(link, frame->hd.stream_id);
  if (leg != nullptr) leg->sent(link.written_, (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  return 0;
}

int Callbacks::on_not_sent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  if (Leg* const leg = leg_of(link_of(user), frame->hd.stream_id)) leg->never_sent();
  return 0;
}

// --- receiving

int Callbacks::on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
  Link& link = link_of(user);
  const bool of_block = head->type == NGHTTP2_HEADERS || head->type == NGHTTP2_CONTINUATION;
  if (of_block && head->length == 0) link.note_flood(Flood::empty_frames);
  return 0;
}

int Callbacks::on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  Link& link = link_of(user);
  link.block_.clear();
  link.excess_bytes_ = 0;
  if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  link.floods_.note_stream();
  link.highest_stream_ = frame->hd.stream_id;
  if (Leg* const leg = link.begin_leg(frame->hd.stream_id)) {
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, leg);
  }
  return 0;
}

int Callbacks::on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                         std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                         std::uint8_t, void* user) {
  // One that does not fit is remembered by the block, and answered once it is complete.
  Link& link = link_of(user);
  if (link.block_.add(text_of(name, name_size), text_of(value, value_size))) return 0;
  link.excess_bytes_ += name_size + value_size;
  if (link.excess_bytes_ <= kExcessOfHeads * link.settings().max_head_bytes) return 0;
  link.ask_end(NGHTTP2_ENHANCE_YOUR_CALM, "a header block of many times the size that is allowed");
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

// A malformed message, not a field to be left out (RFC 9113 section 8.2.1).
int Callbacks::on_invalid_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t*,
                                 std::size_t, const std::uint8_t*, std::size_t, std::uint8_t,
                                 void* user) {
  blame(link_of(user), frame->hd.stream_id);
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

void Callbacks::on_headers(Link& link, const nghttp2_frame& frame) {
  Leg* const leg = leg_of(link, frame.hd.stream_id);
  if (leg == nullptr) return;
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (leg->reading_ != Leg::Reading::head) return leg->receive_trailers(link.block_);
  leg->receive_head(link.block_, ends ? h2::Stream::ended : h2::Stream::open);
}

int Callbacks::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Link& link = link_of(user);
  count(link, *frame);
  switch (frame->hd.type) {
    case NGHTTP2_HEADERS: on_headers(link, *frame); break;
    case NGHTTP2_DATA:
      if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        if (Leg* const leg = leg_of(link, frame->hd.stream_id)) leg->receive_end();
      }
      break;
    case NGHTTP2_SETTINGS:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) break;
      link.settings_fed_ = true;
      link.settings_came();
      break;
    case NGHTTP2_PING:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) link.ponged();
      break;
    case NGHTTP2_GOAWAY:
      if (link.state_ == Link::State::open) link.state_ = Link::State::draining;
      link.went_away();
      break;
    default: break;
  }
  return 0;
}

void Callbacks::count(Link& link, const nghttp2_frame& frame) {
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  const bool is_ack = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  switch (frame.hd.type) {
    case NGHTTP2_DATA:
      if (frame.data.hd.length == frame.data.padlen && !ends) link.note_flood(Flood::empty_frames);
      return;
    case NGHTTP2_RST_STREAM: return link.note_flood(Flood::resets);
    case NGHTTP2_SETTINGS:
      if (!is_ack) link.note_flood(Flood::settings);
      return;
    case NGHTTP2_PING:
      if (!is_ack) link.note_flood(Flood::pings);
      return;
    case NGHTTP2_WINDOW_UPDATE: return link.note_flood(Flood::window_updates);
    default: return;
  }
}

int Callbacks::on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                       const std::uint8_t* bytes, std::size_t size, void* user) {
  Link& link = link_of(user);
  nghttp2_session_consume_connection(session, size);
  Leg* const leg = leg_of(link, stream);
  if (leg == nullptr) {
    nghttp2_session_consume_stream(session, stream, size);
  } else {
    leg->receive_data({reinterpret_cast<const std::byte*>(bytes), size});
  }
  return 0;
}

int Callbacks::on_stream_close(nghttp2_session*, std::int32_t stream, std::uint32_t code,
                               void* user) {
  Link& link = link_of(user);
  Leg* const leg = leg_of(link, stream);
  link.recent_leg_ = nullptr;  // it is of no stream now
  if (leg != nullptr) leg->stream_closed(code);
  link.stream_left();
  return 0;
}

// What nghttp2 has found, in its words; it is told if the connection ends with it.
int Callbacks::on_error(nghttp2_session*, int, const char* text, std::size_t size, void* user) {
  link_of(user).fault_.assign(text, size);
  return 0;
}

int Callbacks::on_invalid_frame(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
  blame(link_of(user), frame->hd.stream_id);
  return 0;
}

// The reset of this stream is queued, and counted now: it is sent when the peer reads.
void Callbacks::blame(Link& link, std::int32_t stream) {
  Leg* const leg = stream == 0 ? nullptr : leg_of(link, stream);
  if (leg != nullptr) leg->peer_at_fault_ = true;
  link.has_reset_ = true;
  ++link.counted_resets_;
  link.note_flood(Flood::made_resets);
}

}  // namespace hushgate::h2
