// What becomes of an HTTP/1 connection behind an exchange. The only function that decides whether a
// client's connection is kept, and the only one that decides whether an upstream's goes into the
// pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "http/head.h"

namespace hushgate::http {

enum class Passage : std::uint8_t {
  incomplete,  // cut, failed, or bytes of it are still to come
  complete,    // every byte of the message has passed
};

enum class Lifetime : std::uint8_t {
  serving,
  stopping,  // SIGTERM or SIGINT has come: every response says Connection: close
};

struct ClientExchange {
  Version request_version = Version::http11;
  ConnectionOptions request_connection;
  Passage request = Passage::incomplete;   // read from the client to its end (lingering included)
  Framing response_framing;                // as it is sent to the client
  Passage response = Passage::incomplete;  // sent to the client to its end
  Lifetime lifetime = Lifetime::serving;
};

// Before the response head is written, ask with both passages `complete` to learn whether it may
// promise to stay; a `no` needs Connection: close there.
bool may_keep_alive(const ClientExchange& exchange);

struct UpstreamExchange {
  ConnectionOptions request_connection;   // as we sent it
  Passage request = Passage::incomplete;  // sent to its end
  Version response_version = Version::http11;
  ConnectionOptions response_connection;
  Framing response_framing;                // as the upstream sent it
  Passage response = Passage::incomplete;  // received to its end
  std::size_t surplus_bytes = 0;           // that came behind its end
  std::optional<std::uint32_t> keep_alive_timeout_s;
};

// Keep-Alive: timeout=N below this: the connection is gone before it could be used again.
inline constexpr std::uint32_t kMinPoolTimeoutS = 2;

bool may_pool(const UpstreamExchange& exchange);

}  // namespace hushgate::http
