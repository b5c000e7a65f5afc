#include "app/demo_tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace hushgate::app {
namespace {

// {url}: of the gateway, without a slash at the end. {host}, {port}: the same for bash. {idle}:
// idleTimeoutMs in seconds, {late}: how much later the sweep may come. {think}: three times as
// long. {posts}: more than {ports}, which this machine has. {closing}: that upstream's port in hex.
constexpr const char* kTour = R"(
The tour: five commands for another terminal. This text again: curl {url}/tour

1. NOBODY SQUATS. Half a request, and then a byte every 0.3 s for as long as it is let.

   bash -c 'exec 3<>/dev/tcp/{host}/{port}; printf "GET / HTTP/1.1\r\nHost: x\r\nX: " >&3;
     (while sleep 0.3; do printf x >&3; done) 2>/dev/null & time cat <&3'

   Look for: a 408, and "real" between {idle} s and {late} s. It was the client's turn, for
   idleTimeoutMs ({idle} s) and no longer; bytes that drip buy nothing.

2. NOBODY IS HUNG UP ON FOR THINKING. A model that is silent for {think} s, then speaks.

   curl -sN '{url}/v1/chat/completions?think={think}' \
     -w '%{{stderr}}%{{http_code}}, first byte after %{{time_starttransfer}} s\n' \
     -d '{{"stream":true,"messages":[]}}' | grep --line-buffered -o '"content":"[^"]\+"'

   Look for: nothing at all for {think} s, which is longer than idleTimeoutMs ({idle} s), then 12
   tokens one by one, and 200, first byte after {think} s. It was the upstream's turn.

3. NOTHING IS SENT TWICE THAT COULD HAVE ACTED, and the client never pays for that. This upstream
   promises to keep its connections, and when one is used again, it reads the request and hangs up.

   curl -s {url}/count; for m in GET PUT POST; do \
     curl -s -o /dev/null -w "$m %{{http_code}}\n" -X $m -H 'Idempotency-Key: 7' \
     '{url}/closing/echo?[1-5]'; done; curl -s {url}/count

   Look for: 15 times 200. In the upstream's own count PUT and POST have grown by exactly 5; GET by
   up to 9: those that were hung up on went out again at once, which is safe.

4. WHO LEAVES IS NOT WORKED FOR. curl leaves a model that is to speak 1000 tokens after 4 s.

   curl -sN -m 4 '{url}/v1/chat/completions?think=1&tokens=1000' \
     -d '{{"stream":true,"messages":[]}}' | grep -c '"content":"[^"]'; sleep 3; \
     curl -s {url}/events | grep cancelled | tail -n 1

   Look for: about 20 tokens, as curl counts them; 3 s later the upstream's own count still stands
   at the same number ("tokens", at most one more), "cancelled" after about 4000 ms.

5. PORTS DO NOT RUN OUT. {posts} POSTs, each on a connection of its own to an upstream that closes
   it right away; this machine has {ports} ports for that. (Their log lines rush by here.)

   curl -Z --no-progress-meter -o /dev/null -w '%{{http_code}}\n' -d x \
     '{url}/closing/echo?[1-{posts}]' | sort | uniq -c; \
     awk '$3 ~ /:{closing}$/ && $4 == "06"' /proc/net/tcp | wc -l

   Look for: "{posts} 200" and nothing else; then 0: so many ports does the gateway hold in
   TIME_WAIT.

More: the SDKs of OpenAI (base URL {url}/v1) and Anthropic ({url}),
any key; a WebSocket at {url}/ws, in a browser or not; and

   curl -s {url}/bytes/100000000 | tee >(sha1sum >&2) | \
     curl -s -T - {url}/upload     # the same SHA-1 twice
   curl -s -d x '{url}/mortal/die?for=3'; curl -s {url}/mortal/echo     # two 502s, and why
   curl {url}/     # everything there is
)";

constexpr std::uint64_t kUsualPorts = 28'232;  // 32768 to 60999, Linux's default

std::uint64_t ports_of_this_machine() {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::FILE* file = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
  if (file == nullptr) return kUsualPorts;
  const int read = std::fscanf(file, "%lu %lu", &first, &last);
  std::fclose(file);
  return read == 2 && first <= last ? last - first + 1 : kUsualPorts;
}

// Where a client on this machine reaches the listener, as bash wants it.
std::string host_of(const config::ListenAddress& listen) {
  const IpAddress ip = listen.address.ip;
  const bool any = listen.family == config::ListenFamily::any || ip == IpAddress() ||
                   ip == *IpAddress::parse("0.0.0.0");
  return any ? "127.0.0.1" : ip.to_string();
}

double seconds(Ms ms) { return static_cast<double>(ms.count()) / 1'000; }

}  // namespace

std::string demo_tour(const config::Config& config) {
  constexpr std::uint64_t kPostsRoundedTo = 1'000;
  constexpr double kLongest = 600;  // the upstream's
  const std::string host = host_of(config.listen.front());
  const std::uint16_t port = config.listen.front().address.port;
  const std::string url_host = host.contains(':') ? '[' + host + ']' : host;
  const double idle = seconds(config.limits.idle_timeout);
  const double request = seconds(config.limits.request_timeout);
  const double head = std::min(idle, request);
  const std::uint64_t ports = ports_of_this_machine();
  const auto closing = std::ranges::find(config.upstreams, "closing", &config::Upstream::name);
  return fmt::format(kTour, fmt::arg("url", fmt::format("http://{}:{}", url_host, port)),
                     fmt::arg("host", host), fmt::arg("port", port), fmt::arg("idle", head),
                     fmt::arg("late", head + std::clamp(head / 4, 0.025, 1.0)),
                     fmt::arg("think", std::min(std::ceil(idle * 3), kLongest)),
                     fmt::arg("posts", (ports / kPostsRoundedTo + 1) * kPostsRoundedTo),
                     fmt::arg("ports", ports),
                     fmt::arg("closing", fmt::format("{:04X}", closing == config.upstreams.end()
                                                                   ? std::uint16_t{0}
                                                                   : closing->port)));
}

}  // namespace hushgate::app
