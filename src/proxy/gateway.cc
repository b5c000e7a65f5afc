#include "proxy/gateway.h"

#include <utility>

#include "proxy/door.h"
#include "proxy/exchange.h"
#include "proxy/h2_client.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using stats::Counter;

Gateway::Gateway(const Parts& parts)
    : loop_(parts.loop),
      log_(parts.log),
      shared_(parts.shared),
      reserve_(parts.reserve),
      wheel_(parts.loop, sweep_period(parts.setup->config.limits)),
      scratch_(loop_),
      context_({loop_, wheel_, counters_, log_, parts.names, *this, scratch_}, parts.setup,
               parts.seed),
      drained_([this] { check_stopped(); }),
      grace_over_([this] { cut(); }),
      grace_alarm_(grace_over_) {
  context_.drained = &drained_;
  context_.shared_clients = &shared_.clients;
}

Gateway::~Gateway() = default;

Result<SocketAddress> Gateway::listen(const SocketAddress& address, std::size_t index) {
  return open(std::make_unique<Door>(*this, index), address);
}

Result<SocketAddress> Gateway::listen(const SocketAddress& address, route::Site& site) {
  return open(std::make_unique<Door>(*this, site), address);
}

Result<SocketAddress> Gateway::open(std::unique_ptr<Door> door, const SocketAddress& address) {
  Result<SocketAddress> bound = door->open(address);
  if (bound) doors_.push_back(std::move(door));
  return bound;
}

// Idle pooled connections first, then clients that never sent anything, then kept ones, oldest
// first.
bool Gateway::make_room() {
  upstream::Endpoint* most = nullptr;
  for (const auto& endpoint : context_.generations.current().endpoints) {
    if (most == nullptr || endpoint->idle_count() > most->idle_count()) most = endpoint.get();
  }
  if (most != nullptr && most->shed_idle(1) > 0) return true;
  for (const auto& endpoint : context_.generations.current().endpoints) {
    if (endpoint->shed_idle(1) > 0) return true;  // of one that has spares
  }
  return shed_oldest_client();
}

bool Gateway::shed_oldest_client() {
  for (const Standing standing : {Standing::fresh, Standing::kept}) {
    SessionList& list = context_.list(standing);
    Session* session = list.empty() ? nullptr : &list.front();
    for (int looks = 0; session != nullptr && looks < kMaxShedLooks; ++looks) {
      if (session->may_be_shed()) {
        session->shed();
        return true;
      }
      session = list.next(*session);
    }
  }
  return shed_idle_h2_client();
}

bool Gateway::shed_idle_h2_client() {
  H2ClientList& list = context_.h2_idle;
  H2Client* client = list.empty() ? nullptr : &list.front();
  while (client != nullptr && !client->may_be_shed()) client = list.next(*client);
  if (client != nullptr) client->shed();
  return client != nullptr;
}

// Whatever `act` does to the one that it is called with, the ones behind it are met.
template <typename Act>
void Gateway::for_each_h2_client(Act act) {
  for (H2ClientList* list : {&context_.h2_clients, &context_.h2_idle}) {
    for (H2Client* client = list->empty() ? nullptr : &list->front(); client != nullptr;) {
      H2Client* const after = list->next(*client);
      act(*client);
      client = after;
    }
  }
}

void Gateway::adopt(SetupPtr setup) {
  if (context_.stage == Stage::stopping) return;
  context_.generations.adopt(std::move(setup));
  for_each_h2_client([](H2Client& client) { client.adopt(); });
  for (SessionList& list : context_.sessions) {
    for (Session* session = list.empty() ? nullptr : &list.front(); session != nullptr;) {
      session->adopt();
      session = list.next(*session);
    }
  }
}

void Gateway::stop(std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  for (const auto& door : doors_) door->close();
  context_.stage = Stage::stopping;
  const Time idle_due = loop_.now() + kStopKeptGrace;
  for (SessionList& list : context_.sessions) {
    for (Session* session = list.empty() ? nullptr : &list.front(); session != nullptr;) {
      Session* const after = list.next(*session);
      session->stop(idle_due);
      session = after;
    }
  }
  for_each_h2_client([idle_due](H2Client& client) { client.stop(idle_due); });
  loop_.set_alarm(grace_alarm_, loop_.now() + context_.limits().grace);
  loop_.ready(drained_);
}

void Gateway::cut() {
  for_each_h2_client([](H2Client& client) { client.cut(); });
  for (SessionList& list : context_.sessions) {
    for (Session* session = list.empty() ? nullptr : &list.front(); session != nullptr;) {
      Session* const after = list.next(*session);
      session->cut();
      session = after;
    }
  }
}

void Gateway::tell_waiting() {
  SessionList& busy = context_.list(Standing::busy);
  Session* session = busy.empty() ? nullptr : &busy.front();
  for (int told = 0; session != nullptr && told < kMaxTold; ++told) {
    LogLine line = log_.line(loop_.now(), LogLevel::info, "waiting_for");
    session->describe(line);
    session = busy.next(*session);
  }
}

// What TLS counts for itself is brought in when somebody looks.
const stats::Counters& Gateway::counters() {
  const tls::Counts& tls = scratch_.counts();
  counters_.set(Counter::tls_accepts_full, tls.accepted_full);
  counters_.set(Counter::tls_accepts_resumed, tls.accepted_resumed);
  counters_.set(Counter::tls_accepts_failed, tls.accept_failed);
  counters_.set(Counter::tls_connects_full, tls.connected_full);
  counters_.set(Counter::tls_connects_resumed, tls.connected_resumed);
  counters_.set(Counter::tls_connects_failed, tls.connect_failed);
  counters_.set(Counter::tls_floods_ended, tls.renegotiations_refused + tls.key_update_floods);
  return counters_;
}

void Gateway::check_stopped() {
  if (!stopped_ || context_.session_count > 0) return;
  grace_alarm_.cancel();
  std::exchange(stopped_, nullptr)();
}

}  // namespace hushgate::proxy
