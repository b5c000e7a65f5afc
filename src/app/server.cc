#include "app/server.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <latch>
#include <random>
#include <utility>

#include "config/advice.h"
#include "io/process.h"

namespace hushgate::app {
namespace {

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

std::string random_token() { return fmt::format("hushgate-{:08x}", std::random_device{}()); }

std::string cannot_listen(const SocketAddress& address, int os_error) {
  const char* hint = "";
  if (os_error == EADDRINUSE)
    hint = "; another process listens there: stop it, or choose another port";
  if (os_error == EACCES) hint = "; ports below 1024 need CAP_NET_BIND_SERVICE";
  if (os_error == EADDRNOTAVAIL) hint = "; this machine has no such address";
  return fmt::format("cannot listen on {}: {}{}", address.to_string(), std::strerror(os_error),
                     hint);
}

// A machine without IPv6.
bool family_missing(int os_error) { return os_error == EAFNOSUPPORT || os_error == EADDRNOTAVAIL; }

}  // namespace

Server::Server(const config::Config& config)
    : descriptor_limit_(io::raise_descriptor_limit()),
      setup_(std::make_shared<const proxy::Setup>(config, random_token())),
      format_(::isatty(STDERR_FILENO) != 0 ? LogFormat::text : LogFormat::json) {
  shared_.max_clients = max_clients(config);
}

std::uint32_t Server::max_clients(const config::Config& config) const {
  return config::effective_max_connections(config.limits, descriptor_limit_);
}

std::expected<void, std::string> Server::open() {
  const unsigned count = setup_->config.workers != 0 ? setup_->config.workers : usable_cores();
  for (unsigned i = 0; i < count; ++i) {
    auto worker = Worker::make({.setup = setup_,
                                .shared = shared_,
                                .sink = sink_,
                                .format = format_,
                                .names = names_,
                                .stopping = stopping_});
    if (!worker) {
      return std::unexpected(
          fmt::format("cannot make an event loop: {}", std::strerror(worker.error().os_error)));
    }
    workers_.push_back(std::move(*worker));
  }
  for (const config::ListenAddress& listen : setup_->config.listen) {
    if (auto opened = open_everywhere(listen, Which::gateway); !opened) return opened;
  }
  if (!setup_->config.admin) return {};
  return open_everywhere(*setup_->config.admin, Which::admin);
}

std::expected<void, std::string> Server::open_everywhere(const config::ListenAddress& listen,
                                                         Which which) {
  const char* what = which == Which::admin ? " (admin)" : "";
  auto bound = open_on_workers(listen.address, which);
  if (!bound) return std::unexpected(bound.error());
  if (listening_.empty()) first_address_ = *bound;
  listening_.push_back(fmt::format("listening on {}{}", bound->to_string(), what));
  if (listen.family == config::ListenFamily::one) return {};
  const IpPort v6{*IpAddress::parse("::"), bound->ip()->port};
  if (const auto probe = io::probe_listen(v6); !probe) {
    if (family_missing(probe.error().os_error)) return {};
    return std::unexpected(cannot_listen(v6, probe.error().os_error));
  }
  bound = open_on_workers(v6, which);
  if (!bound) return std::unexpected(bound.error());
  listening_.push_back(fmt::format("listening on {}{}", bound->to_string(), what));
  return {};
}

std::expected<SocketAddress, std::string> Server::open_on_workers(SocketAddress address,
                                                                  Which which) {
  if (const auto probe = io::probe_listen(address); !probe) {
    return std::unexpected(cannot_listen(address, probe.error().os_error));
  }
  for (const auto& worker : workers_) {
    const Result<SocketAddress> bound =
        which == Which::admin ? worker->listen_admin(address) : worker->listen(address);
    if (!bound) return std::unexpected(cannot_listen(address, bound.error().os_error));
    address = *bound;  // the first one's port is everyone's
    if (which == Which::admin) break;
  }
  return address;
}

void Server::start(std::function<void()> all_ended) {
  running_ = workers_.size();
  for (const auto& worker : workers_) {
    worker->start([this, all_ended] {
      if (running_.fetch_sub(1) == 1) all_ended();
    });
  }
}

void Server::adopt(config::Config config) {
  shared_.max_clients = max_clients(config);
  setup_ = std::make_shared<const proxy::Setup>(std::move(config), setup_->via_token);
  // Shared, because the last worker to arrive may still be leaving when the wait is over.
  const auto all = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(workers_.size()));
  for (const auto& worker : workers_) {
    worker->adopt(setup_, [all] { all->count_down(); });
  }
  all->wait();
}

void Server::stop() {
  stopping_ = true;
  for (const auto& worker : workers_) worker->stop();
}

void Server::tell_waiting() {
  for (const auto& worker : workers_) worker->tell_waiting();
}

void Server::cut() {
  for (const auto& worker : workers_) worker->cut();
}

}  // namespace hushgate::app
