#include "config/advice.h"

#include <algorithm>

#include "config/fault.h"

namespace hushgate::config {
namespace {

constexpr std::uint64_t kDescriptorsPerExchange = 2;  // the client's and the upstream's
constexpr std::uint64_t kOwnDescriptors = 64;         // listeners, logs, epoll, the reserve

std::string count(Ms ms) { return std::to_string(ms.count()); }

void about_load_balancers(const Config& config, std::vector<std::string>& advice) {
  if (config.limits.idle_timeout != kLoadBalancerIdle) return;
  advice.push_back(
      "limits.idleTimeoutMs is " + count(kLoadBalancerIdle) +
      ", the usual idle timeout of load balancers. Behind one, both may close at the same "
      "moment, and a request on its way then fails with a 502 there: set it longer than the "
      "load balancer's, as in 75000. Without one, it is fine.");
}

void about_descriptors(const Config& config, std::uint64_t limit,
                       std::vector<std::string>& advice) {
  const std::uint64_t most = effective_max_connections(config.limits, limit);
  const std::uint64_t needed = most * kDescriptorsPerExchange + kOwnDescriptors;
  if (needed > limit && config.limits.max_connections != 0) {
    advice.push_back("limits.maxConnections is " + std::to_string(most) + " and needs up to " +
                     std::to_string(needed) + " descriptors, but the limit is " +
                     std::to_string(limit) +
                     ". Raise it (ulimit -n, LimitNOFILE= of systemd) or lower maxConnections.");
  } else if (limit < kLowDescriptorLimit) {
    advice.push_back("the descriptor limit is " + std::to_string(limit) +
                     ", so that there can be " + std::to_string(most) +
                     " client connections at most. Raise it (ulimit -n, LimitNOFILE= of systemd).");
  }
}

void about_upstreams(const Config& config, std::vector<std::string>& advice) {
  for (const Upstream& upstream : config.upstreams) {
    if (upstream.idle_timeout < kNodeServerIdle) continue;
    advice.push_back(
        "upstreams." + upstream.name + ".idleTimeoutMs is " + count(upstream.idle_timeout) +
        "; a Node server closes idle connections after " + count(kNodeServerIdle) +
        ". Stay below the upstream's own timeout, or every so often a pooled connection is "
        "already closed when it is wanted.");
  }
}

void about_trust(const Config& config, std::vector<std::string>& advice) {
  const auto& admin = config.admin;
  if (admin && !admin->address.ip.unmapped().is_loopback()) {
    advice.push_back(
        "admin is " + quoted(admin->text) +
        ", which other machines may reach. It has no login: bind it to 127.0.0.1, or make sure "
        "that only your monitoring gets there.");
  }
  const auto& proxies = config.client.trusted_proxies;
  const auto everyone = std::ranges::find(proxies, 0, &Cidr::prefix_bits);
  if (everyone != proxies.end()) {
    advice.push_back(
        "client.trustedProxies holds " + everyone->to_string() +
        ": every client can then pretend any address in X-Forwarded-For. Name the proxies that "
        "stand in front.");
  }
}

}  // namespace

std::uint32_t effective_max_connections(const Limits& limits, std::uint64_t descriptor_limit) {
  if (limits.max_connections != 0) return limits.max_connections;
  constexpr std::uint64_t kMost = 2'147'483'647;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(descriptor_limit / 5 * 2, 1, kMost));
}

std::vector<std::string> advice(const Config& config, std::uint64_t descriptor_limit) {
  std::vector<std::string> all;
  about_load_balancers(config, all);
  about_descriptors(config, descriptor_limit, all);
  about_upstreams(config, all);
  about_trust(config, all);
  return all;
}

}  // namespace hushgate::config
