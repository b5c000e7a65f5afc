// The origin servers behind `hushgate demo`: small HTTP/1.1 servers on a loop of their own, one
// for each manner. What they serve is in demo_pages.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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
inline constexpr Ms kDemoRebirthPause{100};  // between tries to listen on a port that is taken

// Told of each request that is over (those for /count and /events apart), on the loop's thread.
using DemoObserver = std::function<void(const DemoEvent&)>;

// On the loop's thread only. The loop outlives it.
class DemoUpstream final : private io::AcceptHandler,
                           private io::Runnable,
                           private DemoConnectionKeeper {
 public:
  // `pages` outlives it.
  DemoUpstream(io::Loop& loop, DemoPages& pages, DemoManner manner, const DemoTiming& timing,
               DemoObserver observer);
  ~DemoUpstream();  // at rest

  // On 127.0.0.1; returns the port that the kernel chose. Error.os_error is the errno.
  Result<std::uint16_t> listen();
  // Accepts nothing more and ends all connections in the turns that follow.
  void stop();
  bool at_rest() const { return connections_.empty(); }

 private:
  void accepted(io::StreamPtr stream) override;
  bool out_of_descriptors() override;
  void run() override;  // accepts again, or lives again
  void ended(DemoConnection& connection) override;
  void told(const DemoEvent& event) override;
  void die(Ms away) override;
  void end_all(io::CloseHow how);

  io::Loop& loop_;
  DemoPages& pages_;
  DemoManner manner_;
  DemoTiming timing_;
  DemoObserver observer_;
  std::unordered_map<DemoConnection*, std::unique_ptr<DemoConnection>> connections_;
  enum class Stage : std::uint8_t {
    serving,  // from the start; no listener: not yet, or dead
    stopped,  // for good
  };

  Stage stage_ = Stage::serving;
  std::uint16_t port_ = 0;                  // once it has listened
  std::unique_ptr<io::Listener> listener_;  // null: not listening yet, dead, or stopped
  io::Alarm again_{*this};                  // to accept again; without a listener, to live again
};

// One of each manner, on a thread and an epoll loop of their own, from start() to the destructor.
// They share their pages: what one counts, all show.
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

  std::uint16_t port(DemoManner manner = DemoManner::kept) const {
    return ports_[static_cast<std::size_t>(manner)];
  }
  // What /tour shows from now on. From any thread.
  void show_tour(std::string tour);

 private:
  static constexpr std::size_t kManners = 3;

  bool at_rest() const;
  void run();

  io::Loop loop_;
  DemoPages pages_;
  std::array<std::unique_ptr<DemoUpstream>, kManners> upstreams_;
  std::array<std::uint16_t, kManners> ports_{};
  std::thread thread_;
};

}  // namespace hushgate::app
