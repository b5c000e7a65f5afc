#include "config/schema.h"

#include <algorithm>

#include "base/assert.h"

namespace hushgate::config {
namespace {

std::string listed(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += ", ";
    list += '"' + std::string(word) + '"';
  }
  return list;
}

}  // namespace

std::optional<std::uint64_t> Key::default_value() const {
  if (const auto* of_config = std::get_if<Field<Config>>(&field)) return of_config->get(Config{});
  if (const auto* of_upstream = std::get_if<Field<Upstream>>(&field))
    return of_upstream->get(Upstream{});
  if (const auto* of_tls = std::get_if<Field<ListenTls>>(&field)) return of_tls->get(ListenTls{});
  if (const auto* of_listen = std::get_if<Field<ListenAddress>>(&field))
    return of_listen->get(ListenAddress{});
  return std::nullopt;
}

bool Key::overridable() const {
  return kind != Kind::group && kind != Kind::objects && kind != Kind::refused &&
         !path.contains("[]") && !path.contains('*');
}

const Key* find_key(std::string_view path) {
  const auto found = std::ranges::find(schema(), path, &Key::path);
  return found == schema().end() ? nullptr : &*found;
}

const Key* find_key_of_environment(std::string_view name) {
  const auto found = std::ranges::find_if(schema(), [&](const Key& key) {
    return key.overridable() && environment_name(key.path) == name;
  });
  return found == schema().end() ? nullptr : &*found;
}

std::string environment_name(std::string_view path) {
  constexpr std::string_view kLimits = "limits.";
  if (path.starts_with(kLimits)) path.remove_prefix(kLimits.size());
  std::string name = "HUSHGATE_";
  for (const char c : path) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) name += '_';
    if (c == '.')
      name += '_';
    else
      name += upper || c < 'a' ? c : static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string requirement(const Key& key) {
  const auto range = [&] {
    return " from " + std::to_string(key.min) + " to " + std::to_string(key.max);
  };
  const auto number = [&] { return "a whole number of " + std::string(key.unit); };
  switch (key.kind) {
    case Kind::group: return "an object";
    case Kind::text: return "a string";
    case Kind::texts: return "an array of strings";
    case Kind::objects: return "an array of objects";
    case Kind::file: return "a string, the path of a file";
    case Kind::host: return "a string, a host name or an address";
    case Kind::boolean: return "true or false";
    case Kind::choice: return "one of " + listed(key.choices);
    case Kind::number: return number() + range();
    case Kind::number_or_off: return number() + range() + ", or 0 for off";
    case Kind::number_or_auto: return number() + range() + ", or \"auto\"";
    case Kind::refused: return "absent";
  }
  return {};
}

std::string shown_value(const Key& key, std::uint64_t value) {
  if (key.kind == Kind::boolean) return value == 0 ? "false" : "true";
  if (key.kind == Kind::number_or_auto && value == 0) return "\"auto\"";
  if (key.kind != Kind::choice) return std::to_string(value);
  HG_ASSERT(value < key.choices.size());
  return '"' + std::string(key.choices[value]) + '"';
}

}  // namespace hushgate::config
