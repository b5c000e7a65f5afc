// The origin server behind `hushgate demo`: a small, honest HTTP/1.1 server on a loop of its own.
// What it serves is in demo_pages.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>

#include "app/demo_connection.h"
#include "app/demo_pages.h"
#include "base/result.h"
#include "io/alarm.h"
#include "io/loop.h"
#include "io/runnable.h"
#include "io/stream.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoConnections = 1'024;  // then the kernel's queue holds the rest

// Told of each request that is over (those for /count and /events apart), on the loop's thread.
using DemoObserver = std::function<void(const DemoEvent&)>;

// On the loop's thread only. The loop outlives it.
class DemoUpstream final : private io::AcceptHandler,
                           private io::Runnable,
                           private DemoConnectionKeeper {
 public:
  DemoUpstream(io::Loop& loop, const DemoTiming& timing, DemoObserver observer);
  ~DemoUpstream();  // at rest

  // On 127.0.0.1; returns the port that the kernel chose. Error.os_error is the errno.
  Result<std::uint16_t> listen();
  // Accepts nothing more and ends all connections in the turns that follow.
  void stop();
  bool at_rest() const { return connections_.empty(); }

 private:
  void accepted(io::StreamPtr stream) override;
  bool out_of_descriptors() override;
  void run() override;  // accepts again
  void ended(DemoConnection& connection) override;
  void told(const DemoEvent& event) override;

  io::Loop& loop_;
  DemoTiming timing_;
  DemoObserver observer_;
  DemoPages pages_;
  std::unordered_map<DemoConnection*, std::unique_ptr<DemoConnection>> connections_;
  std::unique_ptr<io::Listener> listener_;  // null: not listening yet, or no more
  io::Alarm accept_again_{*this};
};

// The same on a thread and an epoll loop of its own, from start() to the destructor.
class DemoThread {
  struct Key {};

 public:
  // Error.os_error is the errno.
  static Result<std::unique_ptr<DemoThread>> start(const DemoTiming& timing, DemoObserver observer);
  DemoThread(Key, std::unique_ptr<io::Backend> backend, const DemoTiming& timing,
             DemoObserver observer);
  DemoThread(const DemoThread&) = delete;
  DemoThread& operator=(const DemoThread&) = delete;
  ~DemoThread();

  std::uint16_t port() const { return port_; }

 private:
  void run();

  io::Loop loop_;
  DemoUpstream upstream_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace hushgate::app
