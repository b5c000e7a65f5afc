#include "proxy/context.h"

#include <utility>

#include "proxy/exchange.h"
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

}  // namespace hushgate::proxy
