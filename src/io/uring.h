// The io_uring backend: multishot accept and receive with provided buffers, batched sends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/backend.h"

namespace hushgate::io {

struct UringOptions {
  unsigned entries = 1024;  // submission queue; a power of two
  unsigned buffers = 256;   // provided receive buffers, shared by all streams; a power of two
  std::size_t buffer_bytes = 16384;  // of each, and so of the largest lease
};

// Why this kernel or container cannot run it; empty when it can.
std::string uring_unavailable();

// The ring itself is made by the thread that first uses the backend, which must then be the only
// one (wake() apart), also when the backend ends. Error.os_error: what io_uring_setup or eventfd
// failed with.
//
// Differs from epoll where the interface lets it: write() copies into a buffer of the stream's
// (kSendBufferBytes), so after close(fin) the backend must be turned until the bytes are with the
// kernel; what is left of them when the backend ends is lost.
Result<std::unique_ptr<Backend>> make_uring_backend(const UringOptions& options = {});

}  // namespace hushgate::io
