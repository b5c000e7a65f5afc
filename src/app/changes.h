// What a reload changes: the difference of two configurations, key by key, for people; and which
// keys keep their values until the next start.
#pragma once

#include <string>
#include <vector>

#include "config/model.h"

namespace hushgate::app {

struct Change {
  std::string key;     // "limits.idleTimeoutMs", "upstreams.api.url", "routes[/v1/].upstream"
  std::string before;  // as the file would show it; empty: was not there
  std::string after;   // empty: is not there any more

  // "limits.idleTimeoutMs: 60000 -> 5000", "upstreams.api: added \"http://b\"".
  std::string to_string() const;

  friend bool operator==(const Change&, const Change&) = default;
};

// In the order of the schema, then upstreams by name and routes by path. Their order in the file
// means nothing and is no change. An upstream that comes or goes is one change, shown by its URL;
// so is a route, shown by its upstream, and the tls of a listener that stays, shown by its
// certificates. What the files behind paths hold is not looked at.
std::vector<Change> changes(const config::Config& before, const config::Config& after);

// Whether a key takes effect at the start only: listen (the addresses; not "listen[:443].tls"),
// admin, workers, io.backend (sockets and threads are made then), limits.backlog (a listener's),
// limits.maxBufferedBytes (a loop's).
bool needs_restart(const Change& change);

// `wanted`, with the keys that need a restart as they are in `running`. Config::listen then has the
// listeners of `running` in their order, and those that `wanted` names too have its tls.
config::Config without_restart(const config::Config& running, config::Config wanted);

}  // namespace hushgate::app
