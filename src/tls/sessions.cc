#include "tls/sessions.h"

#include <algorithm>
#include <utility>

namespace hushgate::tls {
namespace {

bool reusable(const SSL_SESSION* session) {
  return SSL_SESSION_get_protocol_version(session) != TLS1_3_VERSION;
}

}  // namespace

bool Sessions::expired(const SSL_SESSION* session) const {
  long life = SSL_SESSION_get_timeout(session);
  if (const unsigned long hint = SSL_SESSION_get_ticket_lifetime_hint(session); hint > 0) {
    life = std::min(life, static_cast<long>(std::min(hint, 604'800UL)));  // seven days at most
  }
  const long age = Clock::to_time_t(now_()) - SSL_SESSION_get_time(session);
  return age < 0 || age >= life;
}

void Sessions::put(SessionPtr session) {
  if (SSL_SESSION_is_resumable(session.get()) != 1) return;
  // One of TLS 1.2 replaces those before it.
  if (reusable(session.get())) sessions_.clear();
  sessions_.push_front(std::move(session));
  if (sessions_.size() > kMaxSessions) sessions_.pop_back();
}

SessionPtr Sessions::take() {
  while (!sessions_.empty() && expired(sessions_.back().get())) sessions_.pop_back();
  while (!sessions_.empty() && SSL_SESSION_is_resumable(sessions_.front().get()) != 1) {
    sessions_.pop_front();
  }
  if (sessions_.empty()) return nullptr;
  if (!reusable(sessions_.front().get())) {
    SessionPtr newest = std::move(sessions_.front());
    sessions_.pop_front();
    return newest;
  }
  SSL_SESSION* const newest = sessions_.front().get();
  SSL_SESSION_up_ref(newest);
  return SessionPtr(newest);
}

}  // namespace hushgate::tls
