// One connection to an upstream, from its connect to its close; or the leg of an exchange on one
// that is shared (HTTP/2), which looks the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/intrusive_list.h"
#include "base/recycled.h"
#include "io/runnable.h"
#include "io/stream.h"
#include "io/wheel.h"

namespace hushgate::upstream {

class Endpoint;
class Spares;
struct ConnectionTag {};

// An unsafe request has a connection of its own: their memory is used again.
inline constexpr std::size_t kMaxSpareConnections = 256;

// Its stream's owner is whoever's turn it is: an exchange while `active`, the connection itself
// otherwise.
class Connection final : public io::Runnable,
                         public ListNode<ConnectionTag>,
                         public Recycled<Connection, kMaxSpareConnections> {
 public:
  enum class State : std::uint8_t {
    active,  // an exchange holds it; `deadline` is when it comes to need keep-alive probes
    idle,    // pooled; `deadline` is its idle timeout
    ending,  // after an unsafe exchange: the upstream's FIN is awaited; `deadline` is closeWaitMs
    spare,   // made ahead of need, never used; `deadline` is kSpareAge
  };

  // Opened now, `active`.
  static std::unique_ptr<Connection> begin(Endpoint& endpoint, io::StreamPtr stream, Time now);
  // A leg (h2/leg.h), `active` until its end, on a connection that was opened at `opened`.
  static std::unique_ptr<Connection> share(Endpoint& endpoint, io::StreamPtr leg, Time opened);
  Connection(Endpoint& endpoint, io::StreamPtr stream, Time now)  // see begin()
      : opened(now), endpoint_(endpoint), stream_(std::move(stream)), deadline_(*this) {}

  io::Stream& stream() { return *stream_; }
  Endpoint& endpoint() { return endpoint_; }
  // The stream is a leg: it is never pooled, and its end is not the connection's.
  bool multiplexed() const { return multiplexed_; }
  // The upstream has proved that it did not process the request (RFC 9113 section 8.7).
  bool unprocessed() const;
  // All that was written behind the request's head, to be sent again; nothing where it is not all
  // held.
  std::optional<std::string> take_back();

  // Of the request it carries, from 1. Of a leg: on the shared connection.
  std::uint32_t ordinal = 0;
  Time opened;
  Time idle_since{};  // valid while idle, and after

 private:
  friend class Endpoint;
  class Spares;
  friend class ::hushgate::upstream::Spares;

  void run() override;
  void probe();

  Endpoint& endpoint_;
  io::StreamPtr stream_;
  io::Deadline deadline_;
  bool probed_ =
      false;  // by TCP keep-alive: four system calls, which most connections do not live to need
  bool multiplexed_ = false;
  State state_ = State::active;
};

using ConnectionPtr = std::unique_ptr<Connection>;

}  // namespace hushgate::upstream
