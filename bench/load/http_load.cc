// The load of every HTTP case: one request, repeated.
//
//   http_load --port N [--path /90] [--connections 64] [--post BYTES] [--fresh 1]
//             [--warmup-ms N] and one of
//     --seconds-ms N              closed loop: each connection asks again once it was answered
//     --seconds-ms N --rate R     open loop: R a second are due, whoever is slow. Latency counts
//     from
//                                 the moment at which a request was due
//     --requests N                closed loop, exactly N
//
// After the warm-up it stands still, says `ready` and waits for a line, so that who measures can
// look at the gateway's CPU while nothing happens; then it measures, drains, and prints one JSON
// line.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/client.h"

namespace hushgate::bench {
namespace {

constexpr std::size_t kScratchBytes = 262'144;
constexpr std::size_t kMostSamples = std::size_t{1} << 23;
constexpr std::uint64_t kSmallBodyBytes = 65'536;  // sent with the head
constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kDrainNs = 20'000 * kNsPerMs;  // an answer takes no longer, or is given up
constexpr int kEvents = 512;

// How many and how long; whichever ends first.
struct Span {
  std::uint64_t requests = kNoLimit;
  std::uint64_t ns = kNoLimit;
  double per_second = 0;  // 0: closed loop
};

struct Tally {
  std::uint64_t due = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  std::uint64_t elapsed_ns = 0;
  std::vector<std::uint32_t> latencies_ns{};  // of up to kMostSamples; at most 4.29 s each
};

Request request_of(const Arguments& arguments) {
  Request request;
  const std::uint64_t body = arguments.number("post", kNoLimit);
  const bool post = body != kNoLimit;
  request.port = static_cast<std::uint16_t>(arguments.number("port"));
  request.fresh = arguments.number("fresh", 0) != 0;
  std::string& head = request.head_and_small_body;
  head = (post ? "POST " : "GET ") + arguments.text("path", "/90") + " HTTP/1.1\r\n";
  head += "Host: bench.test\r\nUser-Agent: http_load\r\nAccept: application/json\r\n";
  if (post)
    head += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body) + "\r\n";
  head += request.fresh ? "Connection: close\r\n\r\n" : "\r\n";
  if (post && body <= kSmallBodyBytes) head.append(body, 'x');
  if (post && body > kSmallBodyBytes) request.filler_bytes = body;
  return request;
}

class Load {
 public:
  Load(const Request& request, std::size_t connections) : scratch_(kScratchBytes, 'x') {
    for (std::size_t i = 0; i < connections; ++i)
      clients_.push_back(std::make_unique<Client>(request, poller_, scratch_));
  }

  Tally run(const Span& span) {
    tally_ = Tally{};
    tally_.latencies_ns.reserve(span.requests == kNoLimit
                                    ? kMostSamples
                                    : std::min<std::uint64_t>(span.requests, kMostSamples));
    span_ = span;
    begin_ns_ = now_ns();
    end_ns_ = span.ns == kNoLimit ? kNoLimit : begin_ns_ + span.ns;
    idle_.clear();
    for (const auto& client : clients_) idle_.push_back(client.get());
    busy_ = started_ = 0;
    std::uint64_t now = begin_ns_;
    while (busy_ > 0 || more(now)) {
      start_due(now);
      wait(now);
      now = now_ns();
      if (end_ns_ != kNoLimit && now > end_ns_ + kDrainNs) die("no answer for 20 s");
    }
    tally_.elapsed_ns = last_ns_ > begin_ns_ ? last_ns_ - begin_ns_ : 1;
    tally_.due = span.per_second > 0 ? due_at(std::min(now, end_ns_)) : started_;
    return std::move(tally_);
  }

  std::uint64_t reconnects() const {
    std::uint64_t sum = 0;
    for (const auto& client : clients_) sum += client->reconnects();
    return sum;
  }

 private:
  bool more(std::uint64_t now) const { return now < end_ns_ && started_ < span_.requests; }

