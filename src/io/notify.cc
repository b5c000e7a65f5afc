#include "io/notify.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/address.h"
#include "io/sockets.h"

namespace hushgate::io {

Result<void> send_notification(std::string_view socket_name, std::string_view message) {
  if (socket_name.size() < 2 || (socket_name.front() != '/' && socket_name.front() != '@')) {
    return fail(ErrorKind::internal_fault, EAFNOSUPPORT);
  }
  if (socket_name.size() > SocketAddress::kMaxUnixPathBytes) {
    return fail(ErrorKind::internal_fault, ENAMETOOLONG);
  }
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, socket_name.data(), socket_name.size());
  std::size_t size = offsetof(sockaddr_un, sun_path) + socket_name.size();
  if (socket_name.front() == '@') {
    to.sun_path[0] = '\0';  // an abstract name ends where the address does
  } else {
    ++size;  // a path ends with a NUL
  }
  // It blocks for a while: a READY=1 that a busy manager's full queue refused would be a failed
  // start.
  const Descriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail(ErrorKind::internal_fault, errno);
  const timeval patience{.tv_sec = kNotifyPatience.count(), .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(size)) < 0) {
    return fail(ErrorKind::internal_fault, errno);
  }
  return {};
}

}  // namespace hushgate::io
