#include "config/advice_peers.h"

#include <algorithm>
#include <array>

namespace hushgate::config {
namespace {

// Defaults of keepAliveTimeout (Node), timeout_keep_alive (uvicorn), KeepAliveTimeout (Apache),
// keepalive (gunicorn), idleTimeout (Bun), keepalive_timeout (nginx), KeepAliveTimeout (Kestrel).
constexpr std::array kServers{
    KnownPeer{"gunicorn", Ms{2'000}},  KnownPeer{"Node", Ms{5'000}},
    KnownPeer{"uvicorn", Ms{5'000}},   KnownPeer{"Apache", Ms{5'000}},
    KnownPeer{"Bun", Ms{10'000}},      KnownPeer{"nginx", Ms{75'000}},
    KnownPeer{"Kestrel", Ms{130'000}},
};

constexpr std::array kLoadBalancers{
    KnownPeer{"AWS ALB", Ms{60'000}},
    KnownPeer{"nginx", Ms{60'000}},
    KnownPeer{"Google Cloud", Ms{600'000}},
};

std::string seconds(Ms ms) {
  std::string text = std::to_string(ms.count() / 1'000);
  if (ms.count() % 1'000 != 0) text += '.' + std::to_string(ms.count() % 1'000 / 100);
  return text + " s";
}

}  // namespace

std::span<const KnownPeer> known_servers() { return kServers; }
std::span<const KnownPeer> known_load_balancers() { return kLoadBalancers; }

std::string listed(std::span<const KnownPeer> peers) {
  std::string text;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i > 0) text += i + 1 == peers.size() ? " and " : ", ";
    text += std::string(peers[i].name) + " (" + seconds(peers[i].idle) + ')';
  }
  return text;
}

Ms safe_pool_idle(Ms server_idle) {
  const Ms safe = server_idle - std::clamp(server_idle / 5, Ms{50}, Ms{1'000});
  const Ms round = safe >= Ms{1'000} ? Ms{100} : Ms{10};
  return std::max(Ms{0}, safe - safe % round);
}

bool pool_races(Ms pool_idle, Ms server_idle) {
  return pool_idle > server_idle - std::clamp(server_idle / 10, Ms{50}, Ms{500});
}

}  // namespace hushgate::config
