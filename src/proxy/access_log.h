// One line per exchange.
#pragma once

#include "base/address.h"
#include "proxy/context.h"

namespace hushgate::proxy {

// Nothing is written for a head that never became complete and was not answered.
void log_exchange(Context& context, const Exchange& exchange, const SocketAddress& client);

// Which address an attempt was made to, if there was one.
void add_endpoint(LogLine& line, const SocketAddress& endpoint);
// The errno of a system call that failed, or getaddrinfo(3)'s words.
void add_os_error(LogLine& line, const Error& error);

}  // namespace hushgate::proxy
