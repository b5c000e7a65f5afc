#include "upstream/dialer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "io/sockets.h"

namespace hushgate::upstream {
namespace {

using stats::Counter;

constexpr Ms kPortPoll{
    100};  // ports also become free without our seeing it (TIME_WAIT, other processes)

bool lacks_descriptors(int os_error) { return os_error == EMFILE || os_error == ENFILE; }

ErrorKind kind_of(int os_error) {
  switch (os_error) {
    case ECONNREFUSED: return ErrorKind::connection_refused;
    case ETIMEDOUT: return ErrorKind::connection_timeout;
    case EADDRNOTAVAIL: return ErrorKind::ports_exhausted;
    case EMFILE:
    case ENFILE: return ErrorKind::shedding;
    default: return ErrorKind::connection_failed;
  }
}

// How much an error says about the endpoint. Of equals the last is kept. What a handshake has met
// says most: somebody was there.
constexpr int kHandshakeWeight = 4;
int weight_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::connection_refused: return 3;
    case ErrorKind::connection_timeout: return 1;
    case ErrorKind::ports_exhausted: return 0;
    default: return 2;
  }
}

// A loopback port of the ephemeral range on which nobody listens may be chosen as the source of the
// connection to it; TCP then joins the connection with itself.
bool is_to_itself(io::Stream& stream) {
  const IpPort* peer = stream.peer().ip();
  return peer != nullptr && peer->ip.is_loopback() && io::is_ephemeral(peer->port) &&
         stream.local() == stream.peer();
}

}  // namespace

void Dialer::start(Endpoint& endpoint, const Limits& limits, Time now, Purpose purpose) {
  HG_ASSERT(state_ == State::idle || state_ == State::failed);
  endpoint_ = &endpoint;
  purpose_ = purpose;
  connect_timeout_ = limits.connect_timeout;
  error_ = {};
  failed_address_ = {};
  lost_leg_ = false;
  total_due_ = now + limits.connect_total;
  ports_due_ = now + std::min<Duration>(limits.connect_timeout, limits.connect_total);
  Shared* const shared = endpoint.shared();
  if (shared != nullptr && purpose != Purpose::link) shared->heed(limits);
  LegWait::Want want{};
  if (!wants_leg(want)) return begin_alone(now);
  state_ = State::sharing;
  shared->wait(leg_wait_, want);
}

bool Dialer::wants_leg(LegWait::Want& want) const {
  const Shared* const shared = endpoint_->shared();
  if (shared == nullptr || shared->mode() == Shared::Mode::http1) return false;
  switch (purpose_) {
    case Purpose::request: want = LegWait::Want::any; return true;
    case Purpose::replay: want = LegWait::Want::fresh; return true;
    case Purpose::upgrade:
      want = LegWait::Want::extended;
      return endpoint_->config().protocol != config::Protocol::auto_;
    case Purpose::link:
    case Purpose::spare: break;
  }
  return false;
}

void Dialer::begin_alone(Time now) {
  state_ = State::resolving;
  endpoint_->name().need(name_wait_, now);
}

void Dialer::gather_addresses() {
  const config::Upstream& config = endpoint_->config();
  addresses_.clear();
  if (config.scheme == config::Scheme::unix_socket) {
    addresses_.push_back(SocketAddress::unix_socket(config.unix_path));
    return;
  }
  for (const IpAddress& ip : endpoint_->name().addresses()) {
    addresses_.push_back(IpPort{ip, config.port});
  }
}

Dialer::State Dialer::step(Time now) {
  if (state_ == State::sharing) step_sharing(now);
  if (state_ == State::resolving) step_resolving(now);
  if (state_ == State::port_wait) step_port_wait(now);
  if (state_ == State::racing) watch_attempts(now);
  if (state_ == State::handshake) watch_handshake(now);
  set_alarm(now);
  return state_;
}

void Dialer::step_sharing(Time now) {
  switch (leg_wait_.state()) {
    case LegWait::State::alone: return begin_alone(now);
    case LegWait::State::failed:
      failed_address_ = leg_wait_.failed_address();
      return fail(leg_wait_.error());
    case LegWait::State::granted:
      connection_ = leg_wait_.take();
      if (connection_->stream().failed()) return leg_lost(now);
      end_waits();
      state_ = State::connected;
      return;
    case LegWait::State::idle:
    case LegWait::State::waiting: break;
  }
  if (now >= total_due_) fail({ErrorKind::connection_timeout, ETIMEDOUT});
}

// Its connection ended before it was taken. Nothing was on it, so it is asked for another, once: an
// upstream that ends every connection is not to be met again and again.
void Dialer::leg_lost(Time now) {
  io::Stream& stream = connection_->stream();
  failed_address_ = stream.peer();
  const Error error{ErrorKind::connection_failed, stream.error()};
  connection_.reset();
  if (std::exchange(lost_leg_, true)) return fail(error);
  LegWait::Want want{};
  if (!wants_leg(want)) return begin_alone(now);
  endpoint_->shared()->wait(leg_wait_, want);
  if (leg_wait_.state() != LegWait::State::waiting) step_sharing(now);
}

