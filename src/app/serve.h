// Serving in the foreground, from the first listener to the last exchange.
#pragma once

#include <functional>
#include <vector>

#include "app/reload.h"
#include "app/watch.h"
#include "base/address.h"
#include "config/model.h"

namespace hushgate::app {

// Called once connections are accepted, with the address of each of `listen`, in its order.
using Ready = std::function<void(const std::vector<SocketAddress>& addresses)>;

struct Serving {
  Reread reread{};             // of a reload(): by SIGHUP, or because of `watch`
  FileWatch* watch = nullptr;  // the file that `reread` reads; null: it is not watched. Not owned
  Ready ready{};
};

// Blocks until the process was told to stop (SIGTERM, SIGINT) and everything has ended. Prints one
// line per listener to standard output once connections are accepted. Returns an exit code; says on
// standard error why it could not start.
int serve(const config::Config& config, const Serving& serving);

}  // namespace hushgate::app
