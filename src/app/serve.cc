#include "app/serve.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "app/command_line.h"
#include "app/notify.h"
#include "app/server.h"
#include "app/server_errors.h"
#include "app/settings.h"
#include "io/memory.h"

namespace hushgate::app {
namespace {

constexpr int kAllEnded = SIGUSR1;  // a worker tells the main thread
constexpr int kFileMoved = SIGIO;   // the directories of the watched file do
constexpr Duration kLook = std::chrono::seconds(1);

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, kAllEnded, kFileMoved}) sigaddset(&set, signal);
  return set;
}

// Logs from the main thread.
void log_event(Server& server, std::string_view event, std::string_view detail) {
  LogBuffer log(server.sink(), server.format(), wall_offset_now());
  log.line(Clock::now(), LogLevel::info, event).text("detail", detail);
}

void tell_warnings(Server& server) {
  LogBuffer log(server.sink(), server.format(), wall_offset_now());
  for (const std::string& warning : server.warnings()) {
    log.line(Clock::now(), LogLevel::warning, "certificate").text("detail", warning);
  }
}

// Waits that long at most (kLook is the longest), less where a watchdog wants it. 0: nothing came.
int next_signal(const sigset_t& set, Notifier& notifier, Duration most) {
  notifier.alive(Clock::now());
  // The lowest number is taken first: a storm of SIGHUPs must not hold up the end.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&ends, signal);
  constexpr timespec kAtOnce{};
  if (const int end = ::sigtimedwait(&ends, nullptr, &kAtOnce); end > 0) return end;
  const Duration longest = std::min(kLook, notifier.alive_interval().value_or(kLook));
  const Duration wait = std::clamp(most, Duration::zero(), longest);
  const timespec time{.tv_sec = wait / std::chrono::seconds(1),
                      .tv_nsec = (wait % std::chrono::seconds(1)).count()};
  const int signal = ::sigtimedwait(&set, nullptr, &time);
  return signal > 0 ? signal : 0;
}

void begin_watch(Server& server, FileWatch& watch) {
  const int os_error = watch.tell_by(kFileMoved);
  if (os_error == 0) return log_event(server, "watching", watch.path());
  LogBuffer log(server.sink(), server.format(), wall_offset_now());
  log.line(Clock::now(), LogLevel::warning, "watching_by_looks")
      .text("detail", fmt::format("{} is looked at once a second: its directory cannot tell of "
                                  "changes ({}; see fs.inotify.max_user_instances)",
                                  watch.path(), std::strerror(os_error)));
}

// Whether the watched file is to be read again.
// What ends the next wait at the latest.
Duration until_next_look(const Serving& serving, const TlsWatch& tls) {
  const Time look = std::min(serving.watch != nullptr ? serving.watch->due() : kNever, tls.due());
  return look == kNever ? kLook : look - Clock::now();
}

bool has_news(Server& server, FileWatch* watch) {
  if (watch == nullptr || !watch->look(Clock::now())) return false;
  log_event(server, "file_changed", watch->path() + " is read again");
  return true;
}

void until_told_to_stop(Server& server, const sigset_t& set, const Serving& serving,
                        Notifier& notifier) {
  const std::string status = fmt::format("{}", fmt::join(server.listening(), ", "));
  if (serving.watch != nullptr) begin_watch(server, *serving.watch);
  TlsWatch tls;
  tls.watch(proxy::tls_files(server.config()));
  notifier.ready(status);
  bool begun = true;  // or read again: what only that needed is let go when it is over
  for (;;) {
    const int signal = next_signal(set, notifier, until_next_look(serving, tls));
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == 0 && std::exchange(begun, false)) io::trim_memory();
    if (tls.look(Clock::now())) reload_tls(server);
    if (signal != SIGHUP && !has_news(server, serving.watch)) continue;
    notifier.reloading(Clock::now());
    reload(server, serving.reread);
    tls.watch(proxy::tls_files(server.config()));
    notifier.ready(status);
    begun = true;
  }
}

// Ends the process if there are no threads to be had: those that run already cannot be joined.
void start(Server& server) {
  const pthread_t main_thread = ::pthread_self();
  try {
    server.start([main_thread] { ::pthread_kill(main_thread, kAllEnded); });
  } catch (const std::system_error& error) {
    fmt::print(stderr, "hushgate: {}\n", cannot_start_thread(error.code().value()));
    std::_Exit(kExitFailed);
  }
}

std::string waiting(const Server& server) {
  return fmt::format("waiting for {} client connection(s)", server.clients());
}

void until_ended(Server& server, const sigset_t& set, Notifier& notifier) {
  const bool person_watches = ::isatty(STDOUT_FILENO) != 0;
  while (!server.ended()) {
    const int signal = next_signal(set, notifier, kLook);
    if (signal == 0) notifier.status(waiting(server));
    if (signal == SIGTERM || signal == SIGINT) {
      log_event(server, "cut", "a second signal ends what is left");
      server.cut();
    } else if (signal == SIGHUP) {
      log_event(server, "reload_ignored", "this process is stopping");
    } else if (signal == 0 && person_watches && server.clients() > 0) {
      fmt::print("{}; press Ctrl-C again to cut them\n", waiting(server));
      std::fflush(stdout);
      server.tell_waiting();
    }
  }
}

}  // namespace

int serve(const config::Config& config, const Serving& serving) {
  const sigset_t set = our_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before there are threads: they inherit it
  ::signal(SIGPIPE, SIG_IGN);
  Server server(config);
  if (const auto opened = server.open(); !opened) {
    fmt::print(stderr, "hushgate: {}\n", opened.error());
    return kExitFailed;
  }
  start(server);
  log_event(server, "io_backend", server.backend());
  tell_warnings(server);
  if (serving.ready) serving.ready(server.addresses());
  for (const std::string& line : server.listening()) fmt::print("hushgate: {}\n", line);
  std::fflush(stdout);
  Notifier notifier(environment(), ::getpid());
  until_told_to_stop(server, set, serving, notifier);
  log_event(server, "stopping", "no new connections; what has begun may end");
  notifier.stopping(server.config().limits.grace);
  server.stop();
  until_ended(server, set, notifier);
  return kExitDone;
}

}  // namespace hushgate::app
