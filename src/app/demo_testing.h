// Plain blocking sockets as the clients of the demo's upstreams, for tests.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "app/demo_upstream.h"
#include "io/sockets.h"

namespace hushgate::app::testing {

inline constexpr int kPatienceSeconds = 20;  // what a loaded machine can excuse
inline constexpr DemoTiming kAtOnce{.think = Ms{0}, .token_gap = Ms{0}};

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_storage storage;
    const auto length = to_sockaddr(IpPort{IpAddress::v4(127, 0, 0, 1), port}, storage);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Everything up to and with `marker`; less if the connection ends before.
  std::string read_to(std::string_view marker) {
    std::size_t at;
    while ((at = input_.find(marker)) == std::string::npos) {
      if (!more()) return std::exchange(input_, {});
    }
    std::string text = input_.substr(0, at + marker.size());
    input_.erase(0, text.size());
    return text;
  }
  // So many bytes; less if the connection ends before.
  std::string read(std::size_t count) {
    while (input_.size() < count && more()) {
    }
    std::string text = input_.substr(0, count);
    input_.erase(0, text.size());
    return text;
  }
  // Everything up to the end; "(reset)" or "(silence)" behind it if that is no FIN.
  std::string read_to_end() {
    while (more()) {
    }
    return std::exchange(input_, {}) + ending_;
  }
  void finish() { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() {
    io::reset_on_close(fd_.get());
    fd_.close();
  }

 private:
  bool more() {
    char buffer[16'384];
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got < 0) ending_ = errno == EAGAIN ? "(silence)" : "(reset)";
    if (got <= 0) return false;
    input_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  io::Descriptor fd_;
  std::string input_;
  std::string ending_;
};

inline std::unique_ptr<DemoThread> start(const DemoTiming& timing, DemoObserver observer = {}) {
  auto demo = DemoThread::start(timing, std::move(observer));
  EXPECT_TRUE(demo.has_value());
  return std::move(*demo);
}

// The first event that the upstream tells.
class FirstEvent {
 public:
  DemoObserver observer() {
    return [this](const DemoEvent& event) {
      if (!std::exchange(told_, true)) promise_.set_value(event);
    };
  }
  DemoEvent wait() {
    auto future = promise_.get_future();
    const auto ready = future.wait_for(std::chrono::seconds(kPatienceSeconds));
    EXPECT_EQ(ready, std::future_status::ready);
    return ready == std::future_status::ready ? future.get() : DemoEvent{};
  }

 private:
  std::promise<DemoEvent> promise_;
  bool told_ = false;  // the loop's
};

inline bool can_connect(std::uint16_t port) {
  const io::Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage;
  const auto length = to_sockaddr(IpPort{IpAddress::v4(127, 0, 0, 1), port}, storage);
  return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0;
}

inline std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

inline std::string post(const std::string& path) {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
}

}  // namespace hushgate::app::testing
