#include "stats/counters.h"

namespace hushgate::stats {

// In the order of the enum.
constexpr std::array<std::string_view, kCounters> kNames{
    "clients_accepted",
    "clients_shed",
    "accept_pauses",
    "requests",
    "exchanges_failed",
    "clients_gone",
    "swept_idle",
    "swept_head",
    "swept_receiving",
    "swept_sending",
    "swept_tunnel",
    "swept_closing",
    "upstream_silent",
    "connects",
    "connects_failed",
    "connect_retries",
    "reuses",
    "replays",
    "upstream_refusals",
    "fates_unknown",
    "pool_expired",
    "pool_closed_early",
    "pool_stray_bytes",
    "pool_shed",
    "port_waits",
    "ports_exhausted",
    "close_wait_reset",
    "spares_made",
    "spares_used",
    "links_opened",
    "link_streams",
    "links_drained",
    "pings_unanswered",
    "h2_clients",
    "h2_streams",
    "h2_floods",
    "tls_accepts_full",
    "tls_accepts_resumed",
    "tls_accepts_failed",
    "tls_connects_full",
    "tls_connects_resumed",
    "tls_connects_failed",
    "tls_floods_ended",
};
static_assert(!kNames.back().empty());

std::string_view name(Counter counter) { return kNames[static_cast<std::size_t>(counter)]; }

}  // namespace hushgate::stats
