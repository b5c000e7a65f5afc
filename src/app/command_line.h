// What the user asked for, as values. Nothing is read or checked here beyond the words themselves.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/load.h"

namespace hushgate::app {

// Exit codes of the process.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

enum class Verb : std::uint8_t {
  serve,
  check,
  schema,
  demo,  // without a file: `overrides` only
  version,
  help,  // print `text`, exit 0
};

enum class Watch : std::uint8_t { no, yes };
enum class DemoTls : std::uint8_t { no, yes };

struct Command {
  Verb verb = Verb::help;
  std::optional<std::string> file{};          // -c
  std::optional<std::string> upstream_url{};  // --upstream
  std::vector<config::Override>
      overrides{};                 // --listen, --admin, --workers, --backend, --set, in that order
  Watch watch = Watch::no;         // --watch, of serve; then there is a `file`
  DemoTls demo_tls = DemoTls::no;  // of demo: --tls
  std::optional<Ms> probe_wait{};  // of check: --probe, with what --probe-wait-ms says
  std::string text{};              // of help
};

// Wrong usage: says what is wrong and how to get help, ends with a line break. Exit code 2.
struct UsageError {
  std::string text;
};

// `arguments` begins with the first one behind the program's name.
std::expected<Command, UsageError> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace hushgate::app
