#include "config/validate.h"

#include <algorithm>
#include <string>

namespace hushgate::config {
namespace {

// Whether both would bind the same port. "Any" takes it on every address.
bool collide(const ListenAddress& a, const ListenAddress& b) {
  if (a.address.port == 0 || a.address.port != b.address.port) return false;
  if (a.family == ListenFamily::any || b.family == ListenFamily::any) return true;
  const IpAddress& ip = a.address.ip;
  const IpAddress& other = b.address.ip;
  return ip.family() == other.family() && (ip == other || ip.is_any() || other.is_any());
}

void complete(Draft& draft) {
  Config& config = draft.config;
  if (!config.routes.empty() || draft.places.routes_given || config.upstreams.size() != 1) return;
  config.routes.push_back({.path = "/", .upstream = 0});
  draft.places.routes.push_back(draft.places.upstreams.front());
}

void check_missing(Draft& draft) {
  const Config& config = draft.config;
  const Places& places = draft.places;
  if (config.listen.empty() && !places.listen_given) {
    draft.fault(places.whole,
                "listen is missing; say where clients connect, as in \"127.0.0.1:8787\"");
  }
  if (config.upstreams.empty() && !places.upstreams_given) {
    draft.fault(places.whole,
                "upstreams is missing; say where requests go, as in { \"api\": "
                "\"http://127.0.0.1:3000\" }");
  }
  if (config.routes.empty() && !places.routes_given && config.upstreams.size() > 1) {
    draft.fault(places.whole,
                "routes is missing; with more than one upstream it must say which path goes where");
  }
}

void check_listeners(Draft& draft) {
  const auto& listen = draft.config.listen;
  for (std::size_t i = 0; i < listen.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!collide(listen[i], listen[j])) continue;
      draft.fault(draft.places.listen[i], "listen names " + listen[i].text + " beside " +
                                              listen[j].text + "; both would bind the same port");
      break;
    }
    const auto& admin = draft.config.admin;
    if (admin && collide(listen[i], *admin)) {
      draft.fault(draft.places.admin, "admin is " + quoted(admin->text) + " where listen has " +
                                          quoted(listen[i].text) + "; it needs a port of its own");
    }
  }
}

void check_routes(Draft& draft) {
  const auto& routes = draft.config.routes;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path.empty()) continue;  // reported already
    const std::string shown = "routes[" + std::to_string(i) + "].";
    const auto first = std::ranges::find(routes, routes[i].path, &Route::path) - routes.begin();
    if (static_cast<std::size_t>(first) != i) {
      draft.wrong(draft.places.routes[i], shown + "path", quoted(routes[i].path),
                  "routes[" + std::to_string(first) + "] has it already");
    }
    if (routes[i].connect == Connect::allowed && routes[i].path != "/") {
      draft.wrong(draft.places.routes[i], shown + "connect", "true",
                  "CONNECT has no path, so only the route \"/\" can allow it");
    }
  }
}

void warn_of_unused(Draft& draft) {
  const auto& routes = draft.config.routes;
  for (std::size_t i = 0; i < draft.config.upstreams.size(); ++i) {
    if (std::ranges::find(routes, i, &Route::upstream) != routes.end()) continue;
    draft.warnings.push_back({draft.places.upstreams[i],
                              "no route goes to upstreams." + draft.config.upstreams[i].name});
  }
}

void warn_of_connect_budgets(Draft& draft) {
  const Limits& limits = draft.config.limits;
  if (limits.connect_total >= limits.connect_timeout) return;
  const auto& keys = draft.places.keys;
  auto place = keys.find("limits.connectTotalMs");
  if (place == keys.end()) place = keys.find("limits.connectTimeoutMs");
  draft.warnings.push_back({place == keys.end() ? draft.places.whole : place->second,
                            "limits.connectTotalMs (" +
                                std::to_string(limits.connect_total.count()) +
                                ") ends every attempt before limits.connectTimeoutMs (" +
                                std::to_string(limits.connect_timeout.count()) + ") can"});
}

// At every start, not only by `check`.
void warn_of_skipped_verification(Draft& draft) {
  for (std::size_t i = 0; i < draft.config.upstreams.size(); ++i) {
    const Upstream& upstream = draft.config.upstreams[i];
    if (upstream.tls.verification != Verification::skipped) continue;
    draft.warnings.push_back(
        {draft.places.upstreams[i],
         "upstreams." + upstream.name +
             ".tls.dangerouslySkipVerification is true: whoever answers "
             "in place of " +
             upstream.authority +
             " can read and change everything that is sent there, keys and tokens too; name the "
             "file of its authorities in ca instead"});
  }
}

}  // namespace

void complete_and_validate(Draft& draft) {
  complete(draft);
  check_missing(draft);
  check_listeners(draft);
  check_routes(draft);
  warn_of_unused(draft);
  warn_of_connect_budgets(draft);
  warn_of_skipped_verification(draft);
}

}  // namespace hushgate::config
