#include "io/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/limits.h"

namespace hushgate::io {
namespace {

int set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value);
}

int seconds(Ms time) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(time).count();
  return whole < 1 ? 1 : static_cast<int>(whole);
}

int family_of(const SocketAddress& address) {
  const IpPort* ip = address.ip();
  if (ip == nullptr) return AF_UNIX;
  return ip->ip.family() == IpFamily::v4 ? AF_INET : AF_INET6;
}

bool is_tcp(int fd) {
  int domain = 0;
  socklen_t length = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain != AF_UNIX;
}

// Hints: a kernel that refuses one of them still gives a usable connection.
void apply_accepted_options(int listener) {
  set_option(listener, IPPROTO_TCP, TCP_NODELAY, 1);
  limit_unsent(listener);
  apply_keep_alive(listener, kTcpKeepAlive);
}

struct PortRange {
  std::uint16_t first = 1;
  std::uint16_t last = 65'535;
};

PortRange read_ephemeral_ports() {
  const Descriptor file(::open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t got = file.valid() ? ::read(file.get(), text.data(), text.size()) : -1;
  if (got <= 0) return {};
  PortRange range;
  const char* const end = text.data() + got;
  const auto [gap, no_first] = std::from_chars(text.data(), end, range.first);
  if (no_first != std::errc{} || gap == end) return {};
  if (std::from_chars(gap + 1, end, range.last).ec != std::errc{}) return {};
  return range;
}

Result<Descriptor> open_socket(const SocketAddress& address, ErrorKind kind) {
  Descriptor fd(::socket(family_of(address), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail(kind, errno);
  return fd;
}

}  // namespace

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Descriptor> open_listener(const SocketAddress& address, const ListenOptions& options) {
  Result<Descriptor> fd = open_socket(address, ErrorKind::internal_fault);
  if (!fd) return fd;
  if (address.ip() != nullptr) {
    if (set_option(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
        set_option(fd->get(), SOL_SOCKET, SO_REUSEPORT, 1) != 0) {
      return fail(ErrorKind::internal_fault, errno);
    }
    if (family_of(address) == AF_INET6) set_option(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    apply_accepted_options(fd->get());
  }
  sockaddr_storage storage;
  const socklen_t length = to_sockaddr(address, storage);
  if (::bind(fd->get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
      ::listen(fd->get(), options.backlog) != 0) {
    return fail(ErrorKind::internal_fault, errno);
  }
  return fd;
}

Result<Descriptor> open_connection(const SocketAddress& address, const ConnectOptions& options) {
  Result<Descriptor> fd = open_socket(address, ErrorKind::connection_failed);
  if (!fd || address.ip() == nullptr) return fd;
  set_option(fd->get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (!options.source) return fd;
  set_option(fd->get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  sockaddr_storage storage;
  const socklen_t length = to_sockaddr(IpPort{*options.source}, storage);
  if (::bind(fd->get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
    return fail(ErrorKind::connection_failed, errno);
  }
  return fd;
}

Result<ConnectStart> start_connect(int fd, const SocketAddress& address) {
  sockaddr_storage storage;
  const socklen_t length = to_sockaddr(address, storage);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0) {
    return ConnectStart::connected;
  }
  // EINTR leaves the attempt running, as EINPROGRESS does.
  if (errno == EINPROGRESS || errno == EINTR) return ConnectStart::pending;
  const auto kind =
      errno == ECONNREFUSED ? ErrorKind::connection_refused : ErrorKind::connection_failed;
  return fail(kind, errno);
}

AcceptFailure classify_accept(int error) {
  switch (error) {
    case EAGAIN: return AcceptFailure::nothing_queued;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return AcceptFailure::shortage;
    case EBADF:
    case EFAULT:
    case EINVAL:
    case ENOTSOCK: return AcceptFailure::broken;
    default: return AcceptFailure::connection;
  }
}

bool anyone_queued(int fd) {
  pollfd look{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) > 0;
}

int take_socket_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

void apply_keep_alive(int fd, const KeepAlive& keep_alive) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(keep_alive.idle));
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(keep_alive.interval));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, keep_alive.probes);
}

void limit_unsent(int fd) { set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kNotSentLowatBytes); }

bool is_ephemeral(std::uint16_t port) {
  static const PortRange range = read_ephemeral_ports();
  return port >= range.first && port <= range.last;
}

void reset_on_close(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

std::size_t unread_bytes(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

Duration last_segment_delay(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return Duration::max();
  if (info.tcpi_last_data_recv < info.tcpi_last_ack_recv) return Duration::zero();
  return Ms(info.tcpi_last_data_recv - info.tcpi_last_ack_recv);
}

std::size_t unacknowledged_bytes(int fd, FinSent fin_sent) {
  int queued = 0;
  if (::ioctl(fd, TIOCOUTQ, &queued) != 0 || queued <= 0) return 0;
  // The FIN is acknowledged last: as long as anything is outstanding, it is.
  if (fin_sent == FinSent::yes && is_tcp(fd)) --queued;
  return static_cast<std::size_t>(queued);
}

SocketAddress local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  if (const auto ip = from_sockaddr(reinterpret_cast<const sockaddr&>(storage))) return *ip;
  sockaddr_un un{};
  std::memcpy(&un, &storage, sizeof un);
  if (storage.ss_family != AF_UNIX || un.sun_path[0] == '\0') return {};
  return SocketAddress::unix_socket(un.sun_path);
}

}  // namespace hushgate::io
