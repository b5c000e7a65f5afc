// What no key can say alone: what is missing, what is there twice, what contradicts.
#pragma once

#include "config/draft.h"

namespace hushgate::config {

// Completes what follows from the rest (a single upstream without routes gets the route "/"), and
// adds the faults and warnings to the draft.
void complete_and_validate(Draft& draft);

}  // namespace hushgate::config
