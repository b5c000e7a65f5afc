// The process's memory as a whole.
#pragma once

namespace hushgate::io {

// Gives back what starting, or reading the configuration again, needed and serving does not: free
// heap, and the pages of programs' text and constants, which are clean and come back from the page
// cache where they are used again (a few dozen minor faults). From any thread.
void trim_memory();

}  // namespace hushgate::io
