// One line per exchange.
#pragma once

#include "base/address.h"
#include "proxy/context.h"

namespace hushgate::proxy {

// Nothing is written for a head that never became complete and was not answered.
void log_exchange(Context& context, const Exchange& exchange, const SocketAddress& client);

}  // namespace hushgate::proxy
