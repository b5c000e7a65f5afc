#include "app/demo_upstream.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/assert.h"
#include "base/limits.h"
#include "io/epoll.h"

namespace hushgate::app {
namespace {

constexpr int kBacklog = 1'024;

}  // namespace

DemoUpstream::DemoUpstream(io::Loop& loop, DemoPages& pages, DemoManner manner,
                           const DemoTiming& timing, DemoObserver observer)
    : loop_(loop),
      pages_(pages),
      manner_(manner),
      timing_(timing),
      observer_(std::move(observer)) {}

DemoUpstream::~DemoUpstream() { HG_ASSERT(at_rest()); }

Result<std::uint16_t> DemoUpstream::listen() {
  HG_ASSERT(!listener_);
  const IpPort address{IpAddress::v4(127, 0, 0, 1), port_};
  auto listener = loop_.backend().listen(address, {.backlog = kBacklog}, *this);
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  port_ = listener_->address().ip()->port;
  return port_;
}

void DemoUpstream::stop() {
  stage_ = Stage::stopped;
  end_all(io::CloseHow::fin);
}

void DemoUpstream::end_all(io::CloseHow how) {
  listener_.reset();
  for (const auto& [connection, owned] : connections_) connection->stop(how);
}

void DemoUpstream::accepted(io::StreamPtr stream) {
  auto connection = std::make_unique<DemoConnection>(
      DemoHouse{
          .loop = loop_, .pages = pages_, .keeper = *this, .timing = timing_, .manner = manner_},
      std::move(stream));
  DemoConnection* const key = connection.get();
  connections_.emplace(key, std::move(connection));
  if (connections_.size() == kMaxDemoConnections) listener_->pause();
}

bool DemoUpstream::out_of_descriptors() {
  loop_.set_alarm(again_, loop_.now() + kAcceptPause);
  return false;
}

void DemoUpstream::run() {
  if (stage_ == Stage::stopped) return;
  if (!listener_ && !listen()) {
    loop_.set_alarm(again_, loop_.now() + kDemoRebirthPause);
  } else if (connections_.size() < kMaxDemoConnections) {
    listener_->resume();
  }
}

void DemoUpstream::ended(DemoConnection& connection) {
  const bool was_full = connections_.size() == kMaxDemoConnections;
  connections_.erase(&connection);
  if (was_full && listener_) listener_->resume();
}

void DemoUpstream::told(const DemoEvent& event) {
  if (observer_) observer_(event);
}

void DemoUpstream::die(Ms away) {
  end_all(io::CloseHow::reset);
  loop_.set_alarm(again_, loop_.now() + away);
}

DemoThread::DemoThread(Key, std::unique_ptr<io::Backend> backend, const DemoTiming& timing,
                       DemoObserver observer)
    : loop_(std::move(backend)), pages_(timing) {
  for (std::size_t i = 0; i < kManners; ++i) {
    upstreams_[i] =
        std::make_unique<DemoUpstream>(loop_, pages_, static_cast<DemoManner>(i), timing, observer);
  }
}

Result<std::unique_ptr<DemoThread>> DemoThread::start(const DemoTiming& timing,
                                                      DemoObserver observer) {
  auto backend = io::make_epoll_backend();
  if (!backend) return std::unexpected(backend.error());
  auto demo = std::make_unique<DemoThread>(Key(), std::move(*backend), timing, std::move(observer));
  for (std::size_t i = 0; i < kManners; ++i) {
    const auto port = demo->upstreams_[i]->listen();
    if (!port) return std::unexpected(port.error());
    demo->ports_[i] = *port;
  }
  // Signals are the gateway's: a thread inherits the mask of its maker, so it is made under a full
  // one.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  demo->thread_ = std::thread([thread = demo.get()] { thread->run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return demo;
}

void DemoThread::show_tour(std::string tour) {
  loop_.post([this, tour = std::move(tour)] { pages_.set_tour(tour); });
}

bool DemoThread::at_rest() const {
  return std::ranges::all_of(upstreams_, &DemoUpstream::at_rest,
                             [](const auto& upstream) -> const DemoUpstream& { return *upstream; });
}

void DemoThread::run() {
  loop_.run();
  while (!at_rest()) loop_.turn(kNever);
}

DemoThread::~DemoThread() {
  if (!thread_.joinable()) return;
  loop_.post([this] {
    for (const auto& upstream : upstreams_) upstream->stop();
    loop_.stop();
  });
  thread_.join();
}

}  // namespace hushgate::app
