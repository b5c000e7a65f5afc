// Many clients that have asked once and stay: for each number N that comes on standard input, opens
// connections until there are N (0: closes all), and prints N when each has been answered.
//
//   crowd --port N
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::string_view kRequest = "GET /90 HTTP/1.1\r\nHost: bench.test\r\n\r\n";
constexpr std::uint64_t kAnswerLimitNs = 10'000'000'000;

// The answer is small and ends in '}'.
void ask(const Poller& poller, int fd) {
  if (send(fd, kRequest.data(), kRequest.size(), 0) < 0) die("send");
  const std::uint64_t limit = now_ns() + kAnswerLimitNs;
  std::array<char, 4'096> bytes{};
  poller.add(fd, EPOLLIN | EPOLLONESHOT, nullptr);
  for (;;) {
    epoll_event event{};
    if (poller.wait(&event, 1, limit) == 0 && now_ns() >= limit) die("no answer for 10 s");
    const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) die("closed without an answer");
    if (got > 0 && bytes[static_cast<std::size_t>(got) - 1] == '}') return;
    poller.change(fd, EPOLLIN | EPOLLONESHOT, nullptr);
  }
}

void serve(std::uint16_t port) {
  const Poller poller;
  std::vector<int> open;
  std::array<char, 32> line{};
  while (std::fgets(line.data(), line.size(), stdin) != nullptr) {
    std::size_t wanted = 0;
    std::from_chars(line.data(), line.data() + line.size(), wanted);
    while (open.size() < wanted) {
      open.push_back(connect_to(port));
      ask(poller, open.back());
    }
    while (open.size() > wanted) {
      close(open.back());
      open.pop_back();
    }
    say(std::to_string(wanted));
  }
}

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  const hushgate::bench::Arguments arguments(argc, argv);
  hushgate::bench::serve(static_cast<std::uint16_t>(arguments.number("port")));
}
