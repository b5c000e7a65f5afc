#include "tests/swarm/world.h"

#include <algorithm>

namespace hushgate::swarm {
namespace {

std::string name_of(std::size_t upstream) { return fmt::format("u{}.test", upstream); }

config::Upstream upstream_config(const Plan& plan, std::size_t index) {
  const UpstreamPlan& planned = plan.upstreams[index];
  const IpAddress first = upstream_address(index, 0);
  config::Upstream upstream;
  upstream.name = fmt::format("u{}", index);
  upstream.host = planned.named ? name_of(index) : first.to_string();
  upstream.url = "http://" + upstream.host;
  if (!planned.named) upstream.literal = first;
  upstream.port = kUpstreamPort;
  upstream.authority = fmt::format("{}:{}", upstream.host, kUpstreamPort);
  upstream.idle_timeout = planned.pool_idle;
  upstream.max_idle = planned.max_idle;
  upstream.close_wait = planned.close_wait;
  return upstream;
}

}  // namespace

proxy::SetupPtr make_setup(const Plan& plan, const Ordeal* reload) {
  config::Config config;
  config.listen.resize(1);
  config.limits = plan.limits;
  config.client.half_close = plan.half_close;
  for (std::size_t i = 0; i < plan.upstreams.size(); ++i) {
    config.upstreams.push_back(upstream_config(plan, i));
    config::Route route;
    route.path = fmt::format("/u{}/", i);
    route.upstream = i;
    config.routes.push_back(std::move(route));
  }
  if (reload != nullptr) {
    config.limits = reload->limits;
    config.client.half_close = reload->half_close;
    if (reload->which < config.upstreams.size()) {
      config.upstreams[reload->which].idle_timeout = reload->pool_idle;
    }
  }
  return std::make_shared<const proxy::Setup>(std::move(config), "gate");
}

void JournalSink::write(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1);
    journal_.note(network_.now(), "log", "{}", lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
}

upstream::NameAnswer PlanNames::answer(std::size_t upstream, const NamePlan& plan) const {
  if (plan.fails) return fail(ErrorKind::dns_error, -2);
  const std::size_t count = stage_.plan.upstreams[upstream].addresses.size();
  const std::size_t told = count - std::min(plan.leave_out, count - 1);
  std::vector<IpAddress> addresses;
  for (std::size_t k = 0; k < told; ++k) {
    addresses.push_back(upstream_address(upstream, (k + plan.rotate) % count));
  }
  return addresses;
}

void PlanNames::query(io::Loop& loop, const std::string& host,
                      std::function<void(upstream::NameAnswer)> done) {
  std::size_t upstream = 0;
  while (name_of(upstream) != host) ++upstream;
  const std::vector<NamePlan>& names = stage_.plan.names;
  const std::size_t turn = asked_[host]++;
  const NamePlan plan = names.empty() ? NamePlan{} : names[turn % names.size()];
  io::SimNetwork& network = stage_.network;
  network.at(network.now() + plan.takes, [this, &loop, upstream, plan, done = std::move(done)] {
    stage_.journal.note(stage_.network.now(), "names", "answers for upstream {}", upstream);
    loop.post([answer = answer(upstream, plan), done] { done(answer); });
  });
}

bool SimReserve::release() {
  if (!held_) return false;
  held_ = false;
  ++host_.descriptor_limit;
  return true;
}

bool SimReserve::refill() {
  if (held_) return true;
  if (host_.descriptors >= host_.descriptor_limit) return false;
  held_ = true;
  --host_.descriptor_limit;
  return true;
}

}  // namespace hushgate::swarm
