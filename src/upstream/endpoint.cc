#include "upstream/endpoint.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "http/h1_state.h"
#include "upstream/shared.h"
#include "upstream/spares.h"

namespace hushgate::upstream {
namespace {

bool may_share(const config::Upstream& upstream) {
  switch (upstream.protocol) {
    case config::Protocol::auto_: return upstream.scheme == config::Scheme::https;
    case config::Protocol::http1: return false;
    case config::Protocol::http2:
    case config::Protocol::h2c: return true;
  }
  return false;
}

}  // namespace

using stats::Counter;

Endpoint::Endpoint(const Services& services, config::Upstream config,
                   tls::ClientContext::Pointer tls)
    : services_(services),
      config_(std::move(config)),
      name_(config_.literal || config_.scheme == config::Scheme::unix_socket
                ? Name(services.loop, services.names, config_.literal.value_or(IpAddress{}))
                : Name(services.loop, services.names, config_.host)),
      tls_(std::move(tls)) {
  if (tls_) sessions_.emplace(tls_);
  if (may_share(config_)) shared_ = std::make_unique<Shared>(*this);
  if (config_.spare > 0) spares_ = std::make_unique<Spares>(*this, config_.spare);
}

Endpoint::~Endpoint() {
  at_rest_ = nullptr;
  spares_.reset();
  shared_.reset();
  while (!idle_.empty()) discard(idle_.back(), io::CloseHow::reset);
  while (!ending_.empty()) discard(ending_.back(), io::CloseHow::reset);
}

bool Endpoint::serves(const config::Upstream& upstream,
                      const tls::ClientContext::Pointer& tls) const {
  config::Upstream alike = upstream;
  alike.url = config_.url;
  alike.prefix = config_.prefix;
  alike.authority = config_.authority;
  alike.host_policy = config_.host_policy;
  return alike == config_ && tls == tls_;
}

void Endpoint::retire(io::Runnable& at_rest) {
  at_rest_ = &at_rest;
  if (spares_) spares_->drop_all();
  if (shared_) shared_->retire();
  while (!idle_.empty()) discard(idle_.back(), io::CloseHow::reset);
}

Spares* Endpoint::spares() {
  const bool wanted = at_rest_ == nullptr && (!shared_ || shared_->mode() == Shared::Mode::http1);
  return wanted ? spares_.get() : nullptr;
}

ConnectionPtr Endpoint::unlink(Connection& connection) {
  HG_ASSERT(connection.state_ != Connection::State::active);
  (connection.state_ == Connection::State::idle ? idle_count_ : ending_count_) -= 1;
  static_cast<ListNode<ConnectionTag>&>(connection).unlink();
  static_cast<ListNode<io::ReadyTag>&>(connection).unlink();
  connection.deadline_.clear();
  connection.state_ = Connection::State::active;
  return ConnectionPtr(&connection);
}

void Endpoint::discard(Connection& connection, io::CloseHow how) {
  ConnectionPtr owned = unlink(connection);
  io::close(std::move(owned->stream_), how);
  port_freed();
  if (at_rest_ != nullptr && ending_count_ == 0) services_.loop.ready(*at_rest_);
}

ConnectionPtr Endpoint::take_idle() {
  while (!idle_.empty()) {
    Connection& connection = idle_.front();
    const bool overdue = connection.deadline_.due() <= services_.loop.now();
    if (!overdue && connection.stream().still_quiet()) {
      services_.counters.add(Counter::reuses);
      return unlink(connection);
    }
    idle_event(connection);
    if (!idle_.empty() && &idle_.front() == &connection) discard(connection, io::CloseHow::reset);
  }
  return nullptr;
}

void Endpoint::put_idle(ConnectionPtr connection, std::optional<std::uint32_t> hint_s) {
  if (connection->multiplexed()) return finish(std::move(connection));
  io::Stream& stream = connection->stream();
  const Time now = services_.loop.now();
  Duration limit = early_close_.limit(config_.idle_timeout, now);
  if (hint_s) limit = std::min<Duration>(limit, std::chrono::seconds(*hint_s) - Ms{1'000});
  const bool retired = at_rest_ != nullptr;
  if (retired || config_.max_idle == 0 || limit <= Duration::zero() || stream.peer_finished() ||
      stream.failed()) {
    return drop(std::move(connection));
  }
  if (idle_count_ >= config_.max_idle) {
    services_.counters.add(Counter::pool_shed);
    discard(idle_.back(), io::CloseHow::reset);
  }
  Connection& idle = *connection.release();
  idle.state_ = Connection::State::idle;
  idle.idle_since = now;
  stream.set_owner(&idle);
  idle.probe();
  services_.wheel.set(idle.deadline_, now + limit);
  idle_.push_front(idle);
  ++idle_count_;
  if (stream.readable())
    services_.loop.ready(idle);  // an edge that has passed comes no second time
}

void Endpoint::end(ConnectionPtr connection) {
  if (connection->multiplexed()) return finish(std::move(connection));
  Connection& ending = *connection.release();
  ending.state_ = Connection::State::ending;
  ending.stream().set_owner(&ending);
  services_.wheel.set(ending.deadline_, services_.loop.now() + config_.close_wait);
  ending_.push_back(ending);
  ++ending_count_;
  if (ending.stream().readable() || ending.stream().failed()) ending_event(ending);
}

void Endpoint::finish(ConnectionPtr connection) {
  HG_ASSERT(connection->multiplexed());
  io::close(std::move(connection->stream_), io::CloseHow::fin);
}

void Endpoint::drop(ConnectionPtr connection) {
  if (!connection) return;
  connection.reset();  // a StreamPtr's end is a reset
  port_freed();
}

std::size_t Endpoint::shed_idle(std::size_t at_most) {
  std::size_t shed = 0;
  for (; shed < at_most && !idle_.empty(); ++shed) discard(idle_.back(), io::CloseHow::reset);
  if (shed < at_most && shared_) shed += shared_->shed_idle(at_most - shed);
  if (shed == 0 && spares_) shed = spares_->drop_all();
  services_.counters.add(Counter::pool_shed, shed);
  return shed;
}

std::size_t Endpoint::free_ports() {
  std::size_t freed = shed_idle(idle_count_ + (shared_ ? shared_->idle_count() : 0));
  if (spares_) freed += spares_->drop_all();
  for (std::size_t n = (ending_count_ + 1) / 2; n > 0; --n, ++freed) {
    services_.counters.add(Counter::close_wait_reset);
    discard(ending_.front(), io::CloseHow::reset);
  }
  return freed;
}

void Endpoint::learn(Connection& connection) {
  const Time now = services_.loop.now();
  const Duration age = now - connection.idle_since;
  services_.counters.add(Counter::pool_closed_early);
  if (!early_close_.observe(age, now)) return;
  services_.log.line(now, LogLevel::info, "upstream_closes_early")
      .text("upstream", config_.name)
      .ms("idle_ms", age)
      .ms("pool_idle_ms", early_close_.limit(config_.idle_timeout, now));
}

void Endpoint::idle_event(Connection& connection) {
  if (connection.deadline_.expired()) {
    services_.counters.add(Counter::pool_expired);
    return discard(connection, io::CloseHow::reset);
  }
  const io::Take take = connection.stream().take();
  switch (take.kind) {
    case io::Take::Kind::nothing: return;
    case io::Take::Kind::data:
      services_.counters.add(Counter::pool_stray_bytes);
      services_.log.line(services_.loop.now(), LogLevel::warning, "upstream_stray_bytes")
          .text("upstream", config_.name)
          .text("endpoint", connection.stream().peer().to_string())
          .number("bytes", take.lease.bytes().size());
      return discard(connection, io::CloseHow::reset);
    case io::Take::Kind::fin: learn(connection); return discard(connection, io::CloseHow::fin);
    case io::Take::Kind::failed:
      services_.counters.add(Counter::pool_closed_early);
      return discard(connection, io::CloseHow::reset);
  }
}

void Endpoint::ending_event(Connection& connection) {
  if (connection.deadline_.expired()) {
    services_.counters.add(Counter::close_wait_reset);
    return discard(connection, io::CloseHow::reset);
  }
  // What lies before its FIN is nobody's.
  io::Stream& stream = connection.stream();
  if (stream.peer_finished() && !stream.failed()) return discard(connection, io::CloseHow::fin);
  const io::Take take = stream.take();
  if (take.kind == io::Take::Kind::nothing) return;
  const bool orderly = take.kind == io::Take::Kind::fin;
  discard(connection, orderly ? io::CloseHow::fin : io::CloseHow::reset);
}

bool Endpoint::wait_for_port(PortWait& wait) {
  if (wait.linked()) return true;
  if (port_wait_count_ >= kMaxPortWaits) return false;
  services_.counters.add(Counter::port_waits);
  port_waits_.push_back(wait);
  ++port_wait_count_;
  return true;
}

void Endpoint::stop_waiting(PortWait& wait) {
  if (!wait.linked()) return;
  wait.unlink();
  --port_wait_count_;
  port_freed();  // the next one's try
}

void Endpoint::port_freed() {
  if (!port_waits_.empty()) services_.loop.ready(port_waits_.front().target);
}

std::optional<IpAddress> Endpoint::next_source(const IpAddress& destination) {
  const std::vector<IpAddress>& sources = config_.source_addresses;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const IpAddress& source = sources[next_source_++ % sources.size()];
    if (source.family() == destination.family()) return source;
  }
  return std::nullopt;
}

}  // namespace hushgate::upstream
