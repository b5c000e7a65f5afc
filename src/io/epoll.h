// The backend that works everywhere: edge-triggered epoll.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "io/backend.h"

namespace hushgate::io {

struct EpollOptions {
  std::size_t lease_bytes = 65536;  // the one receive buffer that all streams share
};

// Error.os_error: epoll_create1 or eventfd failed. Streams and listeners must end before the
// backend does.
Result<std::unique_ptr<Backend>> make_epoll_backend(const EpollOptions& options = {});

}  // namespace hushgate::io
