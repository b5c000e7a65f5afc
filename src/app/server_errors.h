// Why a server could not start, in sentences that say what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.h"

namespace hushgate::app {

// `key` is what names the listener: "listen[0]", "admin". `os_error` is that of socket(2), bind(2)
// or listen(2). `descriptor_limit` is the soft RLIMIT_NOFILE.
std::string cannot_listen(const SocketAddress& address, std::string_view key, int os_error,
                          std::uint64_t descriptor_limit);

// Of worker `number` (from 1) of `count`.
std::string cannot_make_worker(unsigned number, unsigned count, int os_error,
                               std::uint64_t descriptor_limit);

// std::thread's failure.
std::string cannot_start_thread(int os_error);

}  // namespace hushgate::app
