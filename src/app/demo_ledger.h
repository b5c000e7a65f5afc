// What reached the demo's upstream and what became of it: the proof that a request arrived once,
// and that a cancelled one stopped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "http/head.h"

namespace hushgate::app {

inline constexpr std::size_t kMaxDemoEvents = 100;       // older ones are forgotten
inline constexpr std::size_t kMaxDemoTargetBytes = 200;  // shown of a target

enum class DemoOutcome : std::uint8_t {
  serving,    // under way
  answered,   // the whole reply was handed to the kernel
  cancelled,  // the connection died before that
  cut,        // the connection ended inside the request's body
};

std::string_view name_of(DemoOutcome outcome);

struct DemoEvent {
  std::uint64_t id = 0;
  std::string method{};
  std::string target{};
  DemoOutcome outcome = DemoOutcome::serving;
  Time begun{};
  Time ended{};  // unless serving

  std::string to_string() const;  // "POST /slow?seconds=60 cancelled after 2.0 s"
};

class DemoLedger {
 public:
  // A request's head has come. Returns its id, from 1 on.
  std::uint64_t begin(const http::RequestHead& head, Time now);
  // The same, once it is over. The event; null if it is forgotten already.
  const DemoEvent* end(std::uint64_t id, DemoOutcome outcome, Time now);

  // {"GET":1,"POST":2,"total":3}: requests whose head has come, by method; unknown methods are
  // "other". Those for /count and /events are not counted, so that looking changes nothing.
  std::string counts_json() const;
  // The last requests, oldest first, one a line.
  std::string events_json(Time now) const;

 private:
  static constexpr std::size_t kMethods = static_cast<std::size_t>(http::Method::other) + 1;

  std::array<std::uint64_t, kMethods> counts_{};
  std::deque<DemoEvent> events_;
  std::uint64_t last_id_ = 0;
};

}  // namespace hushgate::app
