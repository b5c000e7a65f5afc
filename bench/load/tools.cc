#include "bench/load/tools.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace hushgate::bench {
namespace {

constexpr int kBacklog = 4'096;
constexpr int kPortTries = 1'000;
constexpr std::uint64_t kFirstPort = 10'000, kPorts = 22'000;  // below ip_local_port_range's usual
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

std::uint64_t now_ns() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(at.tv_nsec);
}

void die(std::string_view what) {
  std::fprintf(stderr, "%.*s%s%s\n", static_cast<int>(what.size()), what.data(),
               errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
  std::exit(1);
}

const char* Arguments::find(std::string_view name) const {
  for (int i = 1; i + 1 < count_; ++i) {
    const std::string_view given = values_[i];
    if (given.starts_with("--") && given.substr(2) == name) return values_[i + 1];
  }
  return nullptr;
}

std::uint64_t Arguments::number(std::string_view name, std::uint64_t otherwise) const {
  const char* const found = find(name);
  if (found == nullptr) return otherwise;
  std::uint64_t value = 0;
  const char* const end = found + std::strlen(found);
  if (const auto [at, fault] = std::from_chars(found, end, value);
      fault != std::errc{} || at != end)
    die("--" + std::string(name) + " wants a number");
  return value;
}

std::uint64_t Arguments::number(std::string_view name) const {
  if (find(name) == nullptr) die("--" + std::string(name) + " is missing");
  return number(name, 0);
}

std::string Arguments::text(std::string_view name, std::string_view otherwise) const {
  const char* const found = find(name);
  return std::string(found != nullptr ? std::string_view(found) : otherwise);
}

// As servers do, at a port that the kernel gives to no connection: a load makes tens of thousands
// of those.
int listen_and_say() {
  std::signal(SIGPIPE, SIG_IGN);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  void* const raw = &address;
  bool bound = false;
  for (int tries = 0; tries < kPortTries && !bound; ++tries) {
    address = loopback(static_cast<std::uint16_t>(
        kFirstPort + (now_ns() / 1'000 + static_cast<std::uint64_t>(getpid())) % kPorts));
    bound = bind(fd, static_cast<sockaddr*>(raw), size) == 0;
  }
  if (!bound || listen(fd, kBacklog) != 0) die("listen");
  if (getsockname(fd, static_cast<sockaddr*>(raw), &size) != 0) die("getsockname");
  say("port=" + std::to_string(ntohs(address.sin_port)));
  return fd;
}

void no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int accept_one(int listener) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) no_delay(fd);
  return fd;
}

int connect_to(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  const sockaddr_in address = loopback(port);
  const void* const raw = &address;
  if (connect(fd, static_cast<const sockaddr*>(raw), sizeof address) != 0) die("connect");
  no_delay(fd);
  const int on = 1;
  if (ioctl(fd, FIONBIO, &on) != 0) die("ioctl");
  return fd;
}

void say(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
}

bool wait_for_line() {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') return true;
  }
  return false;
}

Poller::Poller() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_ < 0) die("epoll_create1");
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_TIMERSLACK, 1);
}

void Poller::add(int fd, std::uint32_t events, void* data) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = data;
  if (epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
}

void Poller::change(int fd, std::uint32_t events, void* data) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = data;
  if (epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) != 0) die("epoll_ctl");
}

std::size_t Poller::wait(epoll_event* events, int room, std::uint64_t until_ns) const {
  timespec left{};
  if (until_ns != kNoLimit) {
    const std::uint64_t now = now_ns();
    const std::uint64_t ns = until_ns > now ? until_ns - now : 0;
    left.tv_sec = static_cast<time_t>(ns / kNsPerSecond);
    left.tv_nsec = static_cast<long>(ns % kNsPerSecond);
  }
  const int count =
      epoll_pwait2(fd_, events, room, until_ns == kNoLimit ? nullptr : &left, nullptr);
  if (count < 0 && errno != EINTR) die("epoll_pwait2");
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace hushgate::bench
