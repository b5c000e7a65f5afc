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
  dropped,    // the upstream itself ended the connection, as it does for show
};

std::string_view name_of(DemoOutcome outcome);

struct DemoEvent {
  std::uint64_t id = 0;
  std::string method{};
  std::string target{};
  DemoOutcome outcome = DemoOutcome::serving;
  Time begun{};
  Time ended{};               // unless serving
  std::size_t tokens = 0;     // that a model has spoken so far
  std::size_t of_tokens = 0;  // that it was to speak; 0: this is no model

  // "POST /v1/messages cancelled after 2.0 s, 7 of 12 tokens spoken"
  std::string to_string() const;
};

class DemoLedger {
 public:
  // A request's head has come. Returns its id, from 1 on.
  std::uint64_t begin(const http::RequestHead& head, Time now);
  // A model is about to answer it, or has spoken more. Forgotten requests may be named.
  void will_speak(std::uint64_t id, std::size_t tokens);
  void spoke(std::uint64_t id, std::size_t tokens);
  // The request is over. The event; null if it is forgotten already.
  const DemoEvent* end(std::uint64_t id, DemoOutcome outcome, Time now);

  // {"GET":1,"POST":2,"total":3}: requests whose head has come, by method; unknown methods are
  // "other". Those for /count, /events and /tour are not counted, so that looking changes nothing.
  std::string counts_json() const;
  // The last requests, oldest first, one a line.
  std::string events_json(Time now) const;

 private:
  static constexpr std::size_t kMethods = static_cast<std::size_t>(http::Method::other) + 1;

  DemoEvent* find(std::uint64_t id);

  std::array<std::uint64_t, kMethods> counts_{};
  std::deque<DemoEvent> events_;
  std::uint64_t last_id_ = 0;
};

}  // namespace hushgate::app
