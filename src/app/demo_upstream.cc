#include "app/demo_upstream.h"

#include <csignal>
#include <utility>

#include "base/assert.h"
#include "base/limits.h"
#include "io/epoll.h"

namespace hushgate::app {
namespace {

constexpr int kBacklog = 1'024;

}  // namespace

DemoUpstream::DemoUpstream(io::Loop& loop, const DemoTiming& timing, DemoObserver observer)
    : loop_(loop), timing_(timing), observer_(std::move(observer)), pages_(timing) {}

DemoUpstream::~DemoUpstream() { HG_ASSERT(at_rest()); }

Result<std::uint16_t> DemoUpstream::listen() {
  HG_ASSERT(!listener_);
  auto listener =
      loop_.backend().listen(IpPort{IpAddress::v4(127, 0, 0, 1)}, {.backlog = kBacklog}, *this);
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  return listener_->address().ip()->port;
}

void DemoUpstream::stop() {
  accept_again_.cancel();
  listener_.reset();
  for (const auto& [connection, owned] : connections_) connection->stop();
}

void DemoUpstream::accepted(io::StreamPtr stream) {
  auto connection = std::make_unique<DemoConnection>(
      DemoHouse{.loop = loop_, .pages = pages_, .keeper = *this, .timing = timing_},
      std::move(stream));
  DemoConnection* const key = connection.get();
  connections_.emplace(key, std::move(connection));
  if (connections_.size() == kMaxDemoConnections) listener_->pause();
}

bool DemoUpstream::out_of_descriptors() {
  loop_.set_alarm(accept_again_, loop_.now() + kAcceptPause);
  return false;
}

void DemoUpstream::run() {
  if (listener_ && connections_.size() < kMaxDemoConnections) listener_->resume();
}

void DemoUpstream::ended(DemoConnection& connection) {
  const bool was_full = connections_.size() == kMaxDemoConnections;
  connections_.erase(&connection);
  if (was_full && listener_) listener_->resume();
}

void DemoUpstream::told(const DemoEvent& event) {
  if (observer_) observer_(event);
}

DemoThread::DemoThread(Key, std::unique_ptr<io::Backend> backend, const DemoTiming& timing,
                       DemoObserver observer)
    : loop_(std::move(backend)), upstream_(loop_, timing, std::move(observer)) {}

Result<std::unique_ptr<DemoThread>> DemoThread::start(const DemoTiming& timing,
                                                      DemoObserver observer) {
  auto backend = io::make_epoll_backend();
  if (!backend) return std::unexpected(backend.error());
  auto demo = std::make_unique<DemoThread>(Key(), std::move(*backend), timing, std::move(observer));
  const auto port = demo->upstream_.listen();
  if (!port) return std::unexpected(port.error());
  demo->port_ = *port;
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

void DemoThread::run() {
  loop_.run();
  while (!upstream_.at_rest()) loop_.turn(kNever);
}

DemoThread::~DemoThread() {
  if (!thread_.joinable()) return;
  loop_.post([this] {
    upstream_.stop();
    loop_.stop();
  });
  thread_.join();
}

}  // namespace hushgate::app
