#include "app/reload.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/changes.h"

namespace hushgate::app {
namespace {

void tell_faults(LogBuffer& log, const config::Faults& faults) {
  const Time now = Clock::now();
  for (const config::Fault& fault : faults) {
    log.line(now, LogLevel::error, "reload_fault").text("detail", fault.to_string());
  }
  log.line(now, LogLevel::error, "reload_failed")
      .number("faults", faults.size())
      .text("detail", "nothing has changed; the settings in force stay");
}

void tell_warnings(LogBuffer& log, const config::Warnings& warnings) {
  for (const config::Warning& warning : warnings) {
    log.line(Clock::now(), LogLevel::warning, "configuration").text("detail", warning.to_string());
  }
}

void tell_restart(LogBuffer& log, const Change& change) {
  log.line(Clock::now(), LogLevel::warning, "needs_restart")
      .text("key", change.key)
      .text("old", change.before)
      .text("new", change.after)
      .text("detail", change.key + " keeps its old value: a change of it needs a restart");
}

void tell_reloaded(LogBuffer& log, const std::vector<Change>& changes) {
  std::string told;
  for (std::size_t i = 0; i < std::min(changes.size(), kMaxChangesTold); ++i) {
    if (i > 0) told += "; ";
    told += changes[i].to_string();
  }
  if (changes.size() > kMaxChangesTold) {
    told += "; and " + std::to_string(changes.size() - kMaxChangesTold) + " more";
  }
  log.line(Clock::now(), LogLevel::info, "reloaded")
      .number("changes", changes.size())
      .text("changed", changes.empty() ? "nothing" : told);
}

}  // namespace

void reload(Server& server, const Reread& reread) {
  LogBuffer log(server.sink(), server.format(), wall_offset_now());
  if (!reread) {
    log.line(Clock::now(), LogLevel::warning, "reload_ignored")
        .text("detail", "there is no file to reload: this was started without one");
    return;
  }
  auto loaded = reread();
  if (!loaded) return tell_faults(log, loaded.error());
  tell_warnings(log, loaded->warnings);
  const config::Config running = server.config();
  for (const Change& change : changes(running, loaded->config)) {
    if (needs_restart(change)) tell_restart(log, change);
  }
  config::Config next = without_restart(running, std::move(loaded->config));
  const std::vector<Change> made = changes(running, next);
  if (next != running) server.adopt(std::move(next));
  tell_reloaded(log, made);
}

}  // namespace hushgate::app
