// `hushgate check --probe`: what the upstreams do. Each is resolved, connected to, asked once with
// HEAD (which acts on nothing), over HTTP/2 where requests would be, and then watched on the idle
// connection until it closes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "config/model.h"
#include "io/loop.h"
#include "proxy/tls_setup.h"
#include "upstream/resolver.h"

namespace hushgate::app {

enum class ProbeEnd : std::uint8_t {
  unresolved,   // `error`: dns_error, or dns_timeout after limits.connectTotalMs
  unreachable,  // every one of `tried` failed, or none accepted within limits.connectTimeoutMs
  tls_failed,   // the TLS handshake did not end well within limits.connectTimeoutMs; `why`
  silent,       // no whole response head within the probe's wait
  hung_up,      // the connection ended before a whole response head; `error` has the errno, if any
  not_http,     // what came is no HTTP response, or with `http2` no HTTP/2
  closes_each,  // it answered, and said that it closes the connection behind it
  spoke,        // bytes came behind its answer to HEAD, which has no body
  closed_idle,  // it answered, and closed the idle connection (HTTP/2: or said GOAWAY) `idle` later
  kept_open,    // it answered, and the connection was still open after the probe's wait
};

struct ProbedAddress {
  SocketAddress address;
  std::optional<int> outcome{};  // errno, 0: connected; nothing: no answer yet
};

// What is known about an upstream. Fields are valid as far as the probe came.
struct Probed {
  ProbeEnd end = ProbeEnd::unresolved;
  Error error{};
  std::vector<ProbedAddress> tried{};
  SocketAddress address{};  // the one that accepted first, and was asked
  Duration connect_time{};
  Duration tls_time{};     // of the handshake behind it; zero: no TLS
  std::string why{};       // of tls_failed
  bool http2 = false;      // it was asked so
  Duration answer_time{};  // from the request to the end of the response's head
  std::uint16_t status = 0;
  std::optional<std::uint32_t> keep_alive_s{};  // its Keep-Alive: timeout=N
  Duration idle{};                              // from the response to its close
};

struct ProbeOptions {
  Ms wait{10'000};  // for the answer, and then again for the close of the idle connection
  // Upstreams probed at the same time; each may hold upstream::kMaxAddresses connections.
  std::size_t at_once = config::kMaxUpstreams;
};

inline constexpr Ms kMaxProbeWait{3'600'000};

// As many as the descriptor limit has room for; at least 1.
std::size_t probes_at_once(std::uint64_t descriptor_limit);

// Turns the loop until every upstream has been probed; the results in their order. The loop is used
// for nothing else.
std::vector<Probed> probe(io::Loop& loop, upstream::NameSource& names, const config::Config& config,
                          const proxy::TlsSetup& tls, const ProbeOptions& options);

}  // namespace hushgate::app
