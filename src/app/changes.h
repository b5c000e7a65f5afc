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
// so is a route, shown by its upstream.
std::vector<Change> changes(const config::Config& before, const config::Config& after);

// Whether a key takes effect at the start only: listen, admin, workers, io.backend (sockets and
// threads are made then), limits.backlog (a listener's), limits.maxBufferedBytes (a loop's).
bool needs_restart(const Change& change);

// `wanted`, with the keys that need a restart as they are in `running`.
config::Config without_restart(const config::Config& running, config::Config wanted);

}  // namespace hushgate::app
