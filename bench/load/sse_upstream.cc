// The upstream of the stream cases: whoever asks gets a head at once, and events once they have
// begun, one per period, each with the moment at which it was written. Streams are spread evenly
// over the period's milliseconds.
//
//   sse_upstream [--period-ms 100]
//
// GET /begin has the events of all streams begin; they end when no stream is left. It and GET
// /ready are answered with two bytes.
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view kReady = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr int kEvents = 1'024;
constexpr std::uint64_t kMostTicksLate = 50;  // what is later than that is left out
constexpr std::size_t kNone = ~std::size_t{0};

class Upstream {
 public:
  explicit Upstream(std::size_t period_ms) : slots_(period_ms) {}

  [[noreturn]] void run() {
    const int listener = listen_and_say();
    poller_.add(listener, EPOLLIN, &listener_mark_);
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    itimerspec every_ms{};
    every_ms.it_interval.tv_nsec = every_ms.it_value.tv_nsec = 1'000'000;
    if (timer < 0 || timerfd_settime(timer, 0, &every_ms, nullptr) != 0) die("timerfd");
    poller_.add(timer, EPOLLIN, &timer_mark_);
    std::array<epoll_event, kEvents> events{};
    for (;;) {
      const std::size_t count = poller_.wait(events.data(), kEvents, kNoLimit);
      for (std::size_t i = 0; i < count; ++i) {
        if (events[i].data.ptr == &listener_mark_) {
          accept_all(listener);
        } else if (events[i].data.ptr == &timer_mark_) {
          tick(timer);
        } else {
          step(*static_cast<Stream*>(events[i].data.ptr));
        }
      }
    }
  }

 private:
  struct Stream {
    int fd = -1;
    std::size_t slot = kNone;
  };

  void accept_all(int listener) {
    for (int fd = accept_one(listener); fd >= 0; fd = accept_one(listener)) {
      if (streams_.size() <= static_cast<std::size_t>(fd))
        streams_.resize(static_cast<std::size_t>(fd) + 1, nullptr);
      Stream*& stream = streams_[static_cast<std::size_t>(fd)];
      if (stream == nullptr) stream = new Stream;  // kept for the next one on this descriptor
      *stream = {fd, kNone};
      poller_.add(fd, EPOLLIN, stream);
    }
  }

  void step(Stream& stream) {
    std::array<char, 4'096> bytes{};
    const ssize_t got = recv(stream.fd, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return drop(stream);
    const std::string_view request(bytes.data(), static_cast<std::size_t>(got));
    const bool begin = request.find(" /begin ") != std::string_view::npos;
    if (begin || request.find(" /ready ") != std::string_view::npos) {
      begun_ |= begin;
      send(stream.fd, kReady.data(), kReady.size(), 0);
    } else if (stream.slot == kNone && request.find("\r\n\r\n") != std::string_view::npos) {
      send(stream.fd, kHead.data(), kHead.size(), 0);
      stream.slot = next_slot_++ % slots_.size();
      slots_[stream.slot].push_back(&stream);
      ++open_;
    }
  }

  void tick(int timer) {
    std::uint64_t times = 0;
    if (read(timer, &times, sizeof times) != sizeof times) return;
    if (!begun_) return;
    for (times = std::min(times, kMostTicksLate); times > 0; --times) {
      std::vector<Stream*>& slot = slots_[tick_++ % slots_.size()];
      for (std::size_t i = slot.size(); i-- > 0;) write_event(*slot[i]);
    }
  }

  void write_event(Stream& stream) {
    // The event's moment, in place, with leading zeros.
    std::uint64_t left = now_ns();
    for (std::size_t at = kMomentEnd; at-- > kMomentBegin; left /= 10)
      event_[at] = static_cast<char>('0' + left % 10);
    const auto size = static_cast<ssize_t>(event_.size());
    // One that cannot be sent whole would spoil the stream.
    if (send(stream.fd, event_.data(), event_.size(), 0) != size) drop(stream);
  }

  void drop(Stream& stream) {
    if (stream.slot != kNone) {
      std::erase(slots_[stream.slot], &stream);
      if (--open_ == 0) begun_ = false;
    }
    close(stream.fd);
    stream = {};
  }

  static constexpr std::size_t kMomentBegin = 4 + 11;  // behind the chunk's line and `data: {"t":`
  static constexpr std::size_t kMomentEnd = kMomentBegin + 20;

  Poller poller_;
  std::string event_ =
      "40\r\ndata: {\"t\":00000000000000000000,\"choices\":[{\"delta\":\"token\"}]}\n\n\r\n";
  int listener_mark_ = 0;
  int timer_mark_ = 0;
  std::vector<Stream*> streams_;  // by descriptor
  std::vector<std::vector<Stream*>> slots_;
  std::size_t open_ = 0;
  bool begun_ = false;
  std::size_t next_slot_ = 0;
  std::size_t tick_ = 0;
};

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  const hushgate::bench::Arguments arguments(argc, argv);
  hushgate::bench::Upstream(arguments.number("period-ms", 100)).run();
}
