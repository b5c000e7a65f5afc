#include "io/sim_network.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {
namespace {

constexpr Time kBeginning{std::chrono::hours(1)};
constexpr Duration kSynRepeat = std::chrono::seconds(1);
constexpr Duration kTimeWait = std::chrono::seconds(60);

// FNV-1a.
std::size_t mix(std::size_t start, const IpAddress& ip) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325ULL ^ start;
  for (const std::uint8_t byte : ip.bytes()) hash = (hash ^ byte) * 0x100'0000'01B3ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

}  // namespace

SimNetwork::SimNetwork(const SimOptions& options)
    : options_(options), random_(options.seed), now_(kBeginning) {
  HG_ASSERT(options.latency_min <= options.latency_max && options.max_segment_bytes > 0);
}

SimNetwork::~SimNetwork() = default;

std::size_t SimNetwork::Hash::operator()(const IpAddress& ip) const { return mix(0, ip); }

std::size_t SimNetwork::Hash::operator()(const SocketAddress& address) const {
  if (const IpPort* const to = address.ip()) return mix(to->port, to->ip);
  return std::hash<std::string>()(*address.unix_path());
}

std::size_t SimNetwork::Hash::operator()(const Port& port) const {
  return mix(mix(std::size_t{port.port} << 16U | port.destination.port, port.source),
             port.destination.ip);
}

SimHost& SimNetwork::host(const IpAddress& address) {
  SimHost& host = hosts_[address];
  host.address = address;
  return host;
}

void SimNetwork::set_fate(const SocketAddress& destination, SimFate fate) {
  fates_[destination] = fate;
}

void SimNetwork::at(Time time, std::function<void()> what) {
  events_.push(std::max(time, now_), std::move(what));
}

bool SimNetwork::step(Time until) {
  bury();
  drop_stale_timers();
  if (events_.empty() || (events_.time() > until && events_.time() > now_)) {
    if (until != kNever) now_ = std::max(now_, until);
    return false;
  }
  now_ = std::max(now_, events_.time());
  while (!events_.empty() && events_.time() <= now_) run_first();
  return true;
}

// No time passes for them.
void SimNetwork::drop_stale_timers() {
  while (!events_.empty() && events_.first().kind == SimEvent::Kind::timer) {
    const SimSocket socket = events_.first().socket;
    const SimConnection* const of = connection(socket.connection);
    if (of != nullptr && of->ends[socket.side].awaits(events_.time())) return;
    std::function<void()> none;
    events_.pop(none);
  }
}

void SimNetwork::run_first() {
  const Time due = events_.time();
  const SimSocket socket = events_.first().socket;
  SimConnection* const of = connection(socket.connection);
  const bool segment = events_.first().kind == SimEvent::Kind::segment;
  if (segment && of != nullptr && now_ < of->stalled_until) {
    return events_.put_off(of->stalled_until);
  }
  std::function<void()> script;
  const SimEvent event = events_.pop(script);
  if (script) return script();
  if (of == nullptr) return;
  SimEnd& end = of->ends[socket.side];
  switch (event.kind) {
    case SimEvent::Kind::segment: arrive(event, *of); break;
    case SimEvent::Kind::timer: end.expire(due); break;
    case SimEvent::Kind::nudge:
      if (end.user() != nullptr) end.user()->socket_changed();
      break;
    case SimEvent::Kind::script: break;
  }
}

void SimNetwork::arrive(const SimEvent& event, SimConnection& connection) {
  SimEnd& end = connection.ends[event.socket.side];
  if (end.is_cut()) return;
  if (event.segment.kind == SimSegment::Kind::syn) return arrive_syn(event.socket, connection);
  end.arrive(event.segment);
}

void SimNetwork::run_for(Duration duration) {
  const Time until = now_ + duration;
  while (step(until)) {
  }
}

Duration SimNetwork::latency() {
  const auto spread = (options_.latency_max - options_.latency_min).count();
  return options_.latency_min + Duration(static_cast<std::int64_t>(
                                    random_.between(0, static_cast<std::uint64_t>(spread))));
}

SimConnection* SimNetwork::connection(std::uint64_t id) {
  if (id < first_connection_ || id - first_connection_ >= connections_.size()) return nullptr;
  return connections_[static_cast<std::size_t>(id - first_connection_)].get();
}

