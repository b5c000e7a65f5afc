#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/check.h"
#include "app/command_line.h"
#include "app/demo.h"
#include "app/serve.h"
#include "app/server_errors.h"
#include "app/settings.h"
#include "base/log.h"
#include "config/schema_json.h"
#include "io/process.h"

namespace hushgate::app {
namespace {

// As the log would say it: a reader of JSON lines gets nothing else.
void say(const config::Warnings& warnings) {
  if (warnings.empty()) return;
  StderrSink sink;
  LogBuffer log(sink, ::isatty(STDERR_FILENO) != 0 ? LogFormat::text : LogFormat::json,
                wall_offset_now());
  for (const config::Warning& warning : warnings) {
    log.line(Clock::now(), LogLevel::warning, "configuration").text("detail", warning.to_string());
  }
}

int run_serve(const Command& command) {
  const std::vector<std::string> said = environment();
  std::optional<FileWatch> watch;  // before the file is read, so that no change is missed
  if (command.watch == Watch::yes) watch.emplace(*command.file);
  const auto loaded = load_settings(command, said);
  if (!loaded) {
    fmt::print(stderr, "{}", lines_of(loaded.error()));
    return kExitFailed;
  }
  say(loaded->warnings);
  Serving serving{.watch = watch ? &*watch : nullptr};
  if (command.file) serving.reread = [&] { return load_settings_again(command, said); };
  return serve(loaded->config, serving);
}

int run_check(const Command& command) {
  const CheckResult result = check(command, environment(), io::raise_descriptor_limit());
  fmt::print("{}", result.output);
  fmt::print(stderr, "{}", result.errors);
  return result.exit_code;
}

int run(const std::vector<std::string>& arguments) {
  const auto command = parse_command_line(arguments);
  if (!command) {
    fmt::print(stderr, "{}", command.error().text);
    return kExitUsage;
  }
  switch (command->verb) {
    case Verb::serve: return run_serve(*command);
    case Verb::check: return run_check(*command);
    case Verb::schema: fmt::print("{}", config::json_schema()); return kExitDone;
    case Verb::version: fmt::print("hushgate {}\n", HUSHGATE_VERSION); return kExitDone;
    case Verb::help: fmt::print("{}", command->text); return kExitDone;
    case Verb::demo:
      return run_demo({environment(), command->overrides, command->demo_tls},
                      [](const config::Config& config, const Ready& ready) {
                        return serve(config, {.ready = ready});
                      });
  }
  return kExitUsage;
}

}  // namespace
}  // namespace hushgate::app

int main(int argc, char** argv) {
  using namespace hushgate::app;
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::system_error& error) {  // std::thread, of the log or the resolver
    fmt::print(stderr, "hushgate: {}\n", cannot_start_thread(error.code().value()));
    return kExitFailed;
  }
}
