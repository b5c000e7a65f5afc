// Every bound of CONTRACT section 3 with its default, and the bounds that are fixed. One record of
// settings per configuration; a route may carry its own values of a few.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace hushgate {

// `limits.*` of the configuration. Durations are positive; where 0 means "off" the comment says so.
struct Limits {
  Ms idle_timeout{60'000};     // fresh and kept connections; part of the head's budget
  Ms request_timeout{60'000};  // a request's head and body, from the head's first byte
  std::uint64_t min_upload_bytes_per_second =
      8'192;                // lengthens request_timeout by amount; 0 = off
  Ms send_timeout{60'000};  // a client must take min_send_bytes in each such window
  std::uint64_t min_send_bytes = 16'384;
  std::uint64_t linger_bytes = 262'144;  // unread bytes discarded in `closing`
  Ms upstream_timeout{600'000};          // an upstream's silence while it owes something
  Ms connect_timeout{5'000};             // per address
  Ms connect_total{15'000};              // all of connecting, retries apart
  std::uint32_t upstream_retries = 2;
  Ms retry_backoff{250};
  std::uint32_t max_request_line_bytes = 16'384;
  std::uint32_t max_header_bytes = 65'536;    // a head as a whole; trailers count in
  std::uint32_t max_headers = 128;            // fields of a head
  std::uint64_t max_body_bytes = 0;           // 0 = off
  std::uint32_t max_buffered_bytes = 65'536;  // per direction of an exchange
  std::uint32_t max_streams = 128;            // open at a time on a client's HTTP/2 connection
  std::uint32_t max_connections = 0;          // client connections; 0 = 0.4 x the descriptor limit
  std::uint32_t backlog = 4'096;
  Ms grace{30'000};
  Ms tunnel_idle_timeout{0};  // 0 = off

  friend bool operator==(const Limits&, const Limits&) = default;
};

inline constexpr Ms kHeadBudgetCeiling{60'000};  // `head` never gets more, whatever is configured
inline constexpr std::size_t kMaxChunkLineBytes = 256;  // chunk size, extensions and CRLF
inline constexpr int kMaxInterimResponses = 32;         // of one exchange
inline constexpr Ms kLingerSilence{2'000};  // `closing`: without a byte, once all is acknowledged
inline constexpr Ms kLingerTotal{30'000};   // `closing`: in all
inline constexpr Ms kLingerAfterTimeout{2'000};  // `closing` after a 408: in all
inline constexpr Ms kHalfCloseWindow{100};       // a FIN so soon after the request is a half-close
inline constexpr Ms kHalfCloseProbe{5'000};      // TCP keep-alive probes of a half-closed client
inline constexpr Ms kAddressRaceDelay{250};      // RFC 8305 section 5
inline constexpr Ms kLogDelay{20};               // a line of the log waits so long for others
inline constexpr Ms kAcceptPause{100};           // accepting stands still under shortage
inline constexpr Ms kStopKeptGrace{1'000};  // kept connections stay so long after a stop begins
inline constexpr Ms kTcpKeepAliveIdle{45'000};
inline constexpr Ms kTcpKeepAliveInterval{15'000};
inline constexpr int kTcpKeepAliveProbes = 4;

// The sweep's period (CONTRACT section 1).
constexpr Ms sweep_period(const Limits& limits) {
  const Ms shorter =
      limits.idle_timeout < limits.request_timeout ? limits.idle_timeout : limits.request_timeout;
  const Ms quarter = shorter / 4;
  const Ms floor = quarter < Ms{25} ? Ms{25} : quarter;
  return floor < Ms{1'000} ? floor : Ms{1'000};
}

}  // namespace hushgate