void Dialer::step_resolving(Time now) {
  const Name& name = endpoint_->name();
  if (now >= total_due_) {
    fail({ErrorKind::dns_timeout, 0});
  } else if (name.state() == Name::State::known) {
    begin_race(now);
  } else if (name.state() == Name::State::failed) {
    fail(name.error());
  }
}

// Only the first in the queue tries; it wakes the next one when it leaves.
void Dialer::step_port_wait(Time now) {
  if (now >= ports_due_) {
    endpoint_->services().counters.add(Counter::ports_exhausted);
    fail({ErrorKind::ports_exhausted, EADDRNOTAVAIL});
  } else if (endpoint_->is_next(port_wait_)) {
    begin_race(now);
  }
}

void Dialer::begin_race(Time now) {
  gather_addresses();
  error_ = {};
  next_ = 0;
  next_due_ = now;
  no_port_ = false;
  unavailable_ = 0;
  state_ = State::racing;
}

void Dialer::watch_attempts(Time now) {
  for (std::size_t i = 0; i < attempts_.size();) {
    Attempt& attempt = attempts_[i];
    io::Stream& stream = *attempt.stream;
    const bool to_itself = !stream.connecting() && !stream.failed() && is_to_itself(stream);
    if (!stream.connecting() && !stream.failed() && !to_itself) {
      return won(std::move(attempt.stream), now);
    }
    const bool timed_out = stream.connecting() && (now >= attempt.due || now >= total_due_);
    if (stream.failed() || timed_out || to_itself) {
      const int os_error = timed_out ? ETIMEDOUT : to_itself ? ECONNREFUSED : stream.error();
      const Error error{kind_of(os_error), os_error};
      note_failure(stream.peer(), error, weight_of(error.kind));
      attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
      next_due_ = now;
    } else {
      ++i;
    }
  }
  while (now >= next_due_ && now < total_due_ && next_ < addresses_.size()) {
    if (try_next(now)) break;
  }
  if (state_ != State::racing) return;
  if (attempts_.empty() && (next_ >= addresses_.size() || now >= total_due_)) all_failed(now);
}

void Dialer::won(io::StreamPtr stream, Time now) {
  attempts_.clear();
  if (endpoint_->sessions() != nullptr) return begin_handshake(std::move(stream), now);
  speaks_http2_ = endpoint_->config().protocol == config::Protocol::h2c;
  connected(std::move(stream));
}

void Dialer::connected(io::StreamPtr stream) {
  if (stream->peer().ip() != nullptr) endpoint_->name().prefer(stream->peer().ip()->ip);
  if (speaks_http2_ && purpose_ != Purpose::link) {
    connection_ = endpoint_->shared()->adopt(std::move(stream));
    if (!connection_) return fail({ErrorKind::connection_failed, ECONNRESET});
  } else {
    winner_ = std::move(stream);
  }
  end_waits();
  state_ = State::connected;
}

// Where HTTP/2 is of no use it is not offered. Empty: all that the configuration offers is.
std::string_view Dialer::only_protocol() const {
  const bool only_http1 = purpose_ == Purpose::upgrade || purpose_ == Purpose::spare;
  return only_http1 ? "http/1.1" : "";
}

void Dialer::begin_handshake(io::StreamPtr stream, Time now) {
  state_ = State::handshake;
  handshake_due_ = std::min<Time>(now + connect_timeout_, total_due_);
  handshake_ = tls::Stream::connect(endpoint_->services().tls, *endpoint_->sessions(),
                                    std::move(stream), &owner_, only_protocol());
  watch_handshake(now);
}

void Dialer::watch_handshake(Time now) {
  if (handshake_->failed()) {
    const tls::Failure& failure = handshake_->failure();
    Error error{ErrorKind::tls_protocol_error, 0};
    if (failure.kind == tls::FailureKind::certificate)
      error = {ErrorKind::tls_certificate_error, 0};
    if (failure.kind == tls::FailureKind::transport) {
      error = {kind_of(handshake_->error()), handshake_->error()};
    }
    return handshake_failed(error, failure.message, now);
  }
  if (handshake_->connecting()) {
    if (now < handshake_due_) return;
    return handshake_failed({ErrorKind::connection_timeout, ETIMEDOUT},
                            "the TLS handshake did not end in time", now);
  }
  speaks_http2_ = handshake_->alpn() == "h2";
  if (endpoint_->config().protocol == config::Protocol::http2 && !speaks_http2_) {
    return handshake_failed({ErrorKind::tls_protocol_error, 0},
                            "the upstream did not choose h2 (ALPN); its protocol is \"http2\"",
                            now);
  }
  connected(std::move(handshake_));
}

// A certificate that does not verify is nothing that another try would change.
void Dialer::handshake_failed(Error error, std::string_view why, Time now) {
  const SocketAddress to = handshake_->peer();
  Services& services = endpoint_->services();
  services.log.line(services.loop.now(), LogLevel::warning, "upstream_tls_failed")
      .text("upstream", endpoint_->config().name)
      .text("endpoint", to.to_string())
      .text("detail", why);
  handshake_.reset();
  note_failure(to, error, kHandshakeWeight);
  if (error.kind == ErrorKind::tls_certificate_error) return fail(error);
  state_ = State::racing;
  next_due_ = now;
  watch_attempts(now);
}

