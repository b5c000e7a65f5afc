#include "config/advice.h"

#include <algorithm>
#include <iterator>

#include "config/advice_peers.h"
#include "config/advice_routes.h"
#include "config/fault.h"

namespace hushgate::config {
namespace {

constexpr std::uint64_t kDescriptorsPerExchange = 2;  // the client's and the upstream's
constexpr std::uint64_t kOwnDescriptors = 64;         // listeners, logs, epoll, the reserve
constexpr Ms kBeyondLoadBalancer{15'000};

std::string count(Ms ms) { return std::to_string(ms.count()); }

bool only_this_machine_connects(const Config& config) {
  return std::ranges::all_of(config.listen, [](const ListenAddress& listen) {
    return listen.family == ListenFamily::one && listen.address.ip.unmapped().is_loopback();
  });
}

void about_load_balancers(const Config& config, std::vector<std::string>& advice) {
  const Ms idle = config.limits.idle_timeout;
  std::vector<KnownPeer> as_long;
  for (const KnownPeer& balancer : known_load_balancers()) {
    const bool can_be_in_front = balancer.name == "nginx" || !only_this_machine_connects(config);
    if (balancer.idle >= idle && can_be_in_front) as_long.push_back(balancer);
  }
  if (as_long.empty()) return;
  advice.push_back(
      "limits.idleTimeoutMs is " + count(idle) +
      ", and these load balancers keep an idle connection to their server as long or longer: " +
      listed(as_long) +
      ". Behind one of them it must be the load balancer that closes first, because only who sends "
      "the requests knows that none is on its way: a request that meets hushgate's close fails as "
      "a 502 there. Set it longer than theirs, as in " +
      count(as_long.front().idle + kBeyondLoadBalancer) +
      ". Without one of them in front, it is fine.");
}

void about_descriptors(const Config& config, std::uint64_t limit,
                       std::vector<std::string>& advice) {
  const std::uint64_t most = effective_max_connections(config.limits, limit);
  const std::uint64_t needed = most * kDescriptorsPerExchange + kOwnDescriptors;
  if (needed > limit && config.limits.max_connections != 0) {
    advice.push_back("limits.maxConnections is " + std::to_string(most) + " and needs up to " +
                     std::to_string(needed) +
                     " descriptors (one for each client and one for its upstream connection), but "
                     "the limit is " +
                     std::to_string(limit) +
                     ": clients would be answered 503 before maxConnections is reached. Raise the "
                     "limit (ulimit -n, LimitNOFILE= of systemd) or lower maxConnections.");
  } else if (limit < kLowDescriptorLimit) {
    advice.push_back("the descriptor limit is " + std::to_string(limit) +
                     ", so that there can be " + std::to_string(most) +
                     " client connections at most. Raise it (ulimit -n, LimitNOFILE= of systemd).");
  }
}

void about_pool(const Upstream& upstream, std::vector<std::string>& advice) {
  if (upstream.max_idle == 0 || upstream.idle_timeout == Upstream{}.idle_timeout) return;
  std::vector<KnownPeer> racing;
  std::ranges::copy_if(known_servers(), std::back_inserter(racing), [&](const KnownPeer& server) {
    return pool_races(upstream.idle_timeout, server.idle);
  });
  if (racing.empty()) return;
  advice.push_back(
      "upstreams." + upstream.name + ".idleTimeoutMs is " + count(upstream.idle_timeout) +
      ", and these servers close an idle connection by then: " + listed(racing) +
      ". Here it must be hushgate that closes first, because it sends the requests: otherwise "
      "every "
      "so often a pooled connection is already closed when it is wanted, and another one has to be "
      "made (no request is lost by that). In front of " +
      std::string(racing.front().name) + " set " + count(safe_pool_idle(racing.front().idle)) +
      ", or have it keep connections longer. `hushgate check --probe` measures what it does.");
}

bool is_localhost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host == "localhost" || host.ends_with(".localhost");
}

void about_itself(const Config& config, const Upstream& upstream,
                  std::vector<std::string>& advice) {
  if (upstream.scheme == Scheme::unix_socket) return;
  std::vector<IpAddress> addresses;
  if (upstream.literal) addresses = {*upstream.literal};
  if (is_localhost(upstream.host))
    addresses = {IpAddress::v4(127, 0, 0, 1), *IpAddress::parse("::1")};
  const bool itself = std::ranges::any_of(addresses, [&](const IpAddress& ip) {
    return leads_to_itself(config, {.ip = ip, .port = upstream.port});
  });
  if (!itself) return;
  advice.push_back("upstreams." + upstream.name + " is " + quoted(upstream.url) +
                   ", where hushgate itself listens: a request sent there comes round again and is "
                   "answered 508. Name the server that is meant.");
}

// Ports that everybody takes for one of the two.
void about_usual_ports(const Config& config, std::vector<std::string>& advice) {
  for (const ListenAddress& listen : config.listen) {
    if (listen.tls && listen.address.port == 80) {
      advice.push_back("listen has " + quoted(listen.text) +
                       " with tls, but port 80 is where clients speak cleartext: each of them "
                       "fails with a broken handshake. Take 443 for TLS, or leave tls out.");
    } else if (!listen.tls && listen.address.port == 443) {
      advice.push_back("listen has " + quoted(listen.text) +
                       " without tls, but port 443 is where clients speak TLS: each of them is "
                       "answered 400. Write it as an object with tls, or take another port.");
    }
  }
}

void about_spare(const Upstream& upstream, std::vector<std::string>& advice) {
  const bool here = upstream.scheme == Scheme::unix_socket ||
                    (upstream.scheme == Scheme::http &&
                     (is_localhost(upstream.host) ||
                      (upstream.literal && upstream.literal->unmapped().is_loopback())));
  if (upstream.spare == 0 || !here) return;
  advice.push_back("upstreams." + upstream.name + ".spare is " + std::to_string(upstream.spare) +
                   ", but a connection to " + quoted(upstream.url) +
                   " is made in microseconds: spare ones save nothing, and the upstream sees "
                   "connections that nobody uses. Set it to 0 for it.");
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

bool accepts(const ListenAddress& listen, const IpPort& address) {
  if (listen.address.port != address.port) return false;
  const IpAddress ip = address.ip.unmapped();
  const IpAddress own = listen.address.ip.unmapped();
  if (ip == own) return true;
  const bool of_family = listen.family == ListenFamily::any || ip.family() == own.family();
  const bool everywhere = listen.family == ListenFamily::any || own.is_any();
  if (everywhere) return of_family && (ip.is_loopback() || ip.is_any());
  return of_family && ip.is_any() && own.is_loopback();  // connecting to 0.0.0.0 means loopback
}

}  // namespace

std::uint32_t effective_max_connections(const Limits& limits, std::uint64_t descriptor_limit) {
  if (limits.max_connections != 0) return limits.max_connections;
  constexpr std::uint64_t kMost = 2'147'483'647;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(descriptor_limit / 5 * 2, 1, kMost));
}

bool leads_to_itself(const Config& config, const IpPort& address) {
  return std::ranges::any_of(
             config.listen,
             [&](const ListenAddress& listen) { return accepts(listen, address); }) ||
         (config.admin && accepts(*config.admin, address));
}

std::vector<std::string> advice(const Config& config, std::uint64_t descriptor_limit) {
  std::vector<std::string> all;
  about_load_balancers(config, all);
  about_descriptors(config, descriptor_limit, all);
  for (const Upstream& upstream : config.upstreams) {
    about_pool(upstream, all);
    about_itself(config, upstream, all);
    about_spare(upstream, all);
  }
  about_usual_ports(config, all);
  about_routes(config, all);
  about_trust(config, all);
  return all;
}

}  // namespace hushgate::config