void SimNetwork::deliver(SimSocket to, const SimSegment& segment) {
  SimConnection* const of = connection(to.connection);
  HG_ASSERT(of != nullptr);
  Time& last = of->last_arrival[to.side];
  last = std::max(last, now_ + latency());
  events_.push(last, {.kind = SimEvent::Kind::segment, .socket = to, .segment = segment});
}

void SimNetwork::set_timer(SimSocket socket, Time time) {
  events_.push(time, {.kind = SimEvent::Kind::timer, .socket = socket});
}

void SimNetwork::nudge(SimSocket socket, Duration after) {
  events_.push(now_ + after, {.kind = SimEvent::Kind::nudge, .socket = socket});
}

Result<std::uint16_t> SimNetwork::take_port(const SimHost& source, const IpPort& destination) {
  if (source.ports == 0) return fail(ErrorKind::connection_failed, EADDRNOTAVAIL);
  const std::uint64_t start = random_.below(source.ports);
  for (std::uint64_t i = 0; i < source.ports; ++i) {
    const auto port = static_cast<std::uint16_t>(source.first_port + (start + i) % source.ports);
    const auto [found, fresh] = ports_.try_emplace({source.address, destination, port}, kNever);
    if (!fresh && found->second > now_) continue;
    found->second = kNever;
    return port;
  }
  return fail(ErrorKind::connection_failed, EADDRNOTAVAIL);
}

Result<SimSocket> SimNetwork::connect(SimHost& from, const SocketAddress& to,
                                      const ConnectOptions& options, SimUser* user) {
  if (from.descriptors >= from.descriptor_limit) return fail(ErrorKind::connection_failed, EMFILE);
  if (to.ip() == nullptr && pick_listener(to) == nullptr) {
    return fail(ErrorKind::connection_failed, ENOENT);
  }
  const SimHost& source = options.source ? host(*options.source) : from;
  std::uint16_t port = 0;
  SocketAddress local;
  if (to.ip() != nullptr) {
    const Result<std::uint16_t> taken = take_port(source, *to.ip());
    if (!taken) return std::unexpected(taken.error());
    port = *taken;
    local = IpPort{source.address, port};
  }
  const SimSocket socket{first_connection_ + connections_.size(), 0};
  SimHost& target = to.ip() != nullptr ? host(to.ip()->ip) : from;
  SimConnection& made = *connections_.emplace_back(std::make_unique<SimConnection>());
  ++open_connections_;
  made.port = port;
  made.ends[0].start(*this, socket, from, made.ends[1]);
  made.ends[1].start(*this, socket.other(), target, made.ends[0]);
  made.ends[0].set_addresses(local, to);
  made.ends[1].set_addresses(to, local);
  made.ends[0].set_user(user);
  ++from.descriptors;
  if (tap_ != nullptr) tap_->connecting(socket, from, to);
  const auto fate = fates_.find(to);
  if (fate == fates_.end() || fate->second != SimFate::black_hole) {
    deliver(socket.other(), {.kind = SimSegment::Kind::syn});
  }
  return socket;
}

void SimNetwork::arrive_syn(SimSocket socket, SimConnection& connection) {
  SimEnd& server = connection.ends[1];
  if (server.state() != SimEnd::State::connecting) return;
  SimListener* listener = pick_listener(server.local());
  if (listener == nullptr) {
    server.die(0);
    return deliver(socket.other(), {.kind = SimSegment::Kind::refusal});
  }
  if (listener->queue.size() > static_cast<std::size_t>(listener->backlog)) {
    return events_.push(now_ + kSynRepeat, {.kind = SimEvent::Kind::segment,
                                            .socket = socket,
                                            .segment = {.kind = SimSegment::Kind::syn}});
  }
  server.established(connection.ends[0].host().receive_window_bytes);
  deliver(socket.other(),
          {.kind = SimSegment::Kind::syn_answer, .window = server.host().receive_window_bytes});
  server.set_user(&queued_);
  listener->queue.push_back(socket);
  listener->user->socket_changed();
}

