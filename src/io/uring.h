// The io_uring backend: multishot accept and receive with provided buffers, batched sends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/backend.h"
#include "io/uring_kernel.h"

namespace hushgate::io {

struct UringOptions {
  unsigned entries = 256;            // submission queue; a power of two
  unsigned buffers = 8;              // receive buffers, shared by all streams; a power of two
  std::size_t buffer_bytes = 32768;  // of each, and so of the largest lease
  UringFeatures features{};          // of these, what the kernel has is used
};

// Why this kernel or container cannot run it, and what would be right: a clause without its end
// ("kernel.io_uring_disabled is 2; ..."). Empty when it can.
std::string uring_unavailable();
// The same for the errno of a failed make_uring_backend().
std::string explain_uring_error(int os_error);

// The backend may be made, given its listeners and ended by any thread; from its first collect()
// until leave() (or its end) it belongs to the thread that called it. Error.os_error: what
// io_uring_setup or eventfd failed with.
//
// Differs from epoll where the interface lets it: small writes are submitted at the next collect(),
// and up to UringBlocks::kBytes that a socket has no room for are accepted. After close(fin) the
// backend must be turned until they are with the kernel (kFinishTime at most); leave() waits for
// them a little, what is left then is lost.
Result<std::unique_ptr<Backend>> make_uring_backend(const UringOptions& options = {});

}  // namespace hushgate::io
