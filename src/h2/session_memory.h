// The heap of nghttp2's sessions. A stream takes some twenty small blocks and gives them back a few
// turns later; the C library keeps seven of a size at hand, so with more streams than that each of
// them is a search.
#pragma once

#include <nghttp2/nghttp2.h>

namespace hushgate::h2 {

// Freed blocks of up to 1 KB are kept for the next of their size, half a megabyte of them per
// thread. AddressSanitizer knows what is kept for freed.
nghttp2_mem* session_memory();

}  // namespace hushgate::h2
