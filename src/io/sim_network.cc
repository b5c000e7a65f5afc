#include "io/sim_network.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {
namespace {

constexpr Time kBeginning{std::chrono::hours(1)};
constexpr Duration kSynRepeat = std::chrono::seconds(1);
constexpr Duration kTimeWait = std::chrono::seconds(60);

}  // namespace

SimNetwork::SimNetwork(const SimOptions& options)
    : options_(options), random_(options.seed), now_(kBeginning) {
  HG_ASSERT(options.latency_min <= options.latency_max && options.max_segment_bytes > 0);
}

SimNetwork::~SimNetwork() = default;

SimHost& SimNetwork::host(const IpAddress& address) {
  std::unique_ptr<SimHost>& host = hosts_[address.to_string()];
  if (!host) {
    host = std::make_unique<SimHost>();
    host->address = address;
  }
  return *host;
}

void SimNetwork::set_fate(const SocketAddress& destination, SimFate fate) {
  fates_[destination.to_string()] = fate;
}

void SimNetwork::push(Time time, std::function<void()> what) {
  events_.push_back({time, next_order_++, std::move(what)});
  std::push_heap(events_.begin(), events_.end());
}

void SimNetwork::at(Time time, std::function<void()> what) {
  push(std::max(time, now_), std::move(what));
}

bool SimNetwork::step(Time until) {
  bury();
  if (events_.empty() || (events_.front().time > until && events_.front().time > now_)) {
    if (until != kNever) now_ = std::max(now_, until);
    return false;
  }
  now_ = std::max(now_, events_.front().time);
  while (!events_.empty() && events_.front().time <= now_) {
    std::pop_heap(events_.begin(), events_.end());
    const Event event = std::move(events_.back());
    events_.pop_back();
    event.what();
  }
  return true;
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

void SimNetwork::deliver(SimSocket to, std::function<void(SimEnd&)> what) {
  const auto found = connections_.find(to.connection);
  HG_ASSERT(found != connections_.end());
  Time& last = found->second->last_arrival[to.side];
  last = std::max(last, now_ + latency());
  push(last, [this, to, what = std::move(what)] {
    const auto still = connections_.find(to.connection);
    if (still != connections_.end()) what(still->second->ends[to.side]);
  });
}

Result<std::uint16_t> SimNetwork::take_port(const SimHost& from, const std::string& route) {
  if (from.ports == 0) return fail(ErrorKind::connection_failed, EADDRNOTAVAIL);
  const std::uint64_t start = random_.below(from.ports);
  for (std::uint64_t i = 0; i < from.ports; ++i) {
    const auto port = static_cast<std::uint16_t>(from.first_port + (start + i) % from.ports);
    const auto found = ports_.find({route, port});
    if (found != ports_.end() && found->second > now_) continue;
    ports_[{route, port}] = kNever;
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
  SimHost& source = options.source ? host(*options.source) : from;
  auto connection = std::make_unique<SimConnection>();
  SocketAddress local;
  if (to.ip() != nullptr) {
    connection->port_route = source.address.to_string() + " " + to.to_string();
    const Result<std::uint16_t> port = take_port(source, connection->port_route);
    if (!port) return std::unexpected(port.error());
    connection->port = *port;
    local = IpPort{source.address, *port};
  }
  const SimSocket socket{next_connection_++, 0};
  SimHost& target = to.ip() != nullptr ? host(to.ip()->ip) : from;
  connection->ends[0].start(*this, socket, from, SimEnd::State::connecting);
  connection->ends[1].start(*this, socket.other(), target, SimEnd::State::connecting);
  connection->ends[0].set_addresses(local, to);
  connection->ends[1].set_addresses(to, local);
  connection->ends[0].set_user(user);
  connections_.emplace(socket.connection, std::move(connection));
  ++from.descriptors;
  const auto fate = fates_.find(to.to_string());
  if (fate == fates_.end() || fate->second != SimFate::black_hole) {
    deliver(socket.other(), [this, socket](SimEnd&) { arrive_syn(socket.other()); });
  }
  return socket;
}

void SimNetwork::arrive_syn(SimSocket socket) {
  const auto found = connections_.find(socket.connection);
  if (found == connections_.end()) return;
  SimEnd& client = found->second->ends[0];
  SimEnd& server = found->second->ends[1];
  if (server.state() != SimEnd::State::connecting) return;
  SimListener* listener = pick_listener(server.local());
  if (listener == nullptr) {
    server.fail(0);
    deliver(socket.other(), [](SimEnd& end) { end.fail(ECONNREFUSED); });
    return;
  }
  if (listener->queue.size() > static_cast<std::size_t>(listener->backlog)) {
    push(now_ + kSynRepeat, [this, socket] { arrive_syn(socket); });
    return;
  }
  server.established(client.host().receive_window_bytes);
  deliver(socket.other(),
          [window = server.host().receive_window_bytes](SimEnd& end) { end.established(window); });
  server.set_user(&queued_);
  listener->queue.push_back(socket);
  listener->user->socket_changed();
}

SimListener* SimNetwork::pick_listener(const SocketAddress& address) {
  auto found = listeners_.find(address.to_string());
  if (found == listeners_.end() && address.ip() != nullptr) {
    found = listeners_.find(IpPort{IpAddress{}, address.ip()->port}.to_string());
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
  listeners_[listener->address.to_string()].push_back(listener.get());
  ++host.descriptors;
  return listener;
}

void SimNetwork::close_listener(std::unique_ptr<SimListener> listener) {
  const auto found = listeners_.find(listener->address.to_string());
  HG_ASSERT(found != listeners_.end());
  std::erase(found->second, listener.get());
  if (found->second.empty()) listeners_.erase(found);
  for (const SimSocket socket : listener->queue) end(socket).close(CloseHow::reset);
  --listener->host->descriptors;
}

Result<SimSocket> SimNetwork::accept(SimListener& listener, SimUser* user) {
  if (listener.queue.empty()) return fail(ErrorKind::none, EAGAIN);
  if (listener.host->descriptors >= listener.host->descriptor_limit) {
    return fail(ErrorKind::shedding, EMFILE);
  }
  const SimSocket socket = listener.queue.front();
  listener.queue.pop_front();
  end(socket).set_user(user);
  ++listener.host->descriptors;
  return socket;
}

SimEnd& SimNetwork::end(SimSocket socket) {
  const auto found = connections_.find(socket.connection);
  HG_ASSERT(found != connections_.end());
  return found->second->ends[socket.side];
}

void SimNetwork::close(SimSocket socket, CloseHow how) {
  SimEnd& closing = end(socket);
  --closing.host().descriptors;
  closing.close(how);
}

void SimNetwork::ended(SimSocket socket) {
  SimConnection& connection = *connections_.at(socket.connection);
  connection.ended[socket.side] = true;
  if (connection.ended[0] && connection.ended[1]) finished_.push_back(socket.connection);
}

void SimNetwork::bury() {
  for (const std::uint64_t id : finished_) {
    const SimConnection& connection = *connections_.at(id);
    if (connection.port != 0) {
      const SimEnd& client = connection.ends[0];
      const bool time_wait = client.state() == SimEnd::State::orphaned && client.closed_first();
      if (time_wait) {
        ports_[{connection.port_route, connection.port}] = now_ + kTimeWait;
      } else {
        ports_.erase({connection.port_route, connection.port});
      }
    }
    connections_.erase(id);
  }
  finished_.clear();
}

}  // namespace hushgate::io
