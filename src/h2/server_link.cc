#include "h2/server_link.h"

#include <utility>

#include "h2/callbacks.h"

namespace hushgate::h2 {

ServerLink::ServerLink(io::Loop& loop, Handler& handler, io::StreamPtr wire,
                       const LinkSettings& settings)
    : Link(loop, std::move(wire), settings, kPrefaceBytes), handler_(handler) {
  session_ = Callbacks::make_server(*this);
}

ServerLink::~ServerLink() {
  end(io::CloseHow::reset, {});
  for (Leg* const leg : opened_) io::StreamPtr(leg).reset();
}

void ServerLink::start(Bytes taken) {
  if (!taken.empty()) feed(taken);
  open_legs();
  schedule();
}

void ServerLink::announce_end() {
  if (over()) return;
  static_cast<void>(nghttp2_submit_shutdown_notice(session_));
  schedule();
}

Leg* ServerLink::begin_leg(std::int32_t id) {
  Leg* const leg = std::make_unique<Leg>(*this, Leg::Role::answers).release();
  leg->id_ = id;
  adopt(*leg);
  return leg;
}

// Its owner begins behind the frames that are being read: whoever resets it at once has not cost
// an exchange.
void ServerLink::leg_ready(Leg& leg) {
  leg.handed_ = true;
  opened_.push_back(&leg);
}

void ServerLink::open_legs() {
  std::vector<Leg*> opened;
  opened.swap(opened_);
  for (Leg* const leg : opened) {
    io::StreamPtr stream(leg);
    if (!leg->failed()) handler_.leg_opened(std::move(stream));
  }
  opened.clear();
  if (opened_.empty()) opened_.swap(opened);  // its room
}

void ServerLink::changed() {
  open_legs();
  handler_.link_changed();
}

void ServerLink::flooded(Flood kind) { handler_.flooded(kind); }

}  // namespace hushgate::h2
