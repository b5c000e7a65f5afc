// Sessions that an upstream has given us, to be resumed: of one worker and one ClientContext (a
// session vouches for what was verified when it was made). Never with early data.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>

#include "tls/client_context.h"
#include "tls/openssl.h"

namespace hushgate::tls {

// Of TLS 1.3 (a ticket each), newest first; older ones are dropped. A burst of new connections
// beyond them makes full handshakes.
inline constexpr std::size_t kMaxSessions = 64;

// Its loop's thread only; outlives the streams that were given it.
class Sessions {
 public:
  using Clock = std::chrono::system_clock;  // tickets carry wall time

  explicit Sessions(ClientContext::Pointer context,
                    std::function<Clock::time_point()> now = Clock::now)
      : context_(std::move(context)), now_(std::move(now)) {}
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  const ClientContext& context() const { return *context_; }
  std::size_t size() const { return sessions_.size(); }

  void put(SessionPtr session);
  // The newest that is still good, or null. One of TLS 1.3 is taken out: a ticket is used once (RFC
  // 8446 appendix C.4). One of TLS 1.2 may be used again and stays.
  SessionPtr take();

 private:
  bool expired(const SSL_SESSION* session) const;

  const ClientContext::Pointer context_;
  const std::function<Clock::time_point()> now_;
  std::deque<SessionPtr> sessions_;
};

}  // namespace hushgate::tls
