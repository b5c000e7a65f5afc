#include "upstream/shared.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "upstream/dialer.h"
#include "upstream/endpoint.h"
#include "upstream/spares.h"

namespace hushgate::upstream {

// Makes a connection that is to be shared; used again and again.
class Shared::Dial final : public io::Runnable {
 public:
  explicit Dial(Shared& shared) : shared_(shared), dialer_(*this) {}

  bool busy() const { return dialer_.state() != Dialer::State::idle; }
  void start() {
    Endpoint& endpoint = shared_.endpoint_;
    dialer_.start(endpoint, shared_.limits_, endpoint.services().loop.now(), Dialer::Purpose::link);
    run();
  }

  void run() override {
    if (!busy()) return;
    const Time now = shared_.endpoint_.services().loop.now();
    switch (dialer_.step(now)) {
      case Dialer::State::connected:
        if (dialer_.speaks_http2()) return shared_.dialed_http2(dialer_.take_stream());
        return shared_.dialed_http1(dialer_.take(now));
      case Dialer::State::failed: {
        const Error error = dialer_.error();
        const SocketAddress address = dialer_.failed_address();
        dialer_.cancel();
        return shared_.dial_failed(error, address);
      }
      default: return;
    }
  }

 private:
  Shared& shared_;
  Dialer dialer_;
};

Shared::Shared(Endpoint& endpoint)
    : endpoint_(endpoint),
      mode_(endpoint.config().protocol == config::Protocol::auto_ ? Mode::unknown : Mode::http2) {}

Shared::~Shared() = default;

void Shared::heed(const Limits& limits) {
  settings_.stream_window_bytes = limits.max_buffered_bytes;
  settings_.max_head_bytes = limits.max_header_bytes;
  settings_.held_bytes = limits.max_buffered_bytes;
  limits_.connect_timeout = limits.connect_timeout;
  limits_.connect_total = limits.connect_total;
}

// --- who waits

void Shared::wait(LegWait& wait, LegWait::Want want) {
  HG_ASSERT(mode_ != Mode::http1 && wait.state_ != LegWait::State::waiting);
  wait.state_ = LegWait::State::waiting;
  wait.want_ = want;
  // Of those that came in this turn none can be the one that has failed it.
  wait.births_ = endpoint_.services().loop.now() == birth_turn_ ? births_before_turn_ : births_;
  wait.connection_.reset();
  if (try_settle(wait)) return;
  put_in_line(wait);
  dial_what_lacks();
}

void Shared::stop_waiting(LegWait& wait) {
  if (wait.linked()) take_out_of_line(wait);
  wait.state_ = LegWait::State::idle;
  wait.connection_.reset();
}

void Shared::put_in_line(LegWait& wait) {
  waits_.push_back(wait);
  ++wait_count_;
  ++count(wait.want_);
}

void Shared::take_out_of_line(LegWait& wait) {
  wait.unlink();
  --wait_count_;
  --count(wait.want_);
}

void Shared::settle(LegWait& wait, LegWait::State state) {
  wait.state_ = state;
  if (!wait.linked()) return;
  take_out_of_line(wait);
  endpoint_.services().loop.ready(wait.target_);
}

void Shared::grant(LegWait& wait, ConnectionPtr connection) {
  wait.connection_ = std::move(connection);
  settle(wait, LegWait::State::granted);
}

void Shared::fail(LegWait& wait, Error error, const SocketAddress& address) {
  wait.error_ = error;
  wait.failed_address_ = address;
  settle(wait, LegWait::State::failed);
}

// --- what they get

bool Shared::suits(const Carrier& carrier, const LegWait& wait) const {
  if (carrier.state() != Carrier::State::serving) return false;
  // Until a peer's limit is known, one leg goes ahead and the others follow its SETTINGS: what is
  // refused for being too many would have to be tried again.
  if (!carrier.has_room(expected_.value_or(1))) return false;
  switch (wait.want_) {
    case LegWait::Want::any: return true;
    case LegWait::Want::fresh: return carrier.birth() > wait.births_;
    case LegWait::Want::extended:
      return carrier.settings_seen() && carrier.allows_extended_connect();
  }
  return false;
}

// The oldest that is known to be there: so the others come to have none, and end. Else the one
// heard of last is asked.
bool Shared::try_settle(LegWait& wait) {
  Carrier* silent = nullptr;
  for (const auto& carrier : carriers_) {
    if (!suits(*carrier, wait)) continue;
    if (carrier->is_there()) {
      grant(wait, carrier->open());
      return true;
    }
    if (silent == nullptr || carrier->last_heard() > silent->last_heard()) silent = carrier.get();
  }
  if (wait.want_ == LegWait::Want::extended && refused_by_all()) {
    fail(wait, {ErrorKind::http_protocol_error, 0}, {});
    return true;
  }
  if (silent != nullptr) silent->ask(std::min(kPingTimeout, limits_.connect_timeout));
  return false;
}

// Whether it will soon take legs that it does not take yet. A peer that allows no stream at all is
// expected to change its mind: another connection would be as good.
bool Shared::may_come(const Carrier& carrier) const {
  if (carrier.state() == Carrier::State::asked) return true;
  if (carrier.state() != Carrier::State::serving) return false;
  return !carrier.settings_seen() || allows_nothing(carrier);
}

bool Shared::allows_nothing(const Carrier& carrier) {
  return carrier.open_streams() == 0 && !carrier.has_room(kStreamsExpected);
}

bool Shared::refused_by_all() const {
  if (busy_dials() > 0) return false;
  bool refused = false;
  for (const auto& carrier : carriers_) {
    if (carrier->state() == Carrier::State::leaving) continue;
    if (!carrier->settings_seen() || carrier->allows_extended_connect()) return false;
    refused = true;
  }
  return refused;
}

void Shared::serve() {
  bool none_for_any = false;
  for (LegWait* wait = waits_.empty() ? nullptr : &waits_.front(); wait != nullptr;) {
    LegWait* const next = waits_.next(*wait);
    const bool any = wait->want_ == LegWait::Want::any;
    if (!(any && none_for_any) && !try_settle(*wait) && any) none_for_any = true;
    if (none_for_any && count(LegWait::Want::any) == wait_count_) break;
    wait = next;
  }
  dial_what_lacks();
}

// --- connections

std::size_t Shared::busy_dials() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(dials_, [](const auto& dial) { return dial->busy(); }));
}

