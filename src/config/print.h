// The settings in force, as a file that says the same when it is loaded.
#pragma once

#include <string>

#include "config/model.h"

namespace hushgate::config {

// JSON with comments: every key with its value, what it means, and its default where it differs.
std::string to_jsonc(const Config& config);

}  // namespace hushgate::config
