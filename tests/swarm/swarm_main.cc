// swarm: lives many seeds, or one of them again with its timeline.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <mutex>
#include <random>
#include <thread>

#include "tests/swarm/draw.h"
#include "tests/swarm/edits.h"
#include "tests/swarm/life.h"

namespace hushgate::swarm {
namespace {

constexpr std::size_t kMostShrinking = 3'000;  // lives
constexpr std::uint64_t kNoSeed = ~std::uint64_t{0};

struct Options {
  std::uint64_t seeds = kNoSeed;
  std::uint64_t from = kNoSeed;
  std::uint64_t seconds = 0;
  unsigned jobs = 1;
  std::uint64_t replay = kNoSeed;
  std::string edits;
  bool hashes = false;
  bool no_shrink = false;
};

// For the last words of a process that an assertion ends.
thread_local std::uint64_t current_seed = kNoSeed;

extern "C" void tell_seed(int signal_number) {
  char text[128];
  const auto end = fmt::format_to_n(text, sizeof text,
                                    "\nseed {} ended the process (signal {}); "
                                    "./dev sim --replay {} tells its timeline\n",
                                    current_seed, signal_number, current_seed);
  static_cast<void>(::write(STDERR_FILENO, text, end.size));
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

// What all threads have lived.
struct Sum {
  std::mutex mutex;
  std::uint64_t seeds = 0, events = 0, connections = 0, calls = 0, answered = 0, resets = 0;
  Duration lived{};
  std::array<std::uint64_t, stats::kCounters> counters{};

  void add(const Outcome& outcome) {
    const std::lock_guard lock(mutex);
    ++seeds;
    events += outcome.events;
    connections += outcome.connections;
    calls += outcome.calls;
    answered += outcome.answered;
    resets += outcome.resets;
    lived += outcome.lived;
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += outcome.counters[i];
  }
  std::uint64_t count(std::initializer_list<stats::Counter> which) const {
    std::uint64_t sum = 0;
    for (const stats::Counter counter : which) sum += counters[static_cast<std::size_t>(counter)];
    return sum;
  }
  void print(double seconds, const char* end) {
    using enum stats::Counter;
    const std::lock_guard lock(mutex);
    const double hours = to_ms(lived) / 3'600'000;
    fmt::print(
        "{} seeds in {:.0f} s ({:.0f}/s), {:.0f} simulated hours ({:.1f} per real minute), {} "
        "connections, {} requests, {} answered, {} resets, {} sweeps, {} replays, {} connect "
        "retries, {} events{}",
        seeds, seconds, static_cast<double>(seeds) / seconds, hours, hours / seconds * 60,
        connections, calls, answered, resets,
        count(
            {swept_idle, swept_head, swept_receiving, swept_sending, swept_tunnel, swept_closing}),
        count({replays}), count({connect_retries}), events, end);
    std::fflush(stdout);
  }
};

void print_timeline(const Outcome& outcome) {
  for (const std::string& line : outcome.timeline) fmt::print("{}\n", line);
}

void print_objection(std::uint64_t seed, const Outcome& outcome) {
  fmt::print("seed {}, turn {}: {}: {}\n", seed, outcome.turn, outcome.invariant,
             outcome.objection);
}

// Lives a plan in a process of its own: "" if all was well, else the invariant, or "crash".
std::string live_apart(const Plan& plan) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();  // without it nobody could tell
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    std::signal(SIGSEGV, SIG_DFL);
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    const std::string invariant = live(plan, Keep::hash_only).invariant;
    static_cast<void>(::write(ends[1], invariant.data(), invariant.size()));
    ::_exit(0);
  }
  ::close(ends[1]);
  char text[32];
  const ssize_t size = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "crash";
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

void shrink_and_tell(std::uint64_t seed) {
  const Plan plan = draw(seed);
  const std::string invariant = live_apart(plan);
  if (invariant.empty()) return;
  fmt::print("shrinking seed {} ({})...\n", seed, invariant);
  std::fflush(stdout);
  const std::vector<Edit> edits = shrink(
      plan, [&](const Plan& smaller) { return live_apart(smaller) == invariant; }, kMostShrinking);
  fmt::print("{} edits leave what fails:\n./dev sim --replay {} --edits \"{}\"\n", edits.size(),
             seed, to_text(edits));
  if (invariant == "crash") return;
  const Outcome outcome = live(edited(plan, edits), Keep::text);
  print_timeline(outcome);
  print_objection(seed, outcome);
}

int replay(const Options& options) {
  current_seed = options.replay;
  const Plan plan = edited(draw(options.replay), edits_of(options.edits));
  const Outcome outcome = live(plan, Keep::text);
  print_timeline(outcome);
  fmt::print("hash {:016x}, {} events\n", outcome.hash, outcome.events);
  if (outcome.objected()) print_objection(options.replay, outcome);
  return outcome.objected() ? 1 : 0;
}

class Swarm {
 public:
  explicit Swarm(const Options& options) : options_(options) {}

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.jobs; ++i)
      threads.emplace_back([this, begin] { work(begin); });
    for (std::thread& thread : threads) thread.join();
    sum_.print(seconds_since(begin), "\n");
    if (failed_ == kNoSeed) return 0;
    print_objection(failed_, failure_);
    if (!options_.no_shrink) shrink_and_tell(failed_);
    return 1;
  }

