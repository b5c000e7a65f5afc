// SIGHUP: the settings are read again and serve what begins from then on.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>

#include "app/server.h"
#include "config/load.h"

namespace hushgate::app {

// The settings as they were asked for at the start, read again.
using Reread = std::function<std::expected<config::Loaded, config::Faults>()>;

inline constexpr std::size_t kMaxChangesTold = 32;  // in the line that tells of a reload

// Without a fault: what can change does, on all workers, before this returns, and the log says
// `reloaded`; each key that only a start can change is told as `needs_restart`. With faults:
// nothing changes, and the log has each of them as `reload_fault`, then `reload_failed`. `reread`
// may be empty: there is nothing to read again, and the log says so. Not after Server::stop().
void reload(Server& server, const Reread& reread);

// The files of TLS have changed: they alone are read again. A faulty one changes nothing and says
// why; else the log says `tls_reloaded`. Not after Server::stop().
void reload_tls(Server& server);

}  // namespace hushgate::app
