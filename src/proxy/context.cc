#include "proxy/context.h"

#include "proxy/exchange.h"
#include "proxy/session.h"

namespace hushgate::proxy {

Context::Context(io::Loop& the_loop, io::Wheel& the_wheel, stats::Counters& the_counters,
                 LogBuffer& the_log, const Setup& the_setup, std::uint64_t seed)
    : loop(the_loop),
      wheel(the_wheel),
      counters(the_counters),
      log(the_log),
      setup(the_setup),
      random(seed) {}

Context::~Context() = default;

}  // namespace hushgate::proxy
