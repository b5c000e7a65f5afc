// What a probe found, in words: what the upstream does, whether that fits the settings, and what to
// write instead.
#pragma once

#include <string>
#include <vector>

#include "app/check_probe.h"
#include "config/model.h"

namespace hushgate::app {

struct ProbeReport {
  std::vector<std::string> lines{};  // for people, without line breaks
  bool reachable = true;  // false: a request sent there now would be answered with an error
};

ProbeReport report(const config::Config& config, const config::Upstream& upstream,
                   const Probed& probed, const ProbeOptions& options);

}  // namespace hushgate::app
