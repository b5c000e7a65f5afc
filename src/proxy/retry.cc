#include "proxy/retry.h"

#include <algorithm>

namespace hushgate::proxy {
namespace {

constexpr Ms kMaxBackoff{30'000};

// A timeout is never retried; shortage of ports or descriptors has already waited.
bool connecting_may_work_later(ErrorKind error) {
  return error == ErrorKind::dns_error || error == ErrorKind::connection_refused ||
         error == ErrorKind::connection_failed || error == ErrorKind::tls_protocol_error;
}

}  // namespace

Again try_again(const FailedAttempt& attempt) {
  if (attempt.submitted == Submitted::something) {
    const bool lost = attempt.error == ErrorKind::connection_terminated;
    return attempt.replayable && lost ? Again::at_once : Again::no;
  }
  if (attempt.submitted == Submitted::refused) {
    if (!attempt.held || attempt.rounds_failed > attempt.retries) return Again::no;
    return attempt.rounds_failed == 1 ? Again::at_once : Again::after_backoff;
  }
  if (!connecting_may_work_later(attempt.error)) return Again::no;
  return attempt.rounds_failed <= attempt.retries ? Again::after_backoff : Again::no;
}

Duration backoff(Ms base, std::uint32_t rounds_failed, std::uint64_t random) {
  const std::uint32_t doublings = std::min(rounds_failed - 1, 16U);
  const Duration ceiling = std::min<Ms>(base * (1LL << doublings), kMaxBackoff);
  const auto steps = static_cast<std::uint64_t>(ceiling.count()) + 1;
  return Duration(static_cast<Duration::rep>(random % steps));
}

}  // namespace hushgate::proxy
