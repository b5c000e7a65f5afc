#include "h2/client_link.h"

#include <utility>

#include "base/assert.h"
#include "h2/callbacks.h"

namespace hushgate::h2 {

ClientLink::ClientLink(io::Loop& loop, Handler& handler, io::StreamPtr wire,
                       const LinkSettings& settings)
    : Link(loop, std::move(wire), settings, 0), handler_(handler) {
  session_ = Callbacks::make_client(*this);
  schedule();
}

ClientLink::~ClientLink() { end(io::CloseHow::reset, {}); }

bool ClientLink::can_open() const {
  if (state_ != State::open || wire_->failed() || wire_->peer_finished()) return false;
  if (nghttp2_session_check_request_allowed(session_) == 0) return false;
  const std::uint32_t most = settings_seen_ ? nghttp2_session_get_remote_settings(
                                                  session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
                                            : kStreamsBeforeSettings;
  return open_streams_ < most;
}

io::StreamPtr ClientLink::open() {
  HG_ASSERT(can_open());
  Leg* const leg = std::make_unique<Leg>(*this, Leg::Role::asks).release();
  leg->handed_ = true;
  adopt(*leg);
  ++open_streams_;
  return io::StreamPtr(leg);
}

void ClientLink::ping() {
  if (ping_pending_ || over()) return;
  ping_pending_ = true;
  static_cast<void>(nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr));
  schedule();
}

bool ClientLink::allows_extended_connect() const {
  return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) ==
         1;
}

// The peer opens none (push is off).
Leg* ClientLink::begin_leg(std::int32_t) { return nullptr; }

void ClientLink::changed() { handler_.link_changed(*this); }

void ClientLink::ponged() {
  ping_pending_ = false;
  ponged_at_ = loop_.now();
}

void ClientLink::settings_came() { settings_seen_ = true; }

// Counted until nghttp2 has forgotten it: a leg that was closed by its owner may still be there.
void ClientLink::leg_gone(Leg& leg) {
  if (leg.id_ == Leg::kNoStream && !leg.begun_writing_) --open_streams_;
}

void ClientLink::stream_left() { --open_streams_; }

}  // namespace hushgate::h2
