#include "proxy/gateway.h"

#include <utility>

#include "proxy/door.h"
#include "proxy/exchange.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using stats::Counter;

class Gateway::RouteSite final : public route::Site {
 public:
  explicit RouteSite(const Setup& setup) : table_(setup.table) {}

  route::Verdict decide(const http::RequestHead& head) override {
    const std::string_view target = behind_authority(head);
    const Result<route::Decision> decision = table_.decide(head.method_text, target);
    if (!decision) return decision.error().kind;
    return *decision;
  }

 private:
  // The path and query as they were sent; "" where an absolute-form has neither.
  static std::string_view behind_authority(const http::RequestHead& head) {
    if (head.form == http::TargetForm::asterisk) return "*";
    if (head.form != http::TargetForm::absolute) return head.target;
    const char* end = head.authority.data() + head.authority.size();
    return head.target.substr(static_cast<std::size_t>(end - head.target.data()));
  }

  const route::Table& table_;
};

Gateway::Gateway(const Parts& parts)
    : loop_(parts.loop),
      log_(parts.log),
      shared_(parts.shared),
      reserve_(parts.reserve),
      wheel_(parts.loop, sweep_period(parts.setup.config.limits)),
      context_(parts.loop, wheel_, counters_, parts.log, parts.setup, parts.seed),
      routes_(std::make_unique<RouteSite>(parts.setup)),
      drained_([this] { check_stopped(); }),
      grace_over_([this] { cut(); }),
      grace_alarm_(grace_over_) {
  const upstream::Services services{
      loop_, wheel_, counters_, log_, parts.names, parts.setup.config.limits, *this};
  for (const config::Upstream& upstream : parts.setup.config.upstreams) {
    context_.endpoints.push_back(std::make_unique<upstream::Endpoint>(services, upstream));
  }
  context_.drained = &drained_;
  context_.shared_clients = &shared_.clients;
}

Gateway::~Gateway() = default;

Result<SocketAddress> Gateway::listen(const SocketAddress& address, route::Site* site) {
  auto door = std::make_unique<Door>(*this, site != nullptr ? *site : *routes_);
  Result<SocketAddress> bound = door->open(address);
  if (bound) doors_.push_back(std::move(door));
  return bound;
}

// Idle pooled connections first, then clients that never sent anything, then kept ones, oldest
// first.
bool Gateway::make_room() {
  upstream::Endpoint* most = nullptr;
  for (const auto& endpoint : context_.endpoints) {
    if (most == nullptr || endpoint->idle_count() > most->idle_count()) most = endpoint.get();
  }
  if (most != nullptr && most->shed_idle(1) > 0) return true;
  return shed_oldest_client();
}

bool Gateway::shed_oldest_client() {
  for (const Standing standing : {Standing::fresh, Standing::kept}) {
    SessionList& list = context_.list(standing);
    Session* session = list.empty() ? nullptr : &list.front();
    while (session != nullptr && !session->may_be_shed()) session = list.next(*session);
    if (session == nullptr) continue;
    session->shed();
    return true;
  }
  return false;
}

void Gateway::stop(std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  for (const auto& door : doors_) door->close();
  context_.stage = Stage::stopping;
  context_.stop_idle_due = loop_.now() + kStopKeptGrace;
  for (SessionList& list : context_.sessions) {
    for (Session* session = list.empty() ? nullptr : &list.front(); session != nullptr;) {
      Session* const after = list.next(*session);
      session->stop(context_.stop_idle_due);
      session = after;
    }
  }
  loop_.set_alarm(grace_alarm_, loop_.now() + context_.limits().grace);
  loop_.ready(drained_);
}

void Gateway::cut() {
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

void Gateway::check_stopped() {
  if (!stopped_ || context_.session_count > 0) return;
  grace_alarm_.cancel();
  std::exchange(stopped_, nullptr)();
}

}  // namespace hushgate::proxy
