// docs/phases.md, written from the table itself. The test holds the file against it; with
// HUSHGATE_WRITE_DOCS=1 it writes it.
#pragma once

#include <string>
#include <vector>

#include "proxy/phase.h"

namespace hushgate::proxy::phase {

// Every state that events can lead to from an accepted connection, in the order in which they are
// first reached.
std::vector<State> reachable_states();

// The same state on a connection's last exchange. It steps as `state` does, but ends in closing
// instead of kept; the document leaves such twins out.
State last_twin(State state);

// The whole document, Markdown with Mermaid graphs.
std::string document();

}  // namespace hushgate::proxy::phase
