#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace hushgate {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "hushgate: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace hushgate
