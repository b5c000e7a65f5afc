#include "app/changes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config/fault.h"
#include "config/schema.h"

namespace hushgate::app {
namespace {

using config::Config;
using config::ListenAddress;
using config::Route;
using config::ServerCertificate;
using config::Upstream;

constexpr std::array<std::string_view, 6> kFixed{
    "listen", "admin", "workers", "io.backend", "limits.backlog", "limits.maxBufferedBytes"};

class Differences {
 public:
  void add(std::string key, std::string before, std::string after) {
    if (before != after) found_.push_back({std::move(key), std::move(before), std::move(after)});
  }

  // The keys of `Owner` that the schema has below `group`, with `prefix` in place of that.
  template <typename Owner>
  void add_fields(const Owner& before, const Owner& after, std::string_view group,
                  const std::string& prefix) {
    for (const config::Key& key : config::schema()) {
      if (!key.path.starts_with(group)) continue;
      const std::string name = prefix + std::string(key.path.substr(group.size()));
      if (const auto* field = std::get_if<config::Field<Owner>>(&key.field)) {
        add(name, shown(key, field->get(before)), shown(key, field->get(after)));
      }
      if constexpr (std::is_constructible_v<decltype(config::Key::field),
                                            config::TextField<Owner>>) {
        const auto* text = std::get_if<config::TextField<Owner>>(&key.field);
        if (text != nullptr) add(name, shown(text->get(before)), shown(text->get(after)));
      }
    }
  }

  std::vector<Change> take() { return std::move(found_); }

 private:
  static std::string shown(const config::Key& key, std::optional<std::uint64_t> value) {
    return value ? config::shown_value(key, *value) : std::string();
  }
  static std::string shown(const std::string& text) {
    return text.empty() ? std::string() : config::quoted(text);
  }

  std::vector<Change> found_;
};

template <typename Items, typename Text>
std::string listed(const Items& items, Text text) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ", ";
    out += config::quoted(text(item));
  }
  return '[' + out + ']';
}

std::string listen_of(const Config& config) {
  return listed(config.listen, [](const config::ListenAddress& listen) { return listen.text; });
}

// A listener that both have, by its index in each.
struct Pair {
  std::size_t before;
  std::size_t after;
};

// Those of one address (port 0) are paired in their order.
std::vector<Pair> pairs(const std::vector<ListenAddress>& before,
                        const std::vector<ListenAddress>& after) {
  std::vector<Pair> all;
  std::vector<bool> taken(after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t j = 0; j < after.size(); ++j) {
      const bool same =
          before[i].address == after[j].address && before[i].family == after[j].family;
      if (taken[j] || !same) continue;
      taken[j] = true;
      all.push_back({i, j});
      break;
    }
  }
  return all;
}

std::string certificates_of(const std::vector<ServerCertificate>& certificates) {
  std::string out;
  for (const ServerCertificate& each : certificates) {
    if (!out.empty()) out += ", ";
    out += config::quoted(each.certificate) + " with " + config::quoted(each.key);
  }
  return '[' + out + ']';
}

void add_tls(Differences& all, const Config& before, const Config& after) {
  for (const Pair& pair : pairs(before.listen, after.listen)) {
    const std::string listen = "listen[" + before.listen[pair.before].text + "].";
    all.add_fields(before.listen[pair.before], after.listen[pair.after], "listen[].", listen);
    const auto& old_tls = before.listen[pair.before].tls;
    const auto& new_tls = after.listen[pair.after].tls;
    if (!old_tls && !new_tls) continue;
    const std::string key = listen + "tls";
    const std::string was = old_tls ? certificates_of(old_tls->certificates) : std::string();
    const std::string is = new_tls ? certificates_of(new_tls->certificates) : std::string();
    if (!old_tls || !new_tls) {
      all.add(key, was, is);
      continue;
    }
    all.add(key + ".certificates", was, is);
    all.add_fields(*old_tls, *new_tls, "listen[].tls.", key + '.');
  }
}

