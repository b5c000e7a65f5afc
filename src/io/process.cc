#include "io/process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>

namespace hushgate::io {

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

Result<void> probe_listen(const SocketAddress& address) {
  if (address.ip() != nullptr && address.ip()->port == 0) return {};
  sockaddr_storage raw{};
  const socklen_t size = to_sockaddr(address, raw);
  const Descriptor probe(::socket(raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return fail(ErrorKind::internal_fault, errno);
  const int on = 1;
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (raw.ss_family == AF_INET6) {
    ::setsockopt(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&raw), size) != 0) {
    return fail(ErrorKind::internal_fault, errno);
  }
  // With SO_REUSEADDR alone bind() is content beside a socket that is bound but does not listen;
  // listen() is not.
  if (::listen(probe.get(), 1) != 0) return fail(ErrorKind::internal_fault, errno);
  return {};
}

bool ReserveDescriptor::release() {
  const bool had = spare_.valid();
  spare_.close();
  return had;
}

bool ReserveDescriptor::refill() {
  if (!spare_.valid()) spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return spare_.valid();
}

}  // namespace hushgate::io
