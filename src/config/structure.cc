// `upstreams` and `routes`.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "config/draft.h"
#include "config/nearest.h"

namespace hushgate::config {
namespace {

// Nothing, if the url is faulty; that is reported then.
std::optional<Scheme> set_url(const Value& value, const std::string& shown, Upstream& upstream,
                              Draft& draft) {
  const Place place = place_of(draft, value.at);
  if (value.type != Value::Type::string) {
    draft.wrong(place, shown, value.shown(),
                "it must be a URL like \"http://127.0.0.1:3000\" or an object with url");
    return std::nullopt;
  }
  const auto parsed = parse_upstream_url(value.text, upstream);
  if (parsed) return upstream.scheme;
  draft.wrong(place, shown, shown_url(value.text), parsed.error());
  return std::nullopt;
}

void read_upstream(const Value& value, Draft& draft) {
  const std::string shown = "upstreams." + value.key;
  const auto name = parse_upstream_name(value.key);
  if (!name)
    draft.wrong(place_of(draft, value.key_at), "upstreams", quoted(value.key), name.error());
  Upstream upstream = draft.upstream_defaults;
  upstream.name = value.key;
  std::optional<Scheme> scheme;
  if (value.type != Value::Type::object) {
    scheme = set_url(value, shown, upstream, draft);
  } else {
    const std::string prefix = shown + '.';
    // `url` is a key here, everything else is one of `upstream`.
    for (const Value& member : value.items) {
      if (member.key == "url") {
        scheme = set_url(member, prefix + "url", upstream, draft);
        continue;
      }
      const Key* key = find_key("upstream." + member.key);
      if (key != nullptr && !member.key.contains('.')) {
        read_upstream_member(member, *key, prefix + member.key, upstream, draft);
      } else {
        draft.fault(place_of(draft, member.key_at), unknown_key(member.key, "upstream.", prefix));
      }
    }
    if (value.find("url") == nullptr) {
      draft.fault(place_of(draft, value.at),
                  shown + ": url is missing; add \"url\": \"http://host:port\"");
    }
  }
  settle_upstream_tls(value.find("tls"), shown + ".tls", scheme, upstream, draft);
  if (scheme) check_protocol(value.find("protocol"), shown + ".protocol", upstream, draft);
  draft.config.upstreams.push_back(std::move(upstream));
  draft.places.upstreams.push_back(place_of(draft, value.key_at));
}

void read_upstreams(const Value& value, Draft& draft) {
  draft.places.upstreams_given = true;
  const Place place = place_of(draft, value.at);
  if (value.type != Value::Type::object) {
    return draft.wrong(
        place, "upstreams", value.shown(),
        "it must be an object of names and URLs: { \"api\": \"http://127.0.0.1:3000\" }");
  }
  if (value.items.empty() || value.items.size() > kMaxUpstreams) {
    return draft.wrong(
        place, "upstreams",
        value.items.empty() ? "empty" : std::to_string(value.items.size()) + " items long",
        "it must have 1 to " + std::to_string(kMaxUpstreams));
  }
  for (const Value& item : value.items) read_upstream(item, draft);
}

void set_route_upstream(const Value& value, const std::string& shown, Route& route, Draft& draft) {
  const Place place = place_of(draft, value.at);
  if (value.type != Value::Type::string) {
    return draft.wrong(place, shown, value.shown(), "it must be a name of upstreams");
  }
  const auto& upstreams = draft.config.upstreams;
  const auto found = std::ranges::find(upstreams, value.text, &Upstream::name);
  if (found != upstreams.end()) {
    route.upstream = static_cast<std::size_t>(found - upstreams.begin());
    return;
  }
  if (upstreams.empty()) {
    if (draft.places.upstreams_given) return;  // reported already
    return draft.wrong(place, shown, quoted(value.text),
                       "there is no such name, upstreams is missing");
  }
  std::vector<std::string_view> names;
  for (const Upstream& upstream : upstreams) names.push_back(upstream.name);
  draft.wrong(
      place, shown, quoted(value.text),
      "there is no upstream of that name; the nearest is " + quoted(nearest(value.text, names)));
}

void set_route_path(const Value& value, const std::string& shown, Route& route, Draft& draft) {
  const Place place = place_of(draft, value.at);
  if (value.type != Value::Type::string) {
    return draft.wrong(place, shown, value.shown(), "it must be a path like \"/v1/\"");
  }
  auto path = parse_route_path(value.text);
  if (!path) return draft.wrong(place, shown, quoted(value.text), path.error());
  route.path = std::move(*path);
}

void read_route(const Value& value, std::size_t index, Draft& draft) {
  const std::string shown = "routes[" + std::to_string(index) + ']';
  Route route;
  read_object(value, "routes[].", shown + '.', draft,
              [&](const Value& member, const Key& key, const std::string& name) {
                if (key.path == "routes[].path") return set_route_path(member, name, route, draft);
                if (key.path == "routes[].upstream") {
                  return set_route_upstream(member, name, route, draft);
                }
                read_field(member, key, name, route, draft);
              });
  for (const std::string_view needed : {"path", "upstream"}) {
    if (value.type != Value::Type::object || value.find(needed) != nullptr) continue;
    draft.fault(place_of(draft, value.at),
                shown + ": " + std::string(needed) +
                    " is missing; a route is { \"path\": \"/\", \"upstream\": \"name\" }");
  }
  draft.config.routes.push_back(std::move(route));
  draft.places.routes.push_back(place_of(draft, value.at));
}

void read_routes(const Value& value, Draft& draft) {
  const Place place = place_of(draft, value.at);
  if (value.type != Value::Type::array) {
    draft.places.routes_given = true;
    return draft.wrong(
        place, "routes", value.shown(),
        "it must be an array of objects: [ { \"path\": \"/\", \"upstream\": \"name\" } ]");
  }
  if (value.items.size() > kMaxRoutes) {
    draft.places.routes_given = true;
    return draft.wrong(place, "routes", std::to_string(value.items.size()) + " items long",
                       "it must have at most " + std::to_string(kMaxRoutes));
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) read_route(value.items[i], i, draft);
}

}  // namespace

void check_protocol(const Value* own, const std::string& shown, const Upstream& upstream,
                    Draft& draft) {
  const bool is_https = upstream.scheme == Scheme::https;
  const bool fits = upstream.protocol != (is_https ? Protocol::h2c : Protocol::http2);
  if (fits) return;
  const Key& key = *find_key("upstream.protocol");
  const auto of_defaults = draft.places.keys.find(key.path);
  const Place place = own != nullptr                           ? place_of(draft, own->at)
                      : of_defaults != draft.places.keys.end() ? of_defaults->second
                                                               : draft.places.whole;
  draft.wrong(place, shown, shown_value(key, static_cast<std::uint64_t>(upstream.protocol)),
              "but url is " + shown_url(upstream.url) +
                  (is_https ? ", where TLS comes first; \"http2\" is HTTP/2 behind TLS"
                            : ", which has no TLS; \"h2c\" is HTTP/2 without it"));
}

void read_structure(const Value& root, Draft& draft) {
  if (const Value* upstreams = root.find("upstreams")) read_upstreams(*upstreams, draft);
  if (const Value* routes = root.find("routes")) read_routes(*routes, draft);
}

}  // namespace hushgate::config
