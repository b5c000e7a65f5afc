// What a worker does for each exchange beside reading and writing: the pool and the wheel. On the
// simulated network, so that no kernel is in it.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/wheel.h"
#include "upstream/testing.h"

namespace hushgate::bench {
namespace {

using upstream::testing::kServer;
using upstream::testing::Owner;
using upstream::testing::Server;

constexpr Ms kSweepPeriod{1'000};  // of the default limits
constexpr Ms kIdleTimeout{60'000};

struct Pool : upstream::testing::Bench {
  explicit Pool(std::int64_t connections) {
    use_literal();
    config.idle_timeout = Ms{3'600'000};
    for (std::int64_t i = 0; i < connections; ++i) endpoint().put_idle(open(), std::nullopt);
  }
  Server server{network, IpPort{kServer, 80}};
};

void pool_take_and_put(benchmark::State& state) {
  Pool pool(state.range(0));
  upstream::Endpoint& endpoint = pool.endpoint();
  for (auto _ : state) {
    upstream::ConnectionPtr connection = endpoint.take_idle();
    if (!connection) return state.SkipWithError("the pool is empty");
    endpoint.put_idle(std::move(connection), std::nullopt);
  }
}

// Deadlines of `count` clients, spread over the second behind `due`.
class IdleClients {
 public:
  IdleClients(io::Wheel& wheel, io::Runnable& owner, std::int64_t count, Time due) {
    for (std::int64_t i = 0; i < count; ++i) {
      deadlines_.push_back(std::make_unique<io::Deadline>(owner));
      wheel.set(*deadlines_.back(), due + Ms{i % 1'000});
    }
  }

 private:
  std::vector<std::unique_ptr<io::Deadline>> deadlines_;
};

// A request's deadlines: set, moved, cleared, among those of many idle clients.
void wheel_set_and_clear(benchmark::State& state) {
  upstream::testing::Bench bench;
  io::Wheel wheel(bench.loop, kSweepPeriod);
  Owner owner;
  const IdleClients idle(wheel, owner, state.range(0), bench.now() + kIdleTimeout);
  io::Deadline deadline(owner);
  for (auto _ : state) {
    wheel.set(deadline, bench.now() + kIdleTimeout);
    wheel.set(deadline, bench.now() + 2 * kIdleTimeout);
    deadline.clear();
  }
}

// A second of doing nothing with so many clients idle and none of them due.
void sweep(benchmark::State& state) {
  upstream::testing::Bench bench;
  io::Wheel wheel(bench.loop, kSweepPeriod);
  Owner owner;
  const IdleClients idle(wheel, owner, state.range(0), bench.now() + std::chrono::hours(1'000));
  for (auto _ : state) bench.run_for(kSweepPeriod);
}

BENCHMARK(pool_take_and_put)->Name("pool, take and put/hushgate")->Arg(1)->Arg(512);
BENCHMARK(wheel_set_and_clear)->Name("wheel, set, move and clear/hushgate")->Arg(0)->Arg(10'000);
BENCHMARK(sweep)->Name("sweep, a second of idle clients/hushgate")->Arg(0)->Arg(10'000);

}  // namespace
}  // namespace hushgate::bench
