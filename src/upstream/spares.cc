#include "upstream/spares.h"

#include <utility>

#include "upstream/dialer.h"
#include "upstream/endpoint.h"

namespace hushgate::upstream {

using stats::Counter;

// Makes one; used again and again.
class Spares::Dial final : public io::Runnable {
 public:
  explicit Dial(Spares& spares) : spares_(spares), dialer_(*this) {}

  bool busy() const { return dialer_.state() != Dialer::State::idle; }
  void start(const Limits& limits) {
    Endpoint& endpoint = spares_.endpoint_;
    dialer_.start(endpoint, limits, endpoint.services().loop.now(), Dialer::Purpose::spare);
    run();
  }
  void cancel() { dialer_.cancel(); }

  // Nobody waits for it: it is not tried again.
  void run() override {
    if (!busy()) return;
    const Time now = spares_.endpoint_.services().loop.now();
    switch (dialer_.step(now)) {
      case Dialer::State::connected: return spares_.keep(dialer_.take(now));
      case Dialer::State::failed: return dialer_.cancel();
      default: return;
    }
  }

 private:
  Spares& spares_;
  Dialer dialer_;
};

Spares::Spares(Endpoint& endpoint, std::size_t most) : endpoint_(endpoint) {
  for (std::size_t i = 0; i < most; ++i) dials_.push_back(std::make_unique<Dial>(*this));
}

Spares::~Spares() { drop_all(); }

void Spares::refill(const Limits& limits) {
  std::size_t there = count_;
  for (const auto& dial : dials_) there += dial->busy();
  for (const auto& dial : dials_) {
    if (there >= dials_.size()) return;
    if (dial->busy()) continue;
    ++there;
    dial->start(limits);
  }
}

void Spares::keep(ConnectionPtr made) {
  Services& services = endpoint_.services();
  Connection& spare = *made.release();
  spare.state_ = Connection::State::spare;
  spare.stream().set_owner(&spare);
  spare.stream().write_at_once();  // what goes out on it can hardly be repeated
  services.wheel.set(spare.deadline_, spare.opened + kSpareAge);
  services.counters.add(Counter::spares_made);
  spares_.push_front(spare);
  ++count_;
  if (spare.stream().readable()) services.loop.ready(spare);
}

ConnectionPtr Spares::take() {
  const Time now = endpoint_.services().loop.now();
  while (!spares_.empty()) {
    ConnectionPtr spare = unlink(spares_.front());
    const bool young = now < spare->opened + kSpareAge;
    if (young && spare->stream().still_quiet()) {
      endpoint_.services().counters.add(Counter::spares_used);
      endpoint_.services().wheel.set(spare->deadline_, spare->opened + kTcpKeepAliveIdle);
      return spare;
    }
    endpoint_.drop(std::move(spare));
  }
  return nullptr;
}

// Old, or something happened: only what TLS says for itself is not the end of it.
void Spares::event(Connection& connection) {
  if (!connection.deadline_.expired() && connection.stream().still_quiet()) return;
  endpoint_.drop(unlink(connection));
}

ConnectionPtr Spares::unlink(Connection& connection) {
  static_cast<ListNode<ConnectionTag>&>(connection).unlink();
  static_cast<ListNode<io::ReadyTag>&>(connection).unlink();
  connection.deadline_.clear();
  connection.state_ = Connection::State::active;
  --count_;
  return ConnectionPtr(&connection);
}

std::size_t Spares::drop_all() {
  std::size_t dropped = count_;
  for (const auto& dial : dials_) {
    dropped += dial->busy();
    dial->cancel();
  }
  while (!spares_.empty()) endpoint_.drop(unlink(spares_.front()));
  return dropped;
}

}  // namespace hushgate::upstream
