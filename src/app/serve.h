// Serving in the foreground, from the first listener to the last exchange.
#pragma once

#include "config/model.h"

namespace hushgate::app {

// Blocks until the process was told to stop (SIGTERM, SIGINT) and everything has ended. Prints one line per listener to
// standard output once connections are accepted. Returns an exit code; says on standard error why it could not start.
int serve(const config::Config& config);

}  // namespace hushgate::app
