// From what people wrote to a Config, or to everything that is wrong with it.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fault.h"
#include "config/model.h"

namespace hushgate::config {

struct File {
  std::string name;  // as faults show it
  std::string text;
  std::string folder{};  // where relative paths in it begin; empty: they stay as they are
};

// One key by its text, from the command line.
struct Override {
  std::string flag;   // as faults show it: "--listen"
  std::string key;    // "listen", "limits.idleTimeoutMs"; any overridable key of the schema
  std::string value;  // lists are separated by commas
};

// Order: file, environment, command line; later wins, key by key. A key of one of `upstreams` still
// beats the default of `upstream`, whoever set that.
struct Input {
  std::optional<File> file{};
  std::vector<std::string>
      environment{};  // "NAME=value"; only names that begin with HUSHGATE_ are looked at
  std::vector<Override> overrides{};
  std::optional<std::string>
      upstream_url{};            // --upstream: the only upstream and route, in place of the file's
  std::string working_folder{};  // where relative paths of the environment and the command line
                                 // begin; empty: they stay as they are
};

struct Loaded {
  Config config;
  Warnings warnings;
};

// All faults at once, in the order of their places; at least one if there is no Config. A file that
// is no JSON hides what else is wrong in it, but not what is wrong elsewhere.
std::expected<Loaded, Faults> load(const Input& input);

}  // namespace hushgate::config