std::string admin_of(const Config& config) {
  return config.admin ? config::quoted(config.admin->text) : std::string();
}

std::string proxies_of(const Config& config) {
  return listed(config.client.trusted_proxies, [](const Cidr& block) { return block.to_string(); });
}

std::string sources_of(const Upstream& upstream) {
  return listed(upstream.source_addresses, [](const IpAddress& ip) { return ip.to_string(); });
}

void add_upstream(Differences& all, const Upstream& before, const Upstream& after,
                  const std::string& key) {
  all.add(key + ".url", config::quoted(before.url), config::quoted(after.url));
  all.add_fields(before, after, "upstream.", key + '.');
  all.add(key + ".sourceAddresses", sources_of(before), sources_of(after));
}

struct RouteOf {
  const Route& route;
  std::string upstream;
};

void add_route(Differences& all, const RouteOf& before, const RouteOf& after,
               const std::string& key) {
  all.add(key + ".upstream", before.upstream, after.upstream);
  all.add_fields(before.route, after.route, "routes[].", key + '.');
}

std::map<std::string, Upstream> upstreams_of(const Config& config) {
  std::map<std::string, Upstream> by_name;
  for (const Upstream& upstream : config.upstreams) by_name.emplace(upstream.name, upstream);
  return by_name;
}

std::map<std::string, RouteOf> routes_of(const Config& config) {
  std::map<std::string, RouteOf> by_path;
  for (const Route& route : config.routes) {
    const std::string& upstream = config.upstreams[route.upstream].name;
    by_path.emplace(route.path, RouteOf{route, config::quoted(upstream)});
  }
  return by_path;
}

// Those of one side only are one change each, those of both are compared by `compare`.
template <typename Map, typename KeyOf, typename Shown, typename Compare>
void add_each(Differences& all, const Map& before, const Map& after, KeyOf key_of, Shown shown,
              Compare compare) {
  for (const auto& [name, value] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      all.add(key_of(name), shown(value), {});
    } else {
      compare(all, value, found->second, key_of(name));
    }
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) all.add(key_of(name), {}, shown(value));
  }
}

}  // namespace

std::string Change::to_string() const {
  if (before.empty()) return key + ": added " + after;
  if (after.empty()) return key + ": removed " + before;
  return key + ": " + before + " -> " + after;
}

std::vector<Change> changes(const Config& before, const Config& after) {
  Differences all;
  all.add("listen", listen_of(before), listen_of(after));
  all.add("admin", admin_of(before), admin_of(after));
  add_tls(all, before, after);
  all.add_fields(before, after, "", "");
  all.add("client.trustedProxies", proxies_of(before), proxies_of(after));
  add_each(
      all, upstreams_of(before), upstreams_of(after),
      [](const std::string& name) { return "upstreams." + name; },
      [](const Upstream& upstream) { return config::quoted(upstream.url); }, add_upstream);
  add_each(
      all, routes_of(before), routes_of(after),
      [](const std::string& path) { return "routes[" + path + ']'; },
      [](const RouteOf& route) { return route.upstream; }, add_route);
  return all.take();
}

bool needs_restart(const Change& change) {
  return std::ranges::find(kFixed, change.key) != kFixed.end();
}

Config without_restart(const Config& running, Config wanted) {
  std::vector<ListenAddress> listen = running.listen;
  const std::vector<Pair> staying = pairs(running.listen, wanted.listen);
  for (const Pair& pair : staying) {
    listen[pair.before].tls = wanted.listen[pair.after].tls;
    listen[pair.before].http2 = wanted.listen[pair.after].http2;
  }
  wanted.listen = std::move(listen);
  wanted.admin = running.admin;
  wanted.workers = running.workers;
  wanted.backend = running.backend;
  wanted.limits.backlog = running.limits.backlog;
  wanted.limits.max_buffered_bytes = running.limits.max_buffered_bytes;
  return wanted;
}

}  // namespace hushgate::app
