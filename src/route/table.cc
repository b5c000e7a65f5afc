#include "route/table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "route/pattern.h"

namespace hushgate::route {
namespace {

RouteLimits resolved(const config::Route& route, const Limits& limits) {
  return {.upstream_timeout = route.upstream_timeout.value_or(limits.upstream_timeout),
          .min_upload_bytes_per_second =
              route.min_upload_bytes_per_second.value_or(limits.min_upload_bytes_per_second),
          .max_body_bytes = route.max_body_bytes.value_or(limits.max_body_bytes)};
}

}  // namespace

Table::Table(const config::Config& config) {
  limits_.reserve(config.routes.size());
  entries_.reserve(config.routes.size());
  for (const config::Route& route : config.routes) {
    HG_ASSERT(route.path.starts_with('/') && route.upstream < config.upstreams.size());
    limits_.push_back(resolved(route, config.limits));
    entries_.push_back({.path = route.path,
                        .shorter = kNone,
                        .decision = {.route = &route,
                                     .upstream = &config.upstreams[route.upstream],
                                     .limits = &limits_.back()}});
  }
  std::ranges::sort(entries_, {}, &Entry::path);
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    HG_ASSERT(entries_[i - 1].path != entries_[i].path);
    std::size_t before = i - 1;
    while (before != kNone && !entries_[i].path.starts_with(entries_[before].path)) {
      before = entries_[before].shorter;
    }
    entries_[i].shorter = before;
  }
}

// All patterns that are prefixes of `path` sort before it, and the last one that does begins with
// each of them.
std::size_t Table::find(std::string_view path) const {
  const auto after = std::ranges::upper_bound(entries_, path, {}, &Entry::path);
  if (after == entries_.begin()) return kNone;
  auto index = static_cast<std::size_t>(after - entries_.begin()) - 1;
  while (index != kNone && !covers(entries_[index].path, path)) index = entries_[index].shorter;
  return index;
}

Result<Decision> Table::at(std::size_t entry) const {
  if (entry == kNone) return fail(ErrorKind::no_route);
  return entries_[entry].decision;
}

Result<Decision> Table::decide_carefully(std::string_view path) const {
  if (path.contains('#')) return fail(ErrorKind::bad_path);
  const std::size_t written = find(path);
  const auto agrees = [&](std::string_view reading) {
    const Normalized meant = normalized(reading);
    return meant.climb == Climb::within && find(meant.path) == written;
  };
  std::string reading(path);
  for (int decodings = 0; decodings <= kMaxDecodings; ++decodings) {
    if (!agrees(reading)) return fail(ErrorKind::bad_path);
    const std::size_t nul = reading.find('\0');  // where an upstream written in C stops reading
    if (nul != std::string::npos && !agrees(std::string_view(reading).substr(0, nul))) {
      return fail(ErrorKind::bad_path);
    }
    std::string next = percent_decoded(reading);
    if (next == reading) return at(written);
    reading = std::move(next);
  }
  return fail(ErrorKind::bad_path);
}

Result<Decision> Table::decide(std::string_view method, std::string_view target) const {
  if (method == "CONNECT") {
    const std::size_t entry = find("/");
    if (entry == kNone || entries_[entry].decision.route->connect == config::Connect::refused) {
      return fail(ErrorKind::method_not_allowed);
    }
    return at(entry);
  }
  if (target == "*") {
    if (method != "OPTIONS") return fail(ErrorKind::bad_request);
    return at(find("/"));
  }
  std::string_view path = target.substr(0, target.find('?'));
  if (path.empty()) path = "/";
  if (path.front() != '/') return fail(ErrorKind::bad_request);
  if (!is_plain(path)) return decide_carefully(path);
  return at(find(path));
}

}  // namespace hushgate::route
