// `hushgate check`: validates, prints what is in force, and teaches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/command_line.h"

namespace hushgate::app {

struct CheckResult {
  // kExitDone, or kExitFailed with every fault in `errors`, or with an upstream that cannot serve.
  int exit_code = 0;
  std::string output{};  // for standard output: the effective settings, a file that loads as it is
  std::string errors{};  // for standard error: faults, or warnings and advice
};

// Takes as long as `--probe` was told to wait, if it was asked for; all upstreams are asked at the
// same time. `descriptor_limit` is the soft RLIMIT_NOFILE.
CheckResult check(const Command& command, const std::vector<std::string>& environment,
                  std::uint64_t descriptor_limit);

}  // namespace hushgate::app
