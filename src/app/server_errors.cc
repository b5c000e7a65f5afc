#include "app/server_errors.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace hushgate::app {
namespace {

// What to do about a lack that has nothing to do with the address. Empty: it is none of these.
std::string shortage(int os_error, std::uint64_t descriptor_limit) {
  switch (os_error) {
    case EMFILE:
      return fmt::format(
          "this process may have {} descriptors open (RLIMIT_NOFILE): raise that (ulimit -n, "
          "LimitNOFILE= of systemd), or lower workers or the number of listeners",
          descriptor_limit);
    case ENFILE: return "the machine has no descriptors left: raise fs.file-max";
    case ENOMEM:
    case ENOBUFS: return "the kernel has no memory left for it";
    default: return {};
  }
}

std::string about_address(const SocketAddress& address, std::string_view key, int os_error) {
  const IpPort* ip = address.ip();
  const unsigned port = ip != nullptr ? ip->port : 0;
  switch (os_error) {
    case EADDRINUSE:
      return fmt::format(
          "another process listens there (`ss -ltnp 'sport = :{}'` tells which): stop it, or give "
          "{} another port",
          port, key);
    case EACCES:
      return fmt::format(
          "ports below 1024 (net.ipv4.ip_unprivileged_port_start) need CAP_NET_BIND_SERVICE: give "
          "it to hushgate (AmbientCapabilities= of systemd), or give {} a higher port",
          key);
    case EADDRNOTAVAIL:
      return fmt::format(
          "this machine has no such address (`ip address` lists them): give {} one of those, or "
          "\":{}\" for all of them",
          key, port);
    case EAFNOSUPPORT: return fmt::format("this machine has no IPv6: give {} an IPv4 address", key);
    default: return fmt::format("see {}", key);
  }
}

}  // namespace

std::string cannot_listen(const SocketAddress& address, std::string_view key, int os_error,
                          std::uint64_t descriptor_limit) {
  std::string what = shortage(os_error, descriptor_limit);
  if (what.empty()) what = about_address(address, key, os_error);
  return fmt::format("cannot listen on {} ({}): {}; {}", address.to_string(), key,
                     std::strerror(os_error), what);
}

std::string cannot_make_worker(unsigned number, unsigned count, int os_error,
                               std::uint64_t descriptor_limit) {
  const std::string what = shortage(os_error, descriptor_limit);
  return fmt::format("cannot make the event loop of worker {} of {}: {}{}{}", number, count,
                     std::strerror(os_error), what.empty() ? "" : "; ", what);
}

std::string cannot_start_thread(int os_error) {
  return fmt::format(
      "cannot start a thread: {}; raise what bounds them (ulimit -u, TasksMax= of systemd, "
      "pids.max "
      "of the container), or lower workers",
      std::strerror(os_error));
}

}  // namespace hushgate::app
