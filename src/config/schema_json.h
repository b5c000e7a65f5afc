// The configuration as a JSON Schema (draft 2020-12), for editors and checks in a pipeline. It
// takes everything that `load` takes of a file, comments apart, and refuses whatever one value
// alone shows to be wrong; how values go together (names, ports, routes twice) `hushgate check`
// says.
#pragma once

#include <string>

namespace hushgate::config {

// Pretty-printed, with a newline at the end.
std::string json_schema();

}  // namespace hushgate::config
