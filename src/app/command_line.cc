#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <system_error>

#include "app/check_probe.h"
#include "config/fault.h"

namespace hushgate::app {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  hushgate serve -c hushgate.json\n"
    "  hushgate serve --listen 127.0.0.1:8787 --upstream http://127.0.0.1:3000\n"
    "  hushgate serve -c hushgate.json --watch\n"
    "  hushgate check -c hushgate.json --probe\n"
    "\n"
    "Settings come from the file, then the environment (HUSHGATE_IDLE_TIMEOUT_MS=...), then the "
    "command line;\n"
    "later wins. `check` prints all of them with their meaning.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage.\n";

// What was given for the options, before it is known which command it was for.
struct Given {
  std::vector<std::string> file;
  std::vector<std::string> upstream;
  std::vector<std::string> listen;
  std::vector<std::string> admin;
  std::vector<std::string> workers;
  std::vector<std::string> backend;
  std::vector<std::string> set;
  bool watch = false;
  bool demo_tls = false;
  bool probe = false;
  std::vector<std::string> probe_wait;
};

void add_options_of_demo(CLI::App& command, Given& given) {
  command
      .add_option("--listen", given.listen,
                  "Where clients connect, as 127.0.0.1:8787; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("ADDRESS");
  command.add_option("--workers", given.workers, "How many event loops, or auto")
      ->expected(1)
      ->type_name("N");
  command.add_option("--backend", given.backend, "auto, uring or epoll")
      ->expected(1)
      ->type_name("NAME");
  command
      .add_option("--set", given.set, "Any setting, as limits.idleTimeoutMs=5000; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("KEY=VALUE");
}

void add_options(CLI::App& command, Given& given) {
  command.add_option("-c,--config", given.file, "The file with the settings")
      ->expected(1)
      ->type_name("FILE");
  command.add_option("--upstream", given.upstream, "The only upstream, as http://127.0.0.1:3000")
      ->expected(1)
      ->type_name("URL");
  command.add_option("--admin", given.admin, "Where GET /healthz is answered")
      ->expected(1)
      ->type_name("ADDRESS");
  add_options_of_demo(command, given);
}

void add_options_of_serve(CLI::App& command, Given& given) {
  add_options(command, given);
  command.add_flag("--watch", given.watch,
                   "Read the file again whenever it changes, as SIGHUP does");
}

void add_options_of_check(CLI::App& command, Given& given) {
  add_options(command, given);
  command.add_flag("--probe", given.probe,
                   "Ask each upstream: does it resolve, accept, answer HEAD, and how long does it "
                   "keep an idle connection");
  command
      .add_option("--probe-wait-ms", given.probe_wait,
                  "How long --probe waits for an answer, and then for the close (default 10000)")
      ->expected(1)
      ->type_name("MS");
}

std::optional<std::string> first(const std::vector<std::string>& values) {
  if (values.empty()) return std::nullopt;
  return values.front();
}

void add_override(const char* flag, const char* key, const std::vector<std::string>& values,
                  Command& command) {
  if (values.empty()) return;
  std::string joined = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) joined += ',' + values[i];
  command.overrides.push_back({.flag = flag, .key = key, .value = std::move(joined)});
}

UsageError usage(std::string what, const std::string& of_command) {
  const std::string help =
      of_command.empty() ? "hushgate help" : "hushgate " + of_command + " --help";
  return {"hushgate: " + std::move(what) + "\nTry `" + help + "`.\n"};
}

// The milliseconds of --probe-wait-ms; nothing if that is no such number.
std::optional<Ms> probe_wait_of(const Given& given) {
  if (given.probe_wait.empty()) return ProbeOptions{}.wait;
  const std::string& text = given.probe_wait.front();
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (ms < 1 || Ms{ms} > kMaxProbeWait) return std::nullopt;
  return Ms{ms};
}

// What serve and check have beside the settings.
std::optional<UsageError> add_own(const Given& given, const std::string& name, Command& command) {
  if (given.watch && !command.file) return usage("--watch wants -c FILE: what it watches", name);
  if (given.watch) command.watch = Watch::yes;
  if (given.demo_tls) command.demo_tls = DemoTls::yes;
  if (!given.probe_wait.empty() && !given.probe) {
    return usage("--probe-wait-ms goes with --probe", name);
  }
  if (!given.probe) return std::nullopt;
  command.probe_wait = probe_wait_of(given);
  if (command.probe_wait) return std::nullopt;
  return usage("--probe-wait-ms is " + config::quoted(given.probe_wait.front()) +
                   "; it must be a whole number of milliseconds from 1 to " +
                   std::to_string(kMaxProbeWait.count()),
               name);
}

std::expected<Command, UsageError> command_of(Verb verb, const std::string& name,
                                              const Given& given) {
  Command command{.verb = verb, .file = first(given.file), .upstream_url = first(given.upstream)};
  add_override("--listen", "listen", given.listen, command);
  add_override("--admin", "admin", given.admin, command);
  add_override("--workers", "workers", given.workers, command);
  add_override("--backend", "io.backend", given.backend, command);
  for (const std::string& setting : given.set) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return std::unexpected(usage("--set wants KEY=VALUE, as in limits.idleTimeoutMs=5000", name));
    }
    command.overrides.push_back(
        {.flag = "--set", .key = setting.substr(0, equals), .value = setting.substr(equals + 1)});
  }
  const bool needs_settings = verb == Verb::serve || verb == Verb::check;
  if (needs_settings && !command.file && !command.upstream_url) {
    return std::unexpected(
        usage(name + " wants -c FILE, or --listen ADDRESS --upstream URL", name));
  }
  if (auto wrong = add_own(given, name, command)) return std::unexpected(std::move(*wrong));
  return command;
}

}  // namespace

