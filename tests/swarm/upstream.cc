#include "tests/swarm/upstream.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/swarm/upstream_connection.h"

namespace hushgate::swarm {
namespace {

constexpr int kTinyBacklog = 1;

}  // namespace

Upstream::Upstream(const Stage& stage, std::size_t index) : stage_(stage), index_(index) {
  know_asks();
  open_all();
}

Upstream::~Upstream() = default;

void Upstream::restart(Leave how, Duration away) {
  stage_.journal.note(stage_.network.now(), fmt::format("upstream {}", index_), "restarts");
  listeners_.clear();
  for (const auto& connection : connections_) connection->quit(how);
  stage_.network.at(stage_.network.now() + away, [this] {
    if (listeners_.empty()) open_all();
  });
}

void Upstream::open_all() {
  const std::size_t addresses = plan().addresses.size();
  for (std::size_t address = 0; address < addresses; ++address) open(address);
}

void Upstream::know_asks() {
  for (const ClientPlan& client : stage_.plan.clients) {
    for (const Ask& ask : client.asks) {
      if (ask.upstream == index_) asks_.push_back({.ask = &ask, .deliveries = 0});
    }
  }
  std::ranges::sort(asks_, {}, [](const Known& known) { return known.ask->id; });
}

void Upstream::open(std::size_t address) {
  const Reach reach = plan().addresses[address];
  const IpPort place{upstream_address(index_, address), kUpstreamPort};
  if (reach == Reach::refuses) return;
  if (reach == Reach::black_hole) {
    return stage_.network.set_fate(place, io::SimFate::black_hole);
  }
  const int backlog = reach == Reach::never_accepts ? kTinyBacklog : plan().backlog;
  listeners_.push_back(std::make_unique<io::SimPeerListener>(
      stage_.network, stage_.network.host(place.ip), place, backlog));
  if (reach == Reach::never_accepts) return;
  io::SimPeerListener& listener = *listeners_.back();
  listener.on_connection = [this, &listener] { welcome(listener); };
}

void Upstream::welcome(io::SimPeerListener& listener) {
  while (std::unique_ptr<io::SimPeer> peer = listener.accept()) {
    const std::string who = fmt::format("upstream {}.{}", index_, connections_.size());
    connections_.push_back(std::make_unique<UpstreamConnection>(stage_, *this, who));
    connections_.back()->begin(std::move(peer));
  }
}

std::optional<std::size_t> Upstream::deliver(std::string_view target) {
  const std::optional<std::uint32_t> id = id_of(target);
  const auto found = std::ranges::lower_bound(asks_, id.value_or(0), {},
                                              [](const Known& known) { return known.ask->id; });
  if (!id || found == asks_.end() || path_of(*found->ask) != target) return std::nullopt;
  deliveries_.push_back({.ask = found->ask, .number = found->deliveries++});
  return deliveries_.size() - 1;
}

}  // namespace hushgate::swarm
