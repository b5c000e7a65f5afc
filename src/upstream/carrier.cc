#include "upstream/carrier.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "upstream/endpoint.h"

namespace hushgate::upstream {

using stats::Counter;

Carrier::Carrier(Owner& owner, Endpoint& endpoint, io::StreamPtr wire,
                 const h2::LinkSettings& settings, std::uint64_t birth)
    : owner_(owner),
      endpoint_(endpoint),
      link_(endpoint.services().loop, *this, std::move(wire), settings),
      deadline_(*this),
      birth_(birth),
      opened_(endpoint.services().loop.now()) {
  endpoint_.services().counters.add(Counter::links_opened);
  peer_ = link_.wire().peer();
  link_.wire().set_keep_alive(io::kTcpKeepAlive);
  link_.wire().write_at_once();  // what comes behind a look is no reason to fail its streams
  mind_idle();
}

bool Carrier::fresh() const {
  return endpoint_.services().loop.now() - link_.last_heard() < kPingSilence;
}

// On one that carries streams something always comes.
bool Carrier::is_there() { return fresh() && (legs() > 0 || link_.wire().still_quiet()); }

bool Carrier::has_room(std::size_t expected) const {
  if (state_ == State::leaving || state_ == State::doubtful || !link_.can_open()) return false;
  return link_.settings_seen() || legs() < expected;
}

ConnectionPtr Carrier::open() {
  HG_ASSERT(state_ == State::serving);
  deadline_.clear();
  endpoint_.services().counters.add(Counter::link_streams);
  ConnectionPtr leg = Connection::share(endpoint_, link_.open(), opened_);
  leg->ordinal = streams_++;
  return leg;
}

bool Carrier::ask(Duration timeout) {
  HG_ASSERT(state_ == State::serving);
  if (!fresh()) {
    const bool only_pongs = link_.ponged_at() && link_.last_heard() <= *link_.ponged_at();
    if (!only_pongs) pings_in_a_row_ = 0;
    if (pings_in_a_row_ >= kMaxPingsInARow) return false;
    ++pings_in_a_row_;
    link_.ping();
  }
  link_.look();
  state_ = State::asked;
  Services& services = endpoint_.services();
  services.wheel.set(deadline_, services.loop.now() + timeout);
  return true;
}

void Carrier::leave() {
  if (state_ == State::leaving) return;
  state_ = State::leaving;
  link_.go_away(0, {});
  note_leaving();
}

void Carrier::reset() {
  state_ = State::leaving;
  deadline_.clear();
  link_.end(io::CloseHow::reset, {});
}

// An end in order takes as long as the upstream's FIN after an unsafe exchange may.
void Carrier::note_leaving() {
  deadline_.clear();
  if (legs() > 0 || ended()) return;
  Services& services = endpoint_.services();
  services.wheel.set(deadline_, services.loop.now() + endpoint_.config().close_wait);
}

void Carrier::mind_idle() {
  if (legs() > 0) return deadline_.clear();
  if (deadline_.running() || deadline_.expired()) return;
  Services& services = endpoint_.services();
  services.wheel.set(deadline_, services.loop.now() + endpoint_.config().idle_timeout);
}

void Carrier::link_changed(h2::ClientLink& link) {
  if (link.state() != h2::Link::State::open && state_ != State::leaving) {
    const bool by_goaway =
        link.state() == h2::Link::State::draining || (link.why().empty() && link.settings_seen());
    if (by_goaway) endpoint_.services().counters.add(Counter::links_drained);
    state_ = State::leaving;
    deadline_.clear();
    if (link.over()) tell_end();
  }
  switch (state_) {
    case State::asked:
      if (!fresh()) break;
      state_ = State::serving;
      deadline_.clear();
      mind_idle();
      break;
    case State::doubtful:
      if (fresh()) {
        state_ = State::serving;
        mind_idle();
      } else if (legs() == 0) {
        reset();
      }
      break;
    case State::serving:
      was_ready_ |= link.settings_seen();
      mind_idle();
      break;
    case State::leaving:
      if (!deadline_.running() && !deadline_.expired()) note_leaving();
      break;
  }
  owner_.carrier_changed(*this);
}

void Carrier::tell_end() {
  const std::string& why = link_.why();
  if (why.empty() && link_.settings_seen()) return;
  Services& services = endpoint_.services();
  services.log.line(services.loop.now(), LogLevel::warning, "upstream_http2_ended")
      .text("upstream", endpoint_.config().name)
      .text("endpoint", peer_.to_string())
      .number("streams", streams_)
      .text("detail", why.empty() ? "it sent no SETTINGS: does it speak HTTP/2?" : why);
}

// A deadline.
void Carrier::run() {
  if (!deadline_.expired()) return;
  deadline_.clear();
  Services& services = endpoint_.services();
  switch (state_) {
    case State::serving:
      services.counters.add(Counter::pool_expired);
      leave();
      break;
    case State::asked:
      services.counters.add(Counter::pings_unanswered);
      services.log.line(services.loop.now(), LogLevel::warning, "upstream_ping_unanswered")
          .text("upstream", endpoint_.config().name)
          .text("endpoint", peer_.to_string())
          .number("open_streams", legs());
      state_ = State::doubtful;
      if (legs() == 0) reset();
      break;
    case State::doubtful: break;
    case State::leaving: reset(); break;
  }
  owner_.carrier_changed(*this);
}

}  // namespace hushgate::upstream
