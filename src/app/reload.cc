#include "app/reload.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/changes.h"

namespace hushgate::app {
namespace {

void tell_faults(LogBuffer& log, const std::vector<std::string>& faults) {
  const Time now = Clock::now();
  for (const std::string& fault : faults) {
    log.line(now, LogLevel::error, "reload_fault").text("detail", fault);
  }
  log.line(now, LogLevel::error, "reload_failed")
      .number("faults", faults.size())
      .text("detail", "nothing has changed; the settings in force stay");
}

std::vector<std::string> sentences(const config::Faults& faults) {
  std::vector<std::string> all;
  for (const config::Fault& fault : faults) all.push_back(fault.to_string());
  return all;
}

void tell_warnings(LogBuffer& log, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    log.line(Clock::now(), LogLevel::warning, "certificate").text("detail", warning);
  }
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

void tell_reloaded(LogBuffer& log, const std::vector<Change>& changes, Server::Adopted adopted) {
  std::string told;
  for (std::size_t i = 0; i < std::min(changes.size(), kMaxChangesTold); ++i) {
    if (i > 0) told += "; ";
    told += changes[i].to_string();
  }
  if (changes.size() > kMaxChangesTold) {
    told += "; and " + std::to_string(changes.size() - kMaxChangesTold) + " more";
  }
  if (adopted == Server::Adopted::tls) told += "files of TLS";
  log.line(Clock::now(), LogLevel::info, "reloaded")
      .number("changes", changes.size())
      .text("changed", told.empty() ? "nothing" : told);
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
  if (!loaded) return tell_faults(log, sentences(loaded.error()));
  tell_warnings(log, loaded->warnings);
  const config::Config running = server.config();
  for (const Change& change : changes(running, loaded->config)) {
    if (needs_restart(change)) tell_restart(log, change);
  }
  config::Config next = without_restart(running, std::move(loaded->config));
  const std::vector<Change> made = changes(running, next);
  const auto adopted = server.adopt(std::move(next));
  if (!adopted) return tell_faults(log, adopted.error());
  tell_warnings(log, server.warnings());
  tell_reloaded(log, made, *adopted);
}

void reload_tls(Server& server) {
  LogBuffer log(server.sink(), server.format(), wall_offset_now());
  const auto adopted = server.adopt(server.config());
  if (!adopted) return tell_faults(log, adopted.error());
  if (*adopted == Server::Adopted::nothing) return;
  tell_warnings(log, server.warnings());
  log.line(Clock::now(), LogLevel::info, "tls_reloaded")
      .text("detail", "connections that begin from now on are served by the new files");
}

}  // namespace hushgate::app
