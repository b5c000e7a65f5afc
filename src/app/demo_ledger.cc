#include "app/demo_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/demo_json.h"

namespace hushgate::app {
namespace {

constexpr std::array<std::string_view, 10> kMethodNames{
    "GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "other"};

bool only_looks(std::string_view path) {
  return path == "/count" || path == "/events" || path == "/tour";
}

}  // namespace

std::string_view name_of(DemoOutcome outcome) {
  switch (outcome) {
    case DemoOutcome::serving: return "serving";
    case DemoOutcome::answered: return "answered";
    case DemoOutcome::cancelled: return "cancelled";
    case DemoOutcome::cut: return "cut";
    case DemoOutcome::dropped: return "dropped";
  }
  return "";
}

std::string DemoEvent::to_string() const {
  std::string text = fmt::format("{} {} {} after {:.1f} s", method, target, name_of(outcome),
                                 to_ms(ended - begun) / 1'000);
  if (of_tokens > 0) text += fmt::format(", {} of {} tokens spoken", tokens, of_tokens);
  return text;
}

std::uint64_t DemoLedger::begin(const http::RequestHead& head, Time now) {
  static_assert(kMethodNames.size() == kMethods);
  const std::uint64_t id = ++last_id_;
  if (only_looks(head.path)) return id;
  ++counts_[static_cast<std::size_t>(head.method)];
  if (events_.size() == kMaxDemoEvents) events_.pop_front();
  events_.push_back({.id = id,
                     .method = std::string(head.method_text),
                     .target = std::string(cut_text(head.target, kMaxDemoTargetBytes)),
                     .begun = now,
                     .ended = now});
  return id;
}

const DemoEvent* DemoLedger::end(std::uint64_t id, DemoOutcome outcome, Time now) {
  DemoEvent* const found = find(id);
  if (found == nullptr) return nullptr;
  found->outcome = outcome;
  found->ended = now;
  return found;
}

void DemoLedger::will_speak(std::uint64_t id, std::size_t tokens) {
  if (DemoEvent* const found = find(id)) found->of_tokens = tokens;
}

void DemoLedger::spoke(std::uint64_t id, std::size_t tokens) {
  if (DemoEvent* const found = find(id)) found->tokens += tokens;
}

DemoEvent* DemoLedger::find(std::uint64_t id) {
  const auto found = std::ranges::find(events_, id, &DemoEvent::id);
  return found == events_.end() ? nullptr : &*found;
}

std::string DemoLedger::counts_json() const {
  std::string json = "{";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kMethods; ++i) {
    total += counts_[i];
    if (counts_[i] != 0) json += fmt::format(R"("{}":{},)", kMethodNames[i], counts_[i]);
  }
  return json + fmt::format(R"("total":{}}})", total);
}

std::string DemoLedger::events_json(Time now) const {
  std::string json = "[";
  for (const DemoEvent& event : events_) {
    const Time until = event.outcome == DemoOutcome::serving ? now : event.ended;
    json += json.size() > 1 ? ",\n " : "";
    json += fmt::format(R"({{"request":{},"method":{},"target":{},"outcome":"{}","ms":{:.0f})",
                        event.id, json_string(event.method), json_string(event.target),
                        name_of(event.outcome), to_ms(until - event.begun));
    if (event.of_tokens > 0) {
      json += fmt::format(R"(,"tokens":{},"of_tokens":{})", event.tokens, event.of_tokens);
    }
    json += '}';
  }
  return json + ']';
}

}  // namespace hushgate::app