// Legs that will be there without another connection.
std::size_t Shared::promised() const {
  std::size_t legs = busy_dials() * expected();
  for (const auto& carrier : carriers_) {
    if (may_come(*carrier)) legs += expected() - std::min(expected(), carrier->legs());
  }
  return legs;
}

bool Shared::lacks_connections() {
  if (mode_ == Mode::http1 || busy_dials() >= kMaxSharedDials) return false;
  return wait_count_ > promised() || count(LegWait::Want::fresh) > promised_fresh();
}

// The same for those who want a new connection: one that has come since, and is not heard of yet,
// is one.
std::size_t Shared::promised_fresh() {
  std::size_t legs = busy_dials() * expected();
  if (count(LegWait::Want::fresh) == 0) return legs;
  std::uint64_t latest = 0;
  for (LegWait* wait = waits_.empty() ? nullptr : &waits_.front(); wait != nullptr;
       wait = waits_.next(*wait)) {
    if (wait->want_ == LegWait::Want::fresh) latest = std::max(latest, wait->births_);
  }
  for (const auto& carrier : carriers_) {
    if (carrier->birth() > latest && may_come(*carrier)) legs += expected();
  }
  return legs;
}

void Shared::dial_what_lacks() {
  while (lacks_connections()) {
    const auto idle = std::ranges::find_if(dials_, [](const auto& dial) { return !dial->busy(); });
    Dial& dial =
        idle != dials_.end() ? **idle : *dials_.emplace_back(std::make_unique<Dial>(*this));
    dial.start();
  }
}

void Shared::use_http2() {
  if (Spares* const spares = endpoint_.spares()) spares->drop_all();
  mode_ = Mode::http2;
}

void Shared::dialed_http2(io::StreamPtr wire) {
  use_http2();
  add(std::move(wire));
  serve();
}

ConnectionPtr Shared::adopt(io::StreamPtr wire) {
  use_http2();
  Carrier& carrier = add(std::move(wire));
  return carrier.has_room(1) ? carrier.open() : nullptr;
}

// The first has it, the others dial: only one could use it.
void Shared::dialed_http1(ConnectionPtr connection) {
  mode_ = Mode::http1;
  while (!waits_.empty()) {
    LegWait& wait = waits_.front();
    if (connection) {
      grant(wait, std::move(connection));
    } else {
      settle(wait, LegWait::State::alone);
    }
  }
  if (connection) endpoint_.put_idle(std::move(connection), std::nullopt);
}

// Fails those for whom nothing is left to come.
void Shared::dial_failed(Error error, const SocketAddress& address) {
  std::size_t legs = promised();
  std::size_t fresh_legs = promised_fresh();
  for (LegWait* wait = waits_.empty() ? nullptr : &waits_.front(); wait != nullptr;) {
    LegWait* const next = waits_.next(*wait);
    const bool fresh = wait->want_ == LegWait::Want::fresh;
    if (legs == 0 || (fresh && fresh_legs == 0)) {
      fail(*wait, error, address);
    } else {
      --legs;
      if (fresh) --fresh_legs;
    }
    wait = next;
  }
}

Carrier& Shared::add(io::StreamPtr wire) {
  if (const Time now = endpoint_.services().loop.now(); now != birth_turn_) {
    birth_turn_ = now;
    births_before_turn_ = births_;
  }
  return *carriers_.emplace_back(
      std::make_unique<Carrier>(*this, endpoint_, std::move(wire), settings_, ++births_));
}

void Shared::carrier_changed(Carrier& carrier) {
  learn(carrier);
  const bool stillborn = carrier.stillborn();
  const SocketAddress address = carrier.peer();
  if (stillborn || carrier.ended()) {
    std::erase_if(carriers_, [&](const auto& each) { return each.get() == &carrier; });
  }
  if (stillborn) return dial_failed({ErrorKind::connection_failed, ECONNRESET}, address);
  if (wait_count_ > 0) serve();
}

// A full one shows what its peer allows; one that is not, that it allows more.
void Shared::learn(const Carrier& carrier) {
  if (!carrier.settings_seen() || carrier.state() != Carrier::State::serving) return;
  if (allows_nothing(carrier)) return;
  const std::size_t open = carrier.open_streams();
  if (!carrier.has_room(kStreamsExpected)) {
    expected_ = std::min(open, kStreamsExpected);
  } else {
    expected_ = std::min(kStreamsExpected, std::max(expected(), open + 1));
  }
}

std::size_t Shared::idle_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(carriers_, [](const auto& carrier) { return carrier->idle(); }));
}

std::size_t Shared::shed_idle(std::size_t at_most) {
  return std::erase_if(carriers_, [&](const auto& carrier) {
    if (at_most == 0 || !carrier->idle()) return false;
    --at_most;
    carrier->reset();
    return true;
  });
}

void Shared::retire() {
  for (const auto& carrier : carriers_) carrier->leave();
}

}  // namespace hushgate::upstream
