#include "app/demo.h"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>
#include <utility>

#include "app/command_line.h"
#include "app/demo_upstream.h"
#include "app/settings.h"

namespace hushgate::app {
namespace {

constexpr const char* kSettingsName = "the demo's settings";

// {0}: host and port of the gateway. {1}: host, {2}: port, for bash. {3}: idleTimeoutMs in seconds.
constexpr const char* kTour = R"(
hushgate demo: a gateway at http://{0}, in front of a built-in upstream. Ctrl-C ends it.

1. A model that thinks, then streams. The tokens arrive one by one.

   curl -N http://{0}/v1/chat/completions -d '{{"stream":true,"messages":[]}}'

2. A long silence. It thinks for 20 s, far longer than idleTimeoutMs ({3} s), and nobody hangs up:
   it is the upstream's turn.

   curl -N 'http://{0}/v1/chat/completions?think=20' -d '{{"stream":true,"messages":[]}}'

3. A squatter. Half a request and then nothing: it is the client's turn, so after {3} s (and at
   most one more) comes a 408, and the connection is gone.

   bash -c 'exec 3<>/dev/tcp/{1}/{2}; printf "GET / HTTP/1.1\r\nHost: x\r\n" >&3; time cat <&3'

   And one that never says a word: closed after as long, without an answer.

   bash -c 'exec 3<>/dev/tcp/{1}/{2}; time cat <&3'

4. A client that leaves. curl gives up after 2 s; the upstream stops thinking at once. Look for
   "cancelled" with about 2000 ms, and for the line that appears here.

   curl -m 2 'http://{0}/v1/chat/completions?think=60' -d '{{"messages":[]}}'
   curl http://{0}/events

5. Nothing is sent twice. After each POST its number has grown by exactly one.

   curl -X POST -d hello http://{0}/echo
   curl http://{0}/count

6. What the upstream sees of you: look for the X-Forwarded-* fields, Via and X-Request-Id.

   curl http://{0}/echo

The OpenAI SDKs work too: base URL http://{0}/v1, any key. More pages: http://{0}/

)";

// Where a client on this machine reaches the listener.
struct Door {
  std::string host{};     // for a URL: an IPv6 address stands in brackets
  std::string address{};  // the same without them
  std::string port{};
};

Door door_of(const config::ListenAddress& listen) {
  IpAddress ip = listen.address.ip;
  const bool any = listen.family == config::ListenFamily::any || ip == IpAddress();
  if (any) ip = IpAddress::v4(127, 0, 0, 1);
  Door door{.address = ip.to_string(), .port = std::to_string(listen.address.port)};
  door.host = door.address.contains(':') ? '[' + door.address + ']' : door.address;
  return door;
}

void print(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void print_if_cancelled(const DemoEvent& event) {
  if (event.outcome != DemoOutcome::cancelled) return;
  print(stdout, "the upstream: " + event.to_string() + '\n');
}

}  // namespace

std::string demo_settings(std::uint16_t upstream_port) {
  return fmt::format(R"({{  // what the demo runs with; flags and environment win over it
  "listen": ["127.0.0.1:8787"],
  "upstreams": {{ "demo": "http://127.0.0.1:{}" }},  // built in
  "routes": [{{ "path": "/", "upstream": "demo" }}],
  "limits": {{ "idleTimeoutMs": 5000 }}  // short, so that a squatter is soon gone
}}
)",
                     upstream_port);
}

std::string demo_tour(const config::Config& config, const std::string& settings) {
  const Door door = door_of(config.listen.front());
  const std::string place = door.host + ':' + door.port;
  const double idle_s = static_cast<double>(config.limits.idle_timeout.count()) / 1'000;
  return settings + fmt::format(kTour, place, door.address, door.port, idle_s);
}

int run_demo(const DemoOptions& options, const Serve& serve) {
  const auto upstream = DemoThread::start({}, print_if_cancelled);
  if (!upstream) {
    print(stderr, fmt::format("hushgate: the demo's upstream could not be started: {}\n",
                              std::generic_category().message(upstream.error().os_error)));
    return kExitFailed;
  }
  const std::string settings = demo_settings((*upstream)->port());
  const auto loaded = config::load({.file = config::File{kSettingsName, settings},
                                    .environment = options.environment,
                                    .overrides = options.overrides});
  if (!loaded) {
    print(stderr, lines_of(loaded.error()));
    return kExitFailed;
  }
  print(stderr, lines_of(loaded->warnings));
  return serve(loaded->config, [&](const SocketAddress& bound) {
    config::Config shown = loaded->config;
    shown.listen.front().address.port = bound.ip()->port;
    print(stdout, demo_tour(shown, settings));
  });
}

}  // namespace hushgate::app
