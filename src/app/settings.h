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
// like any other.
std::expected<config::Loaded, config::Faults> load_settings(
    const Command& command, const std::vector<std::string>& environment);

// The same for a reload: what is no file any more, or was none (a pipe has been read, and opening
// one may block), is a fault.
std::expected<config::Loaded, config::Faults> load_settings_again(
    const Command& command, const std::vector<std::string>& environment);

// One line each, with the program's name in front: "hushgate: hushgate.json:3:5: ...".
std::string lines_of(const config::Faults& faults);
std::string lines_of(const config::Warnings& warnings);

}  // namespace hushgate::app