  // The open loop's: how many requests are due by then, and when the n-th is.
  std::uint64_t due_at(std::uint64_t ns) const {
    return static_cast<std::uint64_t>(static_cast<double>(ns - begin_ns_) * span_.per_second / 1e9);
  }
  std::uint64_t due_ns(std::uint64_t n) const {
    return begin_ns_ + static_cast<std::uint64_t>(static_cast<double>(n) * 1e9 / span_.per_second);
  }

  void start_due(std::uint64_t now) {
    while (!idle_.empty() && more(now)) {
      std::uint64_t intended = now;
      if (span_.per_second > 0) {
        intended = due_ns(started_);
        if (intended > now) return;
      }
      Client& client = *idle_.back();
      idle_.pop_back();
      ++started_;
      ++busy_;
      client.start(intended);
    }
  }

  void wait(std::uint64_t now) {
    std::uint64_t until = end_ns_ == kNoLimit ? kNoLimit : end_ns_ + kDrainNs;
    if (span_.per_second > 0 && !idle_.empty() && more(now))
      until = std::min(due_ns(started_), end_ns_);
    const std::size_t count = poller_.wait(events_.data(), kEvents, until);
    for (std::size_t i = 0; i < count; ++i) {
      Client& client = *static_cast<Client*>(events_[i].data.ptr);
      const Progress progress = client.step(events_[i].events);
      if (progress != Progress::waiting) ended(client, progress);
    }
  }

  void ended(Client& client, Progress progress) {
    last_ns_ = now_ns();
    --busy_;
    if (progress == Progress::failed) {
      ++tally_.failed;
    } else {
      ++tally_.answered;
      const std::uint64_t ns = client.answered_ns() - client.intended_ns();
      if (tally_.latencies_ns.size() < tally_.latencies_ns.capacity())
        tally_.latencies_ns.push_back(static_cast<std::uint32_t>(std::min(ns, kMostNs)));
    }
    // A closed loop asks again at once; who failed asks again in the next turn.
    if (span_.per_second > 0 || progress == Progress::failed || !more(last_ns_)) {
      idle_.push_back(&client);
      return;
    }
    ++started_;
    ++busy_;
    client.start(last_ns_);
  }

  static constexpr std::uint64_t kMostNs = 4'294'967'295;

  Poller poller_;
  std::vector<char> scratch_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> idle_;
  std::array<epoll_event, kEvents> events_{};
  Span span_;
  Tally tally_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t busy_ = 0;
};

double quantile_us(std::vector<std::uint32_t>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[at]) / 1e3;
}

void report(Tally& tally, std::uint64_t reconnects) {
  std::vector<std::uint32_t>& all = tally.latencies_ns;
  std::sort(all.begin(), all.end());
  std::array<char, 512> line{};
  std::snprintf(
      line.data(), line.size(),
      "{\"due\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"reconnects\":%" PRIu64
      ",\"seconds\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}",
      tally.due, tally.answered, tally.failed, reconnects,
      static_cast<double>(tally.elapsed_ns) / 1e9, quantile_us(all, 0.5), quantile_us(all, 0.99),
      quantile_us(all, 0.999), quantile_us(all, 1));
  say(line.data());
}

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  using namespace hushgate::bench;
  const Arguments arguments(argc, argv);
  const Request request = request_of(arguments);
  Load load(request, arguments.number("connections", 64));
  const std::uint64_t warmup_ms = arguments.number("warmup-ms", 0);
  if (warmup_ms > 0) load.run({.ns = warmup_ms * kNsPerMs});
  say("ready");
  if (!wait_for_line()) return 1;
  Span span;
  span.requests = arguments.number("requests", kNoLimit);
  const std::uint64_t ms = arguments.number("seconds-ms", kNoLimit);
  if (ms != kNoLimit) span.ns = ms * kNsPerMs;
  span.per_second = static_cast<double>(arguments.number("rate", 0));
  Tally tally = load.run(span);
  report(tally, load.reconnects());
  return 0;
}
