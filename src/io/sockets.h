// System calls on sockets that the backends of the real network share. Errors are errnos in
// Error.os_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/address.h"
#include "base/result.h"
#include "io/backend.h"
#include "io/stream.h"

namespace hushgate::io {

// TCP_NOTSENT_LOWAT: what the kernel holds unsent for a slow peer stays short, so that write() is
// refused early and TIOCOUTQ shows what the peer takes.
inline constexpr int kNotSentLowatBytes = 128 * 1024;

// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

// A bound, listening, non-blocking socket. SO_REUSEADDR and SO_REUSEPORT are set; [::] takes IPv6
// only, so that 0.0.0.0 may be listened on beside it. What every accepted connection is to have
// (TCP_NODELAY, keep-alive, TCP_NOTSENT_LOWAT) is set here once: Linux copies it to the
// connections.
Result<Descriptor> open_listener(const SocketAddress& address, const ListenOptions& options);

// An unconnected non-blocking socket with TCP_NODELAY. What few connections come to need is set
// when they do, each of it a system call: set_keep_alive(), limit_unsent(). It is bound to
// `options.source` without a port yet (IP_BIND_ADDRESS_NO_PORT: the port is chosen by connect, so
// one source port serves many destinations).
Result<Descriptor> open_connection(const SocketAddress& address, const ConnectOptions& options);

enum class ConnectStart : std::uint8_t {
  pending,    // EINPROGRESS: becomes writable when it has ended
  connected,  // UNIX sockets always, loopback sometimes
};
// Failures that are known at once come back. A UNIX socket whose backlog is full is one of them
// (EAGAIN: the kernel tells nobody when there is room, so waiting would be polling; the caller's
// backoff is the better place).
Result<ConnectStart> start_connect(int fd, const SocketAddress& address);

// What accept(2) failed with.
enum class AcceptFailure : std::uint8_t {
  nothing_queued,  // EAGAIN
  connection,  // of that one connection only (ECONNABORTED, EPERM by a firewall...): try the next
  shortage,    // descriptors or memory
  broken,      // a mistake of ours
};
AcceptFailure classify_accept(int error);
// Does a connection wait in a listener's queue? accept(2) takes its descriptor first, so without
// any it says EMFILE of an empty queue too.
bool anyone_queued(int fd);

// The pending error, which is thereby cleared.
int take_socket_error(int fd);
void apply_keep_alive(int fd, const KeepAlive& keep_alive);
// TCP_NOTSENT_LOWAT, for a connection that has shown to need it: a write was not accepted whole.
void limit_unsent(int fd);
// Whether the kernel may choose it as a connection's source (as the range stood when first asked).
bool is_ephemeral(std::uint16_t port);
// The next close() sends a reset and drops what was not delivered.
void reset_on_close(int fd);
// TIOCOUTQ. Of TCP's FIN, which the kernel counts as one byte, nothing: say with `fin_sent` that it
// was asked for.
enum class FinSent : std::uint8_t { no, yes };
std::size_t unacknowledged_bytes(int fd, FinSent fin_sent);

// Bytes received and not read (FIONREAD).
std::size_t unread_bytes(int fd);

// Time between the last segment with data and the last segment of any kind (TCP_INFO, to the
// millisecond): behind a FIN, at most how long it came after the data. The longest Duration where
// the kernel does not say.
Duration last_segment_delay(int fd);
SocketAddress local_address(int fd);

}  // namespace hushgate::io
