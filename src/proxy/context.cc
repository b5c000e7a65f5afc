#include "proxy/context.h"

#include <utility>

#include "proxy/exchange.h"
#include "proxy/h2_client.h"
#include "proxy/session.h"

namespace hushgate::proxy {

Context::Context(const upstream::Services& services, SetupPtr setup, std::uint64_t seed)
    : loop(services.loop),
      wheel(services.wheel),
      counters(services.counters),
      log(services.log),
      generations(services, std::move(setup)),
      random(seed) {}

Context::~Context() = default;

std::unique_ptr<Exchange> Context::take_exchange() {
  if (spare_exchanges_.empty()) return std::make_unique<Exchange>(*this);
  std::unique_ptr<Exchange> exchange = std::move(spare_exchanges_.back());
  spare_exchanges_.pop_back();
  return exchange;
}

void Context::give_back(std::unique_ptr<Exchange> exchange) {
  if (spare_exchanges_.size() < kMaxSpareExchanges) spare_exchanges_.push_back(std::move(exchange));
}

}  // namespace hushgate::proxy
