// May a request be tried again? The only place that decides it, as a pure function (CONTRACT
// section 2).
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/error.h"

namespace hushgate::proxy {

// How far a failed attempt had come.
enum class Submitted : std::uint8_t {
  nothing,    // not one byte of the request was given to the kernel
  refused,    // the upstream proved that it did not process it (HTTP/2)
  something,  // its fate at the upstream is unknown
};

enum class Again : std::uint8_t {
  no,
  at_once,        // on a new connection, or a new stream
  after_backoff,  // nothing was submitted, or refused again: the whole round of connecting again
};

struct FailedAttempt {
  ErrorKind error;
  Submitted submitted;
  bool
      replayable;  // safe bodyless, first attempt, no byte of a response seen (phase::Replay::once)
  // Rounds of connecting that have failed; for `refused`, refusals. This one included.
  std::uint32_t rounds_failed;
  std::uint32_t retries;  // upstreamRetries
  bool held = false;      // `refused`: every body byte taken from the client is still here
};

Again try_again(const FailedAttempt& attempt);

// Full jitter: uniformly in [0, base * 2^(rounds_failed - 1)], `random` being 64 uniform bits.
// Never over 30 s.
Duration backoff(Ms base, std::uint32_t rounds_failed, std::uint64_t random);

}  // namespace hushgate::proxy
