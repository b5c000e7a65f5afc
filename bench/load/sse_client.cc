// The clients of the stream cases: opens streams, has the upstream begin, says `ready` and waits
// for a line; then counts events and how long each was under way, and prints one JSON line.
//
//   sse_client --port N --upstream N [--streams 1000] [--seconds-ms 2000] [--settle-ms 600]
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::string_view kRequest =
    "GET /v1/stream HTTP/1.1\r\nHost: bench.test\r\nAccept: text/event-stream\r\n\r\n";
constexpr std::string_view kBegin = "GET /begin HTTP/1.1\r\nHost: bench.test\r\n\r\n";
constexpr std::string_view kMark = "\"t\":";  // the digits of the moment follow
constexpr int kDigits = 20;
constexpr std::size_t kMostSamples = std::size_t{1} << 22;
constexpr std::size_t kOpeningAtOnce = 1'000;
constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kOpenLimitNs = 15'000 * kNsPerMs;
constexpr int kEvents = 1'024;

// Finds events' moments in bytes that may be cut anywhere.
struct Stream {
  int fd = -1;
  bool answered = false;     // its head or more has come
  std::uint8_t matched = 0;  // bytes of kMark
  std::uint8_t digits = 0;   // behind it
  std::uint64_t value = 0;

  // True if `c` completes one: `value` is its moment.
  bool take(char c) {
    if (matched < kMark.size()) {
      matched = c == kMark[matched] ? static_cast<std::uint8_t>(matched + 1) : c == kMark[0];
      digits = 0;
      value = 0;
      return false;
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    if (++digits < kDigits) return false;
    matched = 0;
    return true;
  }
};

class Clients {
 public:
  Clients(std::uint16_t port, std::size_t streams) : port_(port), streams_(streams) {
    latencies_ns_.reserve(kMostSamples);
  }

  void open_all() {
    const std::uint64_t limit = now_ns() + kOpenLimitNs;
    std::size_t opened = 0;
    while (answered_ < streams_.size()) {
      while (opened < streams_.size() && opened < answered_ + kOpeningAtOnce)
        open(streams_[opened++]);
      turn(limit);
      if (closed_ > 0) die("a stream was closed");
      if (now_ns() >= limit) die("not every stream was answered within 15 s");
    }
  }

  // On a connection of its own, to the upstream itself.
  static void have_it_begin(std::uint16_t upstream) {
    const int fd = connect_to(upstream);
    if (send(fd, kBegin.data(), kBegin.size(), 0) < 0) die("send");
    const Poller poller;
    poller.add(fd, EPOLLIN, nullptr);
    epoll_event event{};
    if (poller.wait(&event, 1, now_ns() + kOpenLimitNs) == 0) die("the upstream does not begin");
    close(fd);
  }

  void run_for(std::uint64_t ns) {
    for (const std::uint64_t until = now_ns() + ns; now_ns() < until;) turn(until);
  }

  void wait_for_a_line() {
    poller_.add(STDIN_FILENO, EPOLLIN | EPOLLONESHOT, nullptr);
    while (!line_) turn(kNoLimit);
  }

  void forget() {
    latencies_ns_.clear();
    events_ = 0;
  }

  void report(double seconds) {
    std::sort(latencies_ns_.begin(), latencies_ns_.end());
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(),
                  "{\"events\":%zu,\"closed\":%zu,\"seconds\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
                  "\"p999_us\":%.1f}",
                  events_, closed_, seconds, quantile_us(0.5), quantile_us(0.99),
                  quantile_us(0.999));
    say(line.data());
  }

 private:
  void open(Stream& stream) {
    stream.fd = connect_to(port_);
    poller_.add(stream.fd, EPOLLIN, &stream);
    if (send(stream.fd, kRequest.data(), kRequest.size(), 0) < 0) die("send");
  }

  void turn(std::uint64_t until_ns) {
    const std::size_t count = poller_.wait(ready_.data(), kEvents, until_ns);
    for (std::size_t i = 0; i < count; ++i) {
      if (ready_[i].data.ptr == nullptr) {
        if (!wait_for_line()) die("nobody waits for the result");
        line_ = true;
      } else {
        receive(*static_cast<Stream*>(ready_[i].data.ptr));
      }
    }
  }

  void receive(Stream& stream) {
    const ssize_t got = recv(stream.fd, bytes_.data(), bytes_.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      ++closed_;
      close(stream.fd);
      return;
    }
    answered_ += stream.answered ? 0 : 1;
    stream.answered = true;
    const std::uint64_t now = now_ns();
    for (const char c : std::string_view(bytes_.data(), static_cast<std::size_t>(got))) {
      if (!stream.take(c)) continue;
      ++events_;
      if (latencies_ns_.size() < kMostSamples) latencies_ns_.push_back(now - stream.value);
    }
  }

  double quantile_us(double part) const {
    if (latencies_ns_.empty()) return 0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(latencies_ns_.size() - 1));
    return static_cast<double>(latencies_ns_[at]) / 1e3;
  }

  std::uint16_t port_;
  std::vector<Stream> streams_;
  Poller poller_;
  std::array<epoll_event, kEvents> ready_{};
  std::array<char, 65'536> bytes_{};
  std::vector<std::uint64_t> latencies_ns_;
  std::size_t answered_ = 0;
  std::size_t events_ = 0;
  std::size_t closed_ = 0;
  bool line_ = false;
};

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  using namespace hushgate::bench;
  const Arguments arguments(argc, argv);
  Clients clients(static_cast<std::uint16_t>(arguments.number("port")),
                  arguments.number("streams", 1'000));
  clients.open_all();
  Clients::have_it_begin(static_cast<std::uint16_t>(arguments.number("upstream")));
  clients.run_for(arguments.number("settle-ms", 600) * kNsPerMs);
  say("ready");
  clients.wait_for_a_line();
  clients.forget();
  const std::uint64_t begin = now_ns();
  clients.run_for(arguments.number("seconds-ms", 2'000) * kNsPerMs);
  clients.report(static_cast<double>(now_ns() - begin) / 1e9);
  clients.wait_for_a_line();  // with every stream open
  return 0;
}
