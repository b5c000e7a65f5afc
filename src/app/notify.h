// What a service manager is told of this process's life: the protocol of sd_notify(3).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace hushgate::app {

// Added to graceMs in what stopping() asks for: cutting and leaving take time too.
inline constexpr std::chrono::seconds kStopMargin{10};

// Says nothing where nobody asked (no NOTIFY_SOCKET). A manager that is not there any more is no
// reason to end or to complain: failures of sending are ignored. For the main thread.
class Notifier {
 public:
  Notifier() = default;  // says nothing
  // By NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of `environment` ("NAME=value" each);
  // `process_id` is this process's. A watchdog that is meant for another process, or whose time is
  // no positive number of microseconds, was not asked for.
  Notifier(const std::vector<std::string>& environment, std::int64_t process_id);

  // Connections are accepted; also the end of a reload.
  void ready(std::string_view status);
  // A reload begins at `now`; ready() must follow, whether or not it changed anything.
  void reloading(Time now);
  // The end has begun, and may take `grace` and kStopMargin: the manager's own patience is extended
  // to that, so that it never cuts what graceMs lets end.
  void stopping(Ms grace);
  void status(std::string_view text);  // a line for people, without line breaks

  // Call it again and again, at least every alive_interval(): tells the watchdog, where there is
  // one and it is due.
  void alive(Time now);
  // Half of what the watchdog waits; nothing where no watchdog was asked for.
  std::optional<Duration> alive_interval() const { return alive_interval_; }

 private:
  void send(std::string_view message) const;

  std::string socket_{};  // empty: nobody asked
  std::optional<Duration> alive_interval_{};
  Time alive_due_{};
};

}  // namespace hushgate::app