// True if a connect is under way now.
bool Dialer::try_next(Time now) {
  const SocketAddress& to = addresses_[next_++];
  Result<io::StreamPtr> stream = connect(to);
  if (!stream) {
    const Error error{kind_of(stream.error().os_error), stream.error().os_error};
    note_failure(to, error, weight_of(error.kind));
    return false;
  }
  attempts_.push_back({std::move(*stream), now + connect_timeout_});
  next_due_ = now + kAddressRaceDelay;
  if (attempts_.back().stream->connecting()) return true;
  next_due_ = kNever;
  watch_attempts(now);  // over at once, well or badly (loopback, UNIX sockets)
  return true;
}

Result<io::StreamPtr> Dialer::connect(const SocketAddress& to) {
  Services& services = endpoint_->services();
  io::ConnectOptions options;
  if (to.ip() != nullptr) options.source = endpoint_->next_source(to.ip()->ip);
  services.counters.add(Counter::connects);
  Result<io::StreamPtr> stream = services.loop.backend().connect(to, options, &owner_);
  if (stream || purpose_ == Purpose::spare) return stream;
  const int os_error = stream.error().os_error;
  const bool room = os_error == EADDRNOTAVAIL
                        ? endpoint_->free_ports() > 0
                        : lacks_descriptors(os_error) && services.room.make_room();
  return room ? services.loop.backend().connect(to, options, &owner_) : std::move(stream);
}

// The error that says most about the endpoint is kept: of a handshake before refused before others,
// a timeout of connect last.
void Dialer::note_failure(const SocketAddress& to, Error error, int weight) {
  endpoint_->services().counters.add(Counter::connects_failed);
  if (error.kind == ErrorKind::ports_exhausted) {
    ++unavailable_;
    no_port_ = no_port_ || (to.ip() != nullptr && endpoint_->name().winner() == to.ip()->ip);
  }
  if (error_.kind != ErrorKind::none && weight < error_weight_) return;
  error_ = error;
  error_weight_ = weight;
  failed_address_ = to;
}

// A machine without IPv6 says EADDRNOTAVAIL for ::1 too. So it counts as a want of ports only from
// an address that has worked before, or from all of them.
bool Dialer::lacks_ports() const { return no_port_ || unavailable_ == addresses_.size(); }

void Dialer::all_failed(Time now) {
  endpoint_->name().doubt(now);
  if (error_.kind == ErrorKind::none) return fail({ErrorKind::connection_timeout, ETIMEDOUT});
  if (!lacks_ports()) {
    if (error_.kind == ErrorKind::ports_exhausted) error_.kind = ErrorKind::connection_failed;
    return fail(error_);
  }
  if (purpose_ != Purpose::spare) {
    if (now < ports_due_ && endpoint_->wait_for_port(port_wait_)) {
      state_ = State::port_wait;
      return;
    }
    endpoint_->services().counters.add(Counter::ports_exhausted);
  }
  fail({ErrorKind::ports_exhausted, EADDRNOTAVAIL});
}

void Dialer::fail(Error error) {
  attempts_.clear();
  handshake_.reset();
  end_waits();
  error_ = error;
  state_ = State::failed;
}

void Dialer::end_waits() {
  name_wait_.unlink();
  if (endpoint_ != nullptr) {
    endpoint_->stop_waiting(port_wait_);
    if (Shared* const shared = endpoint_->shared()) shared->stop_waiting(leg_wait_);
  }
  alarm_.cancel();
}

void Dialer::set_alarm(Time now) {
  Time due = total_due_;
  if (state_ == State::racing) {
    for (const Attempt& attempt : attempts_) due = std::min(due, attempt.due);
    if (next_ < addresses_.size()) due = std::min(due, next_due_);
  } else if (state_ == State::handshake) {
    due = handshake_due_;
  } else if (state_ == State::port_wait) {
    due = ports_due_;
    if (endpoint_->is_next(port_wait_)) due = std::min(due, now + kPortPoll);
  } else if (state_ != State::resolving && state_ != State::sharing) {
    return;
  }
  endpoint_->services().loop.set_alarm(alarm_, due);
}

ConnectionPtr Dialer::take(Time now) {
  HG_ASSERT(state_ == State::connected);
  state_ = State::idle;
  Endpoint& endpoint = *std::exchange(endpoint_, nullptr);
  if (connection_) return std::move(connection_);
  return Connection::begin(endpoint, std::move(winner_), now);
}

io::StreamPtr Dialer::take_stream() {
  HG_ASSERT(state_ == State::connected && purpose_ == Purpose::link);
  state_ = State::idle;
  endpoint_ = nullptr;
  return std::move(winner_);
}

void Dialer::cancel() {
  attempts_.clear();
  handshake_.reset();
  winner_.reset();
  connection_.reset();
  end_waits();
  endpoint_ = nullptr;
  state_ = State::idle;
}

}  // namespace hushgate::upstream
