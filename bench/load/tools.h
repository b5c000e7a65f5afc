// What the load programs and floors share: their arguments, the clock, and sockets on 127.0.0.1.
// They are tools, not a gateway: what cannot go on ends the program with a sentence.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hushgate::bench {

// CLOCK_MONOTONIC, the same in every process of the machine.
std::uint64_t now_ns();

// Says `what`, and errno if it is set, and exits with 1.
[[noreturn]] void die(std::string_view what);

// --name VALUE pairs. A name that nobody asked for is not noticed.
class Arguments {
 public:
  Arguments(int count, char** values) : count_(count), values_(values) {}
  std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  std::uint64_t number(std::string_view name) const;  // must be there
  std::string text(std::string_view name, std::string_view otherwise) const;

 private:
  const char* find(std::string_view name) const;

  int count_;
  char** values_;
};

// A listener, non-blocking, on a port of the kernel's choice; prints `port=N` for who started us.
int listen_and_say();

void no_delay(int fd);

// The next connection of a listener, non-blocking and TCP_NODELAY, or -1.
int accept_one(int listener);

// Connected (on loopback this takes no round trip of anybody else), non-blocking, TCP_NODELAY.
int connect_to(std::uint16_t port);

// Prints a line and flushes it.
void say(std::string_view line);

// Blocks until a line has come on standard input. False at its end.
bool wait_for_line();

class Poller {
 public:
  Poller();
  void add(int fd, std::uint32_t events, void* data) const;
  void change(int fd, std::uint32_t events, void* data) const;
  // Waits until `until_ns` at most (of now_ns(); the largest value: without a limit).
  std::size_t wait(epoll_event* events, int room, std::uint64_t until_ns) const;

 private:
  int fd_;
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// Listens, says where, and answers events for ever: the listener's with `accept(listener)`, all
// others with `step(data, events)`, and a round of them with `after()`.
template <typename Accept, typename Step, typename After>
[[noreturn]] void serve_events(const Poller& poller, Accept accept, Step step, After after) {
  constexpr int kEvents = 512;
  const int listener = listen_and_say();
  poller.add(listener, EPOLLIN, nullptr);
  std::array<epoll_event, kEvents> events{};
  for (;;) {
    const std::size_t count = poller.wait(events.data(), kEvents, kNoLimit);
    for (std::size_t i = 0; i < count; ++i) {
      void* const data = events[i].data.ptr;
      data == nullptr ? accept(listener) : step(data, events[i].events);
    }
    after();
  }
}

}  // namespace hushgate::bench
