#include "proxy/generation.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace hushgate::proxy {

Generations::Generations(const upstream::Services& services, SetupPtr first) : services_(services) {
  current_ = make(std::move(first));
}

// Endpoints are carried on by the name of their upstream.
std::unique_ptr<Generation> Generations::make(SetupPtr setup) const {
  std::map<std::string_view, const std::shared_ptr<upstream::Endpoint>*> known;
  if (current_) {
    for (const auto& endpoint : current_->endpoints) known[endpoint->config().name] = &endpoint;
  }
  auto made = std::make_unique<Generation>();
  made->setup = std::move(setup);
  const std::vector<config::Upstream>& upstreams = made->setup->config.upstreams;
  for (std::size_t i = 0; i < upstreams.size(); ++i) {
    const config::Upstream& upstream = upstreams[i];
    const tls::ClientContext::Pointer tls = made->setup->upstream_tls(i);
    const auto found = known.find(upstream.name);
    if (found != known.end() && (*found->second)->serves(upstream, tls)) {
      made->endpoints.push_back(*found->second);
      continue;
    }
    made->endpoints.push_back(std::make_shared<upstream::Endpoint>(services_, upstream, tls));
    if (found != known.end()) made->endpoints.back()->name().inherit((*found->second)->name());
  }
  return made;
}

void Generations::adopt(SetupPtr setup) {
  std::unique_ptr<Generation> next = make(std::move(setup));
  for (const auto& endpoint : current_->endpoints) {
    const bool carried_on = std::ranges::find(next->endpoints, endpoint) != next->endpoints.end();
    if (!carried_on) endpoint->retire(*this);
  }
  older_.push_back(std::exchange(current_, std::move(next)));
  set_period();
  services_.loop.ready(*this);
}

void Generations::release(Generation& generation) {
  HG_ASSERT(generation.exchanges > 0);
  --generation.exchanges;
  if (generation.exchanges == 0 && &generation != current_.get()) services_.loop.ready(*this);
}

// Put off to here, because whoever lets go of something may be in the middle of using it.
void Generations::run() {
  const std::size_t before = older_.size();
  std::erase_if(older_, [this](const std::unique_ptr<Generation>& generation) {
    if (generation->exchanges > 0) return false;
    drop_endpoints(*generation);
    return true;
  });
  std::erase_if(ending_, [](const auto& endpoint) { return endpoint->ending_count() == 0; });
  if (older_.size() != before) set_period();
}

void Generations::drop_endpoints(Generation& generation) {
  for (const auto& endpoint : generation.endpoints) {
    if (endpoint.use_count() == 1 && endpoint->ending_count() > 0) {
      ending_.push_back(endpoint);
    }
  }
  generation.endpoints.clear();
}

// The shortest that any budget in use asks for.
void Generations::set_period() {
  Ms period = sweep_period(current_->limits());
  for (const auto& generation : older_) {
    period = std::min(period, sweep_period(generation->limits()));
  }
  services_.wheel.set_period(period);
}

}  // namespace hushgate::proxy