SimListener* SimNetwork::pick_listener(const SocketAddress& address) {
  auto found = listeners_.find(address);
  if (found == listeners_.end() && address.ip() != nullptr) {
    found = listeners_.find(IpPort{IpAddress{}, address.ip()->port});
  }
  if (found == listeners_.end()) return nullptr;
  return found->second[static_cast<std::size_t>(random_.below(found->second.size()))];
}

std::unique_ptr<SimListener> SimNetwork::listen(SimHost& host, const SocketAddress& address,
                                                int backlog, SimUser* user) {
  SocketAddress chosen = address;
  if (address.ip() != nullptr && address.ip()->port == 0) {
    chosen = IpPort{address.ip()->ip, next_listen_port_++};
  }
  auto listener =
      std::make_unique<SimListener>(SimListener{&host, std::move(chosen), backlog, user, {}});
  listeners_[listener->address].push_back(listener.get());
  ++host.descriptors;
  return listener;
}

void SimNetwork::close_listener(std::unique_ptr<SimListener> listener) {
  const auto found = listeners_.find(listener->address);
  HG_ASSERT(found != listeners_.end());
  std::erase(found->second, listener.get());
  if (found->second.empty()) listeners_.erase(found);
  for (const SimSocket socket : listener->queue) end(socket).close(CloseHow::reset);
  --listener->host->descriptors;
}

Result<SimSocket> SimNetwork::accept(SimListener& listener, SimUser* user) {
  if (listener.host->descriptors >= listener.host->descriptor_limit) {
    return fail(ErrorKind::shedding, EMFILE);  // of an empty queue, too, as Linux does
  }
  if (listener.queue.empty()) return fail(ErrorKind::none, EAGAIN);
  const SimSocket socket = listener.queue.front();
  listener.queue.pop_front();
  end(socket).set_user(user);
  if (tap_ != nullptr) tap_->accepted(socket);
  ++listener.host->descriptors;
  return socket;
}

SimEnd& SimNetwork::end(SimSocket socket) {
  SimConnection* const of = connection(socket.connection);
  HG_ASSERT(of != nullptr);
  return of->ends[socket.side];
}

SimEnd* SimNetwork::find(SimSocket socket) {
  SimConnection* const of = connection(socket.connection);
  if (of == nullptr || of->ends[socket.side].has_ended()) return nullptr;
  return &of->ends[socket.side];
}

void SimNetwork::close(SimSocket socket, CloseHow how) {
  SimEnd& closing = end(socket);
  --closing.host().descriptors;
  closing.close(how);
}

void SimNetwork::vanish(SimSocket socket) {
  SimConnection* const of = connection(socket.connection);
  if (of == nullptr || of->ends[0].is_cut()) return;
  if (tap_ != nullptr) tap_->vanished(socket);
  for (SimEnd& end : of->ends) end.cut();
}

void SimNetwork::vanish_with_user(SimSocket socket) {
  vanish(socket);
  SimEnd& gone = end(socket);
  --gone.host().descriptors;
  gone.abandon();
}

void SimNetwork::stall(SimSocket socket, Duration duration) {
  SimConnection* const of = connection(socket.connection);
  if (of != nullptr) of->stalled_until = std::max(of->stalled_until, now_ + duration);
}

void SimNetwork::ended(SimSocket socket) {
  const SimConnection& of = *connection(socket.connection);
  if (of.ends[0].has_ended() && of.ends[1].has_ended()) finished_.push_back(socket.connection);
}

void SimNetwork::bury() {
  for (const std::uint64_t id : finished_) {
    std::unique_ptr<SimConnection>& of =
        connections_[static_cast<std::size_t>(id - first_connection_)];
    if (of->port != 0) {
      const SimEnd& client = of->ends[0];
      const bool time_wait = client.state() == SimEnd::State::orphaned && client.closed_first();
      const Port port{client.local().ip()->ip, *client.remote().ip(), of->port};
      if (time_wait) {
        ports_[port] = now_ + kTimeWait;
      } else {
        ports_.erase(port);
      }
    }
    of.reset();
    --open_connections_;
  }
  finished_.clear();
  while (!connections_.empty() && !connections_.front()) {
    connections_.pop_front();
    ++first_connection_;
  }
}

}  // namespace hushgate::io
