// Advice about routes that do not say what was probably meant. Inside this folder only.
#pragma once

#include <string>
#include <vector>

#include "config/model.h"

namespace hushgate::config {

// Routes that can never match (their path is longer than any request line may be, or is a pattern
// of another program, which means itself here), and such that match one path alone.
void about_routes(const Config& config, std::vector<std::string>& advice);

}  // namespace hushgate::config
