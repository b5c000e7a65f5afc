// One worker's gateway: its listeners, its sessions, its endpoints, what happens under shortage,
// and the stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/address.h"
#include "io/alarm.h"
#include "io/loop.h"
#include "io/wheel.h"
#include "proxy/context.h"
#include "proxy/setup.h"
#include "route/site.h"

namespace hushgate::proxy {

// What all workers of a process share, off the data path.
struct Shared {
  std::atomic<std::uint32_t> clients{0};      // open client connections
  std::atomic<std::uint32_t> max_clients{0};  // a reload may change it, for those that come
};

// A descriptor kept back for the moment in which there is no other: with it, a client can still be
// told. Only the io floor touches descriptors, so it is handed in.
class Reserve {
 public:
  virtual ~Reserve() = default;
  // Gives the descriptor up; false if there is none.
  virtual bool release() = 0;
  // Takes one again; false if that is not possible.
  virtual bool refill() = 0;
};

class Gateway final : public upstream::RoomMaker {
 public:
  struct Parts {
    io::Loop& loop;
    LogBuffer& log;
    upstream::NameSource& names;
    SetupPtr setup;
    Shared& shared;
    Reserve& reserve;
    std::uint64_t seed;
  };
  explicit Gateway(const Parts& parts);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway();

  // A listener for the routes: number `index` of Config::listen, which says whether TLS is spoken
  // (its reload included). Returns its address with the port that the kernel chose.
  Result<SocketAddress> listen(const SocketAddress& address, std::size_t index);
  // A listener for `site`, in cleartext.
  Result<SocketAddress> listen(const SocketAddress& address, route::Site& site);

  // A reload: exchanges that begin from now on are served by `setup`, running ones finish with
  // theirs, and what is idle has its budget measured by the new limits at once. Listeners stay as
  // they are. Without effect once the stop has begun.
  void adopt(SetupPtr setup);
  const Generations& generations() const { return context_.generations; }

  // Stops as CONTRACT section 5 says; `stopped` is called in the turn in which nothing is left.
  void stop(std::function<void()> stopped);
  // The grace is cut short: everything that is left ends now.
  void cut();
  // Logs who is being waited for, kMaxTold of them at most.
  static constexpr int kMaxTold = 8;
  void tell_waiting();
  std::size_t session_count() const { return context_.session_count; }

  const stats::Counters& counters();
  bool make_room() override;

 private:
  class Door;
  Result<SocketAddress> open(std::unique_ptr<Door> door, const SocketAddress& address);
  // Runs a member when it is made ready.
  struct Trigger final : io::Runnable {
    explicit Trigger(std::function<void()> work) : work_(std::move(work)) {}
    void run() override { work_(); }
    std::function<void()> work_;
  };

  // Looks at so many of each list at most: each look asks the kernel.
  static constexpr int kMaxShedLooks = 64;
  bool shed_oldest_client();
  bool shed_idle_h2_client();
  template <typename Act>
  void for_each_h2_client(Act act);
  void check_stopped();

  io::Loop& loop_;
  LogBuffer& log_;
  Shared& shared_;
  Reserve& reserve_;
  stats::Counters counters_;
  io::Wheel wheel_;
  tls::Scratch scratch_;
  Context context_;
  std::vector<std::unique_ptr<Door>> doors_;
  Trigger drained_;
  Trigger grace_over_;
  io::Alarm grace_alarm_;
  std::function<void()> stopped_;
};

}  // namespace hushgate::proxy
