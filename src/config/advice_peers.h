// What servers and load balancers do with idle connections unless they are told otherwise, so that
// advice can name those that somebody may have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace hushgate::config {

struct KnownPeer {
  std::string_view name;
  Ms idle;  // it closes a connection that was idle for so long
};

// HTTP servers, by their keep-alive timeout, the shortest first. (Go's net/http has none.)
std::span<const KnownPeer> known_servers();

// Load balancers that keep connections to their servers and send requests on them, the shortest
// first. Those that only pass connections on (AWS NLB, 350 s; Azure, 240 s) have no part in it:
// our keep-alive probes outpace them.
std::span<const KnownPeer> known_load_balancers();

// "gunicorn (2 s), Node (5 s) and nginx (75 s)".
std::string listed(std::span<const KnownPeer> peers);

// The longest idle time of a pooled connection that stays clear of a server that closes after
// `server_idle`: a fifth less (at least 50 ms, at most 1 s), in round numbers. 0: it closes too
// soon for any.
Ms safe_pool_idle(Ms server_idle);

// Whether a pool that keeps connections for `pool_idle` will now and then hold one that a server
// has just closed after `server_idle`: less than a tenth (at least 50 ms, at most 0.5 s) apart.
bool pool_races(Ms pool_idle, Ms server_idle);

}  // namespace hushgate::config
