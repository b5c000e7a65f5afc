#include "app/notify.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <tuple>

#include "io/notify.h"

namespace hushgate::app {
namespace {

std::int64_t microseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

std::optional<std::string_view> value_of(const std::vector<std::string>& environment,
                                         std::string_view name) {
  for (const std::string_view entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> positive_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

// The longest time that can be kept as a Duration.
constexpr std::int64_t kMaxMicroseconds =
    std::chrono::duration_cast<std::chrono::microseconds>(Duration::max()).count();

}  // namespace

Notifier::Notifier(const std::vector<std::string>& environment, std::int64_t process_id) {
  socket_ = value_of(environment, "NOTIFY_SOCKET").value_or("");
  const auto meant_for = value_of(environment, "WATCHDOG_PID");
  if (socket_.empty() || (meant_for && positive_number(*meant_for) != process_id)) return;
  const auto patience = value_of(environment, "WATCHDOG_USEC");
  if (!patience) return;
  if (const auto number = positive_number(*patience); number && *number <= kMaxMicroseconds) {
    alive_interval_ = std::max<Duration>(std::chrono::microseconds(*number) / 2, Ms(1));
  }
}

void Notifier::send(std::string_view message) const {
  if (!socket_.empty()) std::ignore = io::send_notification(socket_, message);
}

void Notifier::ready(std::string_view status) { send(fmt::format("READY=1\nSTATUS={}", status)); }

void Notifier::reloading(Time now) {
  // Clock is CLOCK_MONOTONIC.
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reading the settings again",
                   microseconds(now.time_since_epoch())));
}

void Notifier::stopping(Ms grace) {
  send(
      fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\nSTATUS=no new connections; what has begun "
                  "may end",
                  microseconds(grace + kStopMargin)));
}

void Notifier::status(std::string_view text) { send(fmt::format("STATUS={}", text)); }

void Notifier::alive(Time now) {
  if (!alive_interval_ || now < alive_due_) return;
  alive_due_ = now + *alive_interval_;
  send("WATCHDOG=1");
}

}  // namespace hushgate::app
