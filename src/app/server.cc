#include "app/server.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <latch>
#include <random>
#include <utility>

#include "app/server_errors.h"
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

io::BackendWish wish(config::IoBackend backend) {
  switch (backend) {
    case config::IoBackend::auto_: return io::BackendWish::automatic;
    case config::IoBackend::epoll: return io::BackendWish::epoll;
    case config::IoBackend::uring: return io::BackendWish::uring;
  }
  return io::BackendWish::automatic;
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
  auto made = tls_.make(setup_->config);
  if (!made) return std::unexpected(fmt::format("{}", fmt::join(made.error(), "\nhushgate: ")));
  warnings_ = std::move(made->warnings);
  setup_ = std::make_shared<const proxy::Setup>(setup_->config, setup_->via_token,
                                                std::move(made->setup));
  auto backend = io::choose_backend(wish(setup_->config.backend));
  if (!backend) return std::unexpected(backend.error());
  backend_ = std::move(*backend);
  const unsigned count = setup_->config.workers != 0 ? setup_->config.workers : usable_cores();
  for (unsigned i = 0; i < count; ++i) {
    auto worker = Worker::make({.setup = setup_,
                                .shared = shared_,
                                .sink = sink_,
                                .format = format_,
                                .names = names_,
                                .stopping = stopping_,
                                .backend = backend_.kind});
    if (!worker) {
      return std::unexpected(
          cannot_make_worker(i + 1, count, worker.error().os_error, descriptor_limit_));
    }
    workers_.push_back(std::move(*worker));
  }
  const auto& listen = setup_->config.listen;
  for (std::size_t i = 0; i < listen.size(); ++i) {
    const Door door{.key = fmt::format("listen[{}]", i), .which = Which::gateway, .index = i};
    if (auto opened = open_everywhere(listen[i], door); !opened) return opened;
  }
  if (!setup_->config.admin) return {};
  return open_everywhere(*setup_->config.admin, {.key = "admin", .which = Which::admin});
}

std::expected<void, std::string> Server::open_everywhere(const config::ListenAddress& listen,
                                                         const Door& door) {
  const char* what = door.which == Which::admin ? " (admin)" : "";
  auto bound = open_on_workers(listen.address, door);
  if (!bound) return std::unexpected(bound.error());
  if (door.which == Which::gateway) addresses_.push_back(*bound);
  listening_.push_back(fmt::format("listening on {}{}", bound->to_string(), what));
  if (listen.family == config::ListenFamily::one) return {};
  const IpPort v6{*IpAddress::parse("::"), bound->ip()->port};
  if (const auto probe = io::probe_listen(v6); !probe) {
    if (family_missing(probe.error().os_error)) return {};
    return std::unexpected(cannot_listen(v6, door, probe.error()));
  }
  bound = open_on_workers(v6, door);
  if (!bound) return std::unexpected(bound.error());
  listening_.push_back(fmt::format("listening on {}{}", bound->to_string(), what));
  return {};
}

std::expected<SocketAddress, std::string> Server::open_on_workers(SocketAddress address,
                                                                  const Door& door) {
  if (const auto probe = io::probe_listen(address); !probe) {
    return std::unexpected(cannot_listen(address, door, probe.error()));
  }
  for (const auto& worker : workers_) {
    const Result<SocketAddress> bound = door.which == Which::admin
                                            ? worker->listen_admin(address)
                                            : worker->listen(address, door.index);
    if (!bound) return std::unexpected(cannot_listen(address, door, bound.error()));
    address = *bound;  // the first one's port is everyone's
    if (door.which == Which::admin) break;
  }
  return address;
}

std::string Server::cannot_listen(const SocketAddress& address, const Door& door,
                                  Error error) const {
  return app::cannot_listen(address, door.key, error.os_error, descriptor_limit_);
}

void Server::start(std::function<void()> all_ended) {
  running_ = workers_.size();
  for (const auto& worker : workers_) {
    worker->start([this, all_ended] {
      if (running_.fetch_sub(1) == 1) all_ended();
    });
  }
}

std::expected<Server::Adopted, std::vector<std::string>> Server::adopt(config::Config config) {
  auto made = tls_.make(config);
  if (!made) return std::unexpected(std::move(made.error()));
  warnings_ = std::move(made->warnings);
  const bool other_config = config != setup_->config;
  const bool other_tls = made->setup != setup_->tls;
  if (!other_config && !other_tls) return Adopted::nothing;
  shared_.max_clients = max_clients(config);
  setup_ = std::make_shared<const proxy::Setup>(std::move(config), setup_->via_token,
                                                std::move(made->setup));
  serve_by_setup();
  if (!other_tls) return Adopted::config;
  return other_config ? Adopted::both : Adopted::tls;
}

void Server::serve_by_setup() {
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
