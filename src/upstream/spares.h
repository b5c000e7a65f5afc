// Connections to an endpoint that are made, TLS and all, before a request needs one: what an unsafe
// request pays for a connection of its own, it does not wait for (docs/decisions/0009).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/intrusive_list.h"
#include "base/limits.h"
#include "io/runnable.h"
#include "upstream/connection.h"

namespace hushgate::upstream {

class Endpoint;

// One is used at this age at most, or closed: what nobody has used for longer is not new.
inline constexpr Ms kSpareAge{2'000};

// They are made when one is needed, ahead of the next such need: who asks for none for kSpareAge
// has none open.
class Spares {
 public:
  // `most`: how many at a time, those under way included.
  Spares(Endpoint& endpoint, std::size_t most);
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;
  ~Spares();

  // One that has carried no byte of any request, on which nothing has happened, looked at this
  // moment, with the most time left; null if there is none.
  ConnectionPtr take();
  // A connection was needed, whether take() had one or not.
  void refill(const Limits& limits);
  // Resets all of them and those under way; returns how many there were.
  std::size_t drop_all();
  std::size_t count() const { return count_; }

 private:
  friend class Connection;
  class Dial;

  void keep(ConnectionPtr connection);
  void event(Connection& connection);
  ConnectionPtr unlink(Connection& connection);

  Endpoint& endpoint_;
  std::vector<std::unique_ptr<Dial>> dials_;
  IntrusiveList<Connection, ConnectionTag> spares_;  // newest first
  std::size_t count_ = 0;
};

}  // namespace hushgate::upstream
