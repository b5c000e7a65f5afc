#include "app/check.h"

#include "app/settings.h"
#include "config/advice.h"
#include "config/print.h"

namespace hushgate::app {
namespace {

std::string summary(std::size_t faults) {
  return "hushgate: " + std::to_string(faults) + (faults == 1 ? " fault" : " faults") +
         "; `serve` would not start with these settings\n";
}

}  // namespace

CheckResult check(const Command& command, const std::vector<std::string>& environment,
                  std::uint64_t descriptor_limit) {
  const auto loaded = load_settings(command, environment);
  if (!loaded) {
    return {.exit_code = kExitFailed,
            .output = {},
            .errors = lines_of(loaded.error()) + summary(loaded.error().size())};
  }
  CheckResult result;
  result.output = "// The settings in force. As a file, they say the same.\n" +
                  config::to_jsonc(loaded->config);
  result.errors = lines_of(loaded->warnings);
  for (const std::string& text : config::advice(loaded->config, descriptor_limit)) {
    result.errors += "hushgate: advice: " + text + '\n';
  }
  return result;
}

}  // namespace hushgate::app
