// The settings that a command asks for: from its file, the environment and its flags.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "config/load.h"

namespace hushgate::app {

// As "NAME=value", from the process.
std::vector<std::string> environment();

// Reads the file that the command names, if any, and loads. A file that cannot be read is a fault
// like any other. To reload, call it again with the same command and environment.
std::expected<config::Loaded, config::Faults> load_settings(
    const Command& command, const std::vector<std::string>& environment);

// One line each, with the program's name in front: "hushgate: hushgate.json:3:5: ...".
std::string lines_of(const config::Faults& faults);
std::string lines_of(const config::Warnings& warnings);

}  // namespace hushgate::app