 private:
  using Begin = std::chrono::steady_clock::time_point;

  static double seconds_since(Begin begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void work(Begin begin) {
    while (!stop_.load()) {
      const std::uint64_t number = next_.fetch_add(1);
      if (number >= options_.seeds) return;
      if (options_.seconds != 0 && seconds_since(begin) >= static_cast<double>(options_.seconds)) {
        return;
      }
      current_seed = options_.from + number;
      const Outcome outcome = live(draw(current_seed), Keep::hash_only);
      if (outcome.objected()) return note_failure(outcome);
      if (options_.hashes) tell_hash(outcome);
      sum_.add(outcome);
      tell_progress(begin);
    }
  }

  void note_failure(const Outcome& outcome) {
    if (stop_.exchange(true)) return;
    failed_ = current_seed;
    failure_ = outcome;
  }

  static void tell_hash(const Outcome& outcome) {
    fmt::print("{} {:016x} {}\n", current_seed, outcome.hash, outcome.events);
  }

  // Once a minute, for whoever waits for hours.
  void tell_progress(Begin begin) {
    const auto minute = static_cast<std::uint64_t>(seconds_since(begin)) / 60;
    std::uint64_t told = minutes_.load();
    if (minute <= told || !minutes_.compare_exchange_strong(told, minute)) return;
    sum_.print(seconds_since(begin), "\n");
  }

  const Options& options_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> minutes_{0};
  std::atomic<bool> stop_{false};
  Sum sum_;
  std::uint64_t failed_ = kNoSeed;
  Outcome failure_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Lives of the whole gateway on a simulated network, checked against every invariant.");
  app.add_option("--seeds", options.seeds, "how many to live");
  app.add_option("--from", options.from, "the first one (default: a random one)");
  app.add_option("--seconds", options.seconds, "how long, in real time");
  app.add_option("--jobs", options.jobs, "threads");
  app.add_option("--replay", options.replay, "lives this seed alone and tells its timeline");
  app.add_option("--edits", options.edits, "with --replay: what to take away from it");
  app.add_flag("--hashes", options.hashes, "prints the hash of each life");
  app.add_flag("--no-shrink", options.no_shrink, "does not look for a smaller life that fails");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGABRT, tell_seed);
  std::signal(SIGSEGV, tell_seed);
  if (options.replay != kNoSeed) return replay(options);
  if (options.seeds == kNoSeed && options.seconds == 0) options.seeds = 1'000;
  if (options.from == kNoSeed) options.from = std::uint64_t{std::random_device{}()} << 16U;
  fmt::print("seeds from {}\n", options.from);
  return Swarm(options).run();
}

}  // namespace
}  // namespace hushgate::swarm

int main(int argc, char** argv) { return hushgate::swarm::run(argc, argv); }
