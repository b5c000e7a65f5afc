// `hushgate demo`: a gateway in front of built-in upstreams, and a tour to try it with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "config/load.h"
#include "config/model.h"

namespace hushgate::app {

inline constexpr std::uint16_t kDemoPort = 8'787;  // unless it is taken, or another was asked for
inline constexpr std::uint16_t kDemoTlsPort = 8'443;  // unless it is taken

struct DemoOptions {
  std::vector<std::string> environment{};     // "NAME=value", as config::Input has it
  std::vector<config::Override> overrides{};  // --listen and the like
  DemoTls tls = DemoTls::no;
};

struct DemoPorts {
  std::uint16_t gateway = 0;  // 0: the kernel chooses
  std::uint16_t kept = 0;     // of the upstreams, by their manners
  std::uint16_t closing = 0;
  std::uint16_t mortal = 0;
};

// Of --tls: a second listener, and the file with its certificate and key.
struct DemoListener {
  std::uint16_t port = 0;  // 0: the kernel chooses
  std::string pem_file;
};

// The settings of the demo as a file would say them.
std::string demo_settings(const DemoPorts& ports, const std::optional<DemoListener>& tls = {});

// Serves with these settings until told to stop; calls the second with the addresses of its
// listeners once it accepts connections.
using Serve = std::function<int(const config::Config&,
                                const std::function<void(const std::vector<SocketAddress>&)>&)>;

// Starts the upstreams, runs `serve`, and prints the settings and the tour to standard output once
// it is ready. Where nobody said where to listen and kDemoPort is taken, it takes a free port and
// says so. The exit code: serve's, or 1 with the faults on standard error.
int run_demo(const DemoOptions& options, const Serve& serve);

}  // namespace hushgate::app
