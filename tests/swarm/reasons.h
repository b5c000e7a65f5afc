// What may be a reason for ending something, told from the facts.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "tests/swarm/facts.h"

namespace hushgate::swarm {

// The upstream of the call's last try has failed, or has sent FIN with something left to say.
bool upstream_is_lost(const Call& call, const Facts& facts);
// Since the upstream owed something and it, or our request, moved. Once it answers, only what it
// says counts.
Duration upstream_silence(const Call& call, Time now);
// What it said may have been no answer, or not one to this request.
bool upstream_said_nonsense(const Call& call);
bool is_too_large(const Call& call);
// Less was acknowledged in the last window than is asked for; `since`: when bytes waited first.
bool took_too_little(const Link& link, Time since, const Limits& limits, Time now, Duration slack);

}  // namespace hushgate::swarm
