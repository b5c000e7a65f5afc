// What a worker counts. One writer (the worker), any reader; nothing is shared between workers on
// the data path.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hushgate::stats {

enum class Counter : std::uint8_t {
  clients_accepted,
  clients_shed,      // closed by us under shortage without having been served (503 or silently)
  accept_pauses,     // accepting stood still for want of room
  requests,          // heads that were complete and became an exchange
  exchanges_failed,  // ended with an error of hushgate's own or cut
  clients_gone,      // cancelled by the client
  swept_idle,        // fresh or kept: idleTimeoutMs
  swept_head,        // 408 in a head
  swept_receiving,   // 408 or close in a body
  swept_sending,     // cut: took less than minSendBytes in sendTimeoutMs
  swept_tunnel,
  swept_closing,      // the linger's budget ran out
  upstream_silent,    // upstreamTimeoutMs ran out
  connects,           // upstream connections opened
  connects_failed,    // attempts at one address that failed
  connect_retries,    // whole rounds repeated after a backoff
  reuses,             // requests that went out on a pooled connection
  replays,            // safe bodyless requests sent again
  upstream_refusals,  // attempts that an upstream proved unprocessed (HTTP/2)
  fates_unknown,      // unsafe requests lost after something of them was submitted
  pool_expired,       // closed by us at their idle timeout
  pool_closed_early,  // closed by the upstream while idle
  pool_stray_bytes,   // thrown away because bytes came while idle
  pool_shed,          // closed by us to make room
  port_waits,         // EADDRNOTAVAIL everywhere: waited for a port
  ports_exhausted,    // ... in vain: 503
  close_wait_reset,   // an upstream did not close after an unsafe exchange: reset by us
  spares_made,        // connections to an upstream made ahead of need
  spares_used,
  links_opened,      // connections to an upstream that requests share (HTTP/2)
  link_streams,      // streams on them, one for each attempt
  links_drained,     // an upstream has ended one in order (GOAWAY)
  pings_unanswered,  // one that had been silent did not answer, and gets no streams
  h2_clients,        // connections of clients that spoke HTTP/2
  h2_streams,        // requests on them
  h2_floods,         // such connections that were ended for one
  tls_accepts_full,  // handshakes with clients
  tls_accepts_resumed,
  tls_accepts_failed,  // ended by the client or its bytes
  tls_connects_full,   // handshakes with upstreams
  tls_connects_resumed,
  tls_connects_failed,
  tls_floods_ended,  // renegotiation asked for, or key updates without data
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::tls_floods_ended) + 1;

std::string_view name(Counter counter);

class Counters {
 public:
  void add(Counter counter, std::uint64_t n = 1) {
    std::atomic<std::uint64_t>& value = values_[static_cast<std::size_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(Counter counter, std::uint64_t n) {
    values_[static_cast<std::size_t>(counter)].store(n, std::memory_order_relaxed);
  }
  std::uint64_t get(Counter counter) const {
    return values_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCounters> values_{};
};

}  // namespace hushgate::stats
