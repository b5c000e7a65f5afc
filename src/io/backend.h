// What a backend (epoll, io_uring, simulation) must do. One per worker, used by that worker's
// thread only, except wake().
#pragma once

#include <memory>
#include <optional>

#include "base/address.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/runnable.h"
#include "io/stream.h"

namespace hushgate::io {

struct ListenOptions {
  int backlog;
};

struct ConnectOptions {
  std::optional<IpAddress> source;  // bound with IP_BIND_ADDRESS_NO_PORT
};

class Backend {
 public:
  // Streams and listeners end before their backend does (asserted).
  virtual ~Backend() = default;

  // The clock that this backend lives in. Read once a turn by the loop.
  virtual Time now() = 0;
  // Submits what is pending, waits for events until `until` (kNever: without an end; not at all
  // when it lies in the past), records them in the streams' flags and appends the owners concerned
  // to `ready`, each once.
  virtual void collect(Time until, ReadyList& ready) = 0;
  // Ends a collect() that waits, now or the next one. From any thread.
  virtual void wake() = 0;
  // What was closed in this turn and can be reclaimed. Called once at the end of a turn.
  virtual void reap() = 0;
  // The last call of the thread that has used it. Nothing of it is under way in the kernel
  // afterwards, so any thread may close its streams and end it; it is not turned again.
  virtual void leave() {}

  // Binds with SO_REUSEADDR and SO_REUSEPORT, listens, and starts accepting (TCP_NODELAY,
  // keep-alive set on each). Error.os_error is the errno. The handler must outlive the listener.
  virtual Result<std::unique_ptr<Listener>> listen(const SocketAddress& address,
                                                   const ListenOptions& options,
                                                   AcceptHandler& handler) = 0;
  // A stream that connects. Failures that are known at once (EADDRNOTAVAIL, ENETUNREACH, EMFILE, a
  // UNIX socket that is missing or whose backlog is full: EAGAIN...) are returned with their errno
  // in Error.os_error; all others come as failed(). It may be connected when this returns (UNIX
  // sockets): then connecting() is false and nobody is woken.
  virtual Result<StreamPtr> connect(const SocketAddress& address, const ConnectOptions& options,
                                    Runnable* owner) = 0;

  virtual const char* name() const = 0;
};

}  // namespace hushgate::io
