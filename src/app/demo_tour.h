// What `hushgate demo` has people try: five commands for another terminal, one for each promise and
// one for the ports, and what to look for. They need bash, curl and awk and nothing else.
#pragma once

#include <string>

#include "config/model.h"

namespace hushgate::app {

// With the settings that are in force; the port of the first listener is the one that was bound.
std::string demo_tour(const config::Config& config);

}  // namespace hushgate::app
