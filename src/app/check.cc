#include "app/check.h"

#include <cstring>
#include <utility>

#include "app/check_probe.h"
#include "app/check_report.h"
#include "app/settings.h"
#include "config/advice.h"
#include "config/print.h"
#include "io/epoll.h"
#include "proxy/tls_setup.h"
#include "upstream/resolver.h"

namespace hushgate::app {
namespace {

std::string summary(std::size_t faults) {
  return "hushgate: " + std::to_string(faults) + (faults == 1 ? " fault" : " faults") +
         "; `serve` would not start with these settings\n";
}

// Asks the upstreams and appends what they did.
void ask_upstreams(const config::Config& config, const proxy::TlsSetup& tls,
                   const ProbeOptions& options, CheckResult& result) {
  auto backend = io::make_epoll_backend();
  if (!backend) {
    result.exit_code = kExitFailed;
    result.errors +=
        std::string("hushgate: cannot probe: ") + std::strerror(backend.error().os_error) + '\n';
    return;
  }
  io::Loop loop(std::move(*backend));
  upstream::SystemNames names;  // ends before the loop that it answers to
  const std::vector<Probed> all = probe(loop, names, config, tls, options);
  std::size_t failed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ProbeReport one = report(config, config.upstreams[i], all[i], options);
    for (const std::string& line : one.lines) result.errors += "hushgate: probe: " + line + '\n';
    failed += one.reachable ? 0 : 1;
  }
  if (failed == 0) return;
  result.exit_code = kExitFailed;
  result.errors += "hushgate: " + std::to_string(failed) + " of " + std::to_string(all.size()) +
                   (all.size() == 1 ? " upstream" : " upstreams") + " cannot serve requests now\n";
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
  const auto tls = proxy::TlsMaker().make(loaded->config);
  if (!tls) {
    CheckResult faulty{
        .exit_code = kExitFailed, .output = {}, .errors = lines_of(loaded->warnings)};
    for (const std::string& fault : tls.error()) faulty.errors += "hushgate: " + fault + '\n';
    faulty.errors += summary(tls.error().size());
    return faulty;
  }
  CheckResult result;
  result.output = "// The settings in force. As a file, they say the same.\n" +
                  config::to_jsonc(loaded->config);
  result.errors = lines_of(loaded->warnings);
  for (const std::string& text : tls->warnings) {
    result.errors += "hushgate: warning: " + text + '\n';
  }
  for (const std::string& text : config::advice(loaded->config, descriptor_limit)) {
    result.errors += "hushgate: advice: " + text + '\n';
  }
  if (command.probe_wait) {
    ask_upstreams(loaded->config, tls->setup,
                  {.wait = *command.probe_wait, .at_once = probes_at_once(descriptor_limit)},
                  result);
  }
  return result;
}

}  // namespace hushgate::app
