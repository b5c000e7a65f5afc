// An upstream as one worker sees it: its addresses, its pool, what waits for a port, what is being
// closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/intrusive_list.h"
#include "config/model.h"
#include "tls/sessions.h"
#include "upstream/connection.h"
#include "upstream/early_close.h"
#include "upstream/resolver.h"
#include "upstream/services.h"

namespace hushgate::upstream {

class Shared;
class Spares;
struct PortWaitTag {};

// Stands in an endpoint's bounded queue until a port may be free.
class PortWait : public ListNode<PortWaitTag> {
 public:
  explicit PortWait(io::Runnable& target) : target(target) {}
  io::Runnable& target;
};

inline constexpr std::size_t kMaxPortWaits = 4'096;  // per endpoint; behind it 503 at once

class Endpoint {
 public:
  // Keeps a copy of `config`. `tls`: what its connections speak TLS with; null: they do not.
  Endpoint(const Services& services, config::Upstream config,
           tls::ClientContext::Pointer tls = nullptr);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();  // resets everything that is idle or ending

  // What it was made for. Of an upstream that it serves() as well, only the fields compared there
  // are the same.
  const config::Upstream& config() const { return config_; }
  // Whether `upstream`, of another configuration, is this one in all that concerns dialing and
  // pooling: everything but what is written into requests (authority, prefix, Host).
  bool serves(const config::Upstream& upstream, const tls::ClientContext::Pointer& tls) const;
  // No configuration has it any more: resets what is idle, and pools nothing from now on.
  // `at_rest` is made ready whenever no connection waits for its FIN any more.
  void retire(io::Runnable& at_rest);
  Services& services() { return services_; }
  Name& name() { return name_; }
  // What TLS resumes; null: this upstream speaks none.
  tls::Sessions* sessions() { return sessions_ ? &*sessions_ : nullptr; }

  // The most recently used idle connection on which nothing has happened, looked at this moment;
  // null if there is none.
  ConnectionPtr take_idle();
  // Connections made ahead of need; null: none are (config().spare, it is retired, or requests
  // share connections).
  Spares* spares();
  // Connections that requests share (HTTP/2); null: none are.
  Shared* shared() { return shared_.get(); }

  // Pools a connection after an exchange that may_pool(). `hint`: the upstream's Keep-Alive
  // timeout.
  void put_idle(ConnectionPtr connection, std::optional<std::uint32_t> hint_s);
  // The leg of an exchange that is complete: closed in order. put_idle() and end() do the same of
  // one.
  void finish(ConnectionPtr connection);
  // After an unsafe exchange: waits for the upstream's FIN up to closeWaitMs, then resets.
  void end(ConnectionPtr connection);
  // Abandoned or broken: reset at once; of a leg, its stream alone.
  void drop(ConnectionPtr connection);

  // Resets idle connections, oldest first, shared ones without a stream last; returns how many.
  std::size_t shed_idle(std::size_t at_most);
  // No local port is free: resets every idle connection, and of those whose FIN is awaited the
  // older half, at least one. Returns how many.
  std::size_t free_ports();
  std::size_t idle_count() const { return idle_count_; }
  std::size_t ending_count() const { return ending_count_; }

  // False: the queue is full.
  bool wait_for_port(PortWait& wait);
  void stop_waiting(PortWait& wait);
  // Whose try it is.
  bool is_next(const PortWait& wait) {
    return !port_waits_.empty() && &port_waits_.front() == &wait;
  }

  // The source address for the next connection to `destination`, or none.
  std::optional<IpAddress> next_source(const IpAddress& destination);

 private:
  friend class Connection;
  friend class Spares;

  // Events of a connection that is ours.
  void idle_event(Connection& connection);
  void ending_event(Connection& connection);
  void learn(Connection& connection);
  ConnectionPtr unlink(Connection& connection);
  void discard(Connection& connection, io::CloseHow how);
  void port_freed();

  Services services_;
  const config::Upstream config_;
  io::Runnable* at_rest_ = nullptr;  // set once retired
  Name name_;
  const tls::ClientContext::Pointer tls_;
  std::optional<tls::Sessions> sessions_;
  EarlyClose early_close_;
  IntrusiveList<Connection, ConnectionTag> idle_;  // most recently used first
  IntrusiveList<Connection, ConnectionTag> ending_;
  std::unique_ptr<Spares> spares_;
  std::unique_ptr<Shared> shared_;
  IntrusiveList<PortWait, PortWaitTag> port_waits_;
  std::size_t idle_count_ = 0;
  std::size_t ending_count_ = 0;
  std::size_t port_wait_count_ = 0;
  std::size_t next_source_ = 0;
};

}  // namespace hushgate::upstream
