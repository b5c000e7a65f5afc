// The simulated backend: the interface of the real ones over a SimNetwork, in virtual time.
#pragma once

#include <cstddef>
#include <memory>

#include "io/backend.h"
#include "io/sim_network.h"

namespace hushgate::io {

struct SimBackendOptions {
  std::size_t lease_bytes = 65'536;
  // Time that a turn takes: nobody can turn forever at one instant.
  Duration turn_cost = std::chrono::microseconds(1);
  // How often a take() gives less than is there, and a write() of more than kShortWriteFloorBytes
  // is accepted in part although there is room.
  unsigned short_takes_percent = 25;
  unsigned short_writes_percent = 10;
};

inline constexpr std::size_t kShortWriteFloorBytes = 512;

// A program on `host`; several may share one, as workers do. collect() lets the network's time pass
// until something concerns this backend; at rest (no event is left in the network) it returns,
// whatever it was to wait for. A step of a script (SimNetwork::at) runs within collect(). wake()
// alone may be called from another thread.
std::unique_ptr<Backend> make_sim_backend(SimNetwork& network, SimHost& host,
                                          const SimBackendOptions& options = {});

}  // namespace hushgate::io