std::expected<Command, UsageError> parse_command_line(const std::vector<std::string>& arguments) {
  CLI::App app("hushgate: a streaming-first HTTP gateway", "hushgate");
  app.footer(kFooter);
  app.set_help_flag("-h,--help", "Say this");
  Given given;
  bool version_flag = false;
  app.add_flag("--version", version_flag, "As `hushgate version`");
  CLI::App* serve = app.add_subcommand("serve", "Run the gateway in the foreground");
  CLI::App* check =
      app.add_subcommand("check", "Check the settings, print them all, and give advice");
  CLI::App* schema =
      app.add_subcommand("schema", "Print a JSON Schema of the file, for editors and pipelines");
  CLI::App* demo = app.add_subcommand("demo", "Run a gateway in front of a built-in upstream");
  CLI::App* version = app.add_subcommand("version", "Print the version");
  CLI::App* help = app.add_subcommand("help", "Say this");
  app.require_subcommand(0, 1);
  add_options_of_serve(*serve, given);
  add_options_of_check(*check, given);
  add_options_of_demo(*demo, given);
  demo->add_flag("--tls", given.demo_tls,
                 "Listen with TLS as well, with a certificate for localhost that is made for it");

  const std::pair<CLI::App*, Verb> verbs[] = {
      {serve, Verb::serve}, {check, Verb::check}, {schema, Verb::schema}, {demo, Verb::demo}};
  std::string topic;
  help->add_option("command", topic, "The command to explain");
  const std::string general = app.help();
  std::string name;
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    for (const auto& [command, verb] : verbs) {
      if (command->parsed()) return Command{.verb = Verb::help, .text = command->help("hushgate")};
    }
    return Command{.verb = Verb::help, .text = general};
  } catch (const CLI::ParseError& error) {
    for (const auto& [command, verb] : verbs) {
      if (command->parsed()) name = command->get_name();
    }
    return std::unexpected(usage(error.what(), name));
  }
  if (help->parsed()) {
    for (const auto& [command, verb] : verbs) {
      if (command->get_name() == topic) {
        return Command{.verb = Verb::help, .text = command->help("hushgate")};
      }
    }
    return Command{.verb = Verb::help, .text = general};
  }
  if (version->parsed() || version_flag) return Command{.verb = Verb::version};
  for (const auto& [command, verb] : verbs) {
    if (command->parsed()) return command_of(verb, command->get_name(), given);
  }
  return std::unexpected(
      usage("a command is missing: serve, check, schema, demo, version or help", ""));
}

}  // namespace hushgate::app
