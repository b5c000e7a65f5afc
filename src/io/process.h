// What concerns the process's descriptors as a whole.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/result.h"
#include "io/sockets.h"

namespace hushgate::io {

// Raises the soft limit of open descriptors to the hard one and returns what is in force.
std::uint64_t raise_descriptor_limit();

// Fails with EADDRINUSE where another process listens. Our listeners share their port among the
// workers (SO_REUSEPORT), so that they themselves would not notice it. Port 0 is always free.
Result<void> probe_listen(const SocketAddress& address);

// A descriptor kept back for the moment in which there is no other.
class ReserveDescriptor {
 public:
  ReserveDescriptor() { refill(); }
  bool release();  // false if there was none
  bool refill();   // false if there still is none

 private:
  Descriptor spare_;
};

}  // namespace hushgate::io
