#include "app/worker.h"

#include <random>
#include <utility>

#include "stats/counters.h"

namespace hushgate::app {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::make(const Parts& parts) {
  auto backend = io::make_backend(parts.backend, parts.setup->config.limits.max_buffered_bytes);
  if (!backend) return std::unexpected(backend.error());
  return std::make_unique<Worker>(parts, std::move(*backend));
}

Worker::Worker(const Parts& parts, std::unique_ptr<io::Backend> backend)
    : loop_(std::move(backend)),
      log_(parts.sink, parts.format, wall_offset_now()),
      admin_([&stopping = parts.stopping] {
        return stopping.load(std::memory_order_relaxed) ? admin::Health::stopping
                                                        : admin::Health::serving;
      }),
      gateway_({.loop = loop_,
                .log = log_,
                .names = parts.names,
                .setup = parts.setup,
                .shared = parts.shared,
                .reserve = reserve_,
                .seed = random_seed()}) {}

Worker::~Worker() {
  if (thread_.joinable()) thread_.join();
}

Result<SocketAddress> Worker::listen(const SocketAddress& address, std::size_t index) {
  return gateway_.listen(address, index);
}

Result<SocketAddress> Worker::listen_admin(const SocketAddress& address) {
  return gateway_.listen(address, admin_);
}

void Worker::start(std::function<void()> ended) {
  ended_ = std::move(ended);
  thread_ = std::thread([this] { run(); });
}

void Worker::run() {
  while (!stopped_) {
    loop_.turn(kNever);
    flush_soon();
  }
  LogLine line = log_.line(loop_.now(), LogLevel::info, "worker_stopped");
  for (std::size_t i = 0; i < stats::kCounters; ++i) {
    const auto counter = static_cast<stats::Counter>(i);
    const std::uint64_t value = gateway_.counters().get(counter);
    if (value > 0) line.number(stats::name(counter), value);
  }
  loop_.backend().leave();
  ended_();
}

void Worker::flush_soon() {
  if (!log_.empty() && !flush_alarm_.pending()) {
    loop_.set_alarm(flush_alarm_, loop_.now() + kLogDelay);
  }
}

void Worker::adopt(proxy::SetupPtr setup, std::function<void()> adopted) {
  loop_.post([this, setup = std::move(setup), adopted = std::move(adopted)] {
    gateway_.adopt(setup);
    adopted();
  });
}

void Worker::stop() {
  loop_.post([this] { gateway_.stop([this] { stopped_ = true; }); });
}

void Worker::tell_waiting() {
  loop_.post([this] { gateway_.tell_waiting(); });
}

void Worker::cut() {
  loop_.post([this] { gateway_.cut(); });
}

}  // namespace hushgate::app
