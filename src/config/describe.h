// docs/configuration.md, written from the schema's table. The test holds the file against it; with
// HUSHGATE_WRITE_DOCS=1 it writes it.
#pragma once

#include <string>

namespace hushgate::config {

// The whole document, Markdown.
std::string configuration_document();

}  // namespace hushgate::config
