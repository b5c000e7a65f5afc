// Serving in the foreground, from the first listener to the last exchange.
#pragma once

#include <functional>

#include "app/reload.h"
#include "base/address.h"
#include "config/model.h"

namespace hushgate::app {

// Called once connections are accepted, with the first listener's address.
using Ready = std::function<void(const SocketAddress& address)>;

// Blocks until the process was told to stop (SIGTERM, SIGINT) and everything has ended; SIGHUP
// meanwhile is a reload() with `reread`. Prints one line per listener to standard output once
// connections are accepted. Returns an exit code; says on standard error why it could not start.
int serve(const config::Config& config, const Reread& reread, const Ready& ready);

}  // namespace hushgate::app
