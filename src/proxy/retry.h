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
  something,  // its fate at the upstream is unknown
};

enum class Again : std::uint8_t {
  no,
  at_once,        // on a new connection
  after_backoff,  // nothing was submitted: the whole round of connecting again
};

struct FailedAttempt {
  ErrorKind error;
  Submitted submitted;
  bool
      replayable;  // safe bodyless, first attempt, no byte of a response seen (phase::Replay::once)
  std::uint32_t rounds_failed;  // rounds of connecting that have failed, this one included
  std::uint32_t retries;        // upstreamRetries
};

Again try_again(const FailedAttempt& attempt);

// Full jitter: uniformly in [0, base * 2^(rounds_failed - 1)], `random` being 64 uniform bits.
// Never over 30 s.
Duration backoff(Ms base, std::uint32_t rounds_failed, std::uint64_t random);

}  // namespace hushgate::proxy
