// `hushgate demo`: a gateway in front of a built-in upstream, and a tour to try it with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/model.h"

namespace hushgate::app {

struct DemoOptions {
  std::vector<std::string> environment{};     // "NAME=value", as config::Input has it
  std::vector<config::Override> overrides{};  // --listen and the like
};

// The settings of the demo as a file would say them.
std::string demo_settings(std::uint16_t upstream_port);

// What to try, and what to look for. Begins with `settings`.
std::string demo_tour(const config::Config& config, const std::string& settings);

// Serves with these settings until told to stop; calls the second with the gateway's address once
// it accepts connections.
using Serve =
    std::function<int(const config::Config&, const std::function<void(const SocketAddress&)>&)>;

// Starts the upstream, runs `serve`, and prints the tour to standard output once it is ready. The
// exit code: serve's, or 1 with the faults on standard error.
int run_demo(const DemoOptions& options, const Serve& serve);

}  // namespace hushgate::app
