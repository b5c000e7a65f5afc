// Datagrams to a service manager (sd_notify(3)), without its library.
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace hushgate::io {

// How long a manager that does not read may hold up the sender.
inline constexpr std::chrono::seconds kNotifyPatience{1};

// Sends `message` as one datagram to the UNIX socket `socket_name`: a path that begins with '/', or
// an abstract name behind '@'; as sockaddr_un holds it, with at most
// SocketAddress::kMaxUnixPathBytes bytes. Waits at most kNotifyPatience. Fails with EAFNOSUPPORT
// for any other name, ENAMETOOLONG, or what socket(2) or sendto(2) said; kind internal_fault.
Result<void> send_notification(std::string_view socket_name, std::string_view message);

}  // namespace hushgate::io
