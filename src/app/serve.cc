#include "app/serve.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "app/command_line.h"
#include "app/server.h"

namespace hushgate::app {
namespace {

constexpr int kAllEnded = SIGUSR1;  // a worker tells the main thread

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, kAllEnded}) sigaddset(&set, signal);
  return set;
}

// Logs from the main thread.
void log_event(Server& server, std::string_view event, std::string_view detail) {
  LogBuffer log(server.sink(), server.format(), wall_offset_now());
  log.line(Clock::now(), LogLevel::info, event).text("detail", detail);
}

// Waits a second at most. 0: nothing came.
int next_signal(const sigset_t& set) {
  const timespec second{.tv_sec = 1, .tv_nsec = 0};
  const int signal = ::sigtimedwait(&set, nullptr, &second);
  return signal > 0 ? signal : 0;
}

void until_told_to_stop(Server& server, const sigset_t& set, const Reread& reread) {
  for (;;) {
    const int signal = next_signal(set);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP) reload(server, reread);
  }
}

void until_ended(Server& server, const sigset_t& set) {
  const bool person_watches = ::isatty(STDOUT_FILENO) != 0;
  while (!server.ended()) {
    const int signal = next_signal(set);
    if (signal == SIGTERM || signal == SIGINT) {
      log_event(server, "cut", "a second signal ends what is left");
      server.cut();
    } else if (signal == SIGHUP) {
      log_event(server, "reload_ignored", "this process is stopping");
    } else if (signal == 0 && person_watches && server.clients() > 0) {
      fmt::print("waiting for {} client connection(s); press Ctrl-C again to cut them\n",
                 server.clients());
      std::fflush(stdout);
      server.tell_waiting();
    }
  }
}

}  // namespace

int serve(const config::Config& config, const Reread& reread, const Ready& ready) {
  const sigset_t set = our_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before there are threads: they inherit it
  ::signal(SIGPIPE, SIG_IGN);
  Server server(config);
  if (const auto opened = server.open(); !opened) {
    fmt::print(stderr, "hushgate: {}\n", opened.error());
    return kExitFailed;
  }
  const pthread_t main_thread = ::pthread_self();
  server.start([main_thread] { ::pthread_kill(main_thread, kAllEnded); });
  log_event(server, "io_backend", "epoll; io_uring is not offered by this version");
  if (ready) ready(server.first_address());
  for (const std::string& line : server.listening()) fmt::print("hushgate: {}\n", line);
  std::fflush(stdout);
  until_told_to_stop(server, set, reread);
  log_event(server, "stopping", "no new connections; what has begun may end");
  server.stop();
  until_ended(server, set);
  return kExitDone;
}

}  // namespace hushgate::app
