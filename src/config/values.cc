#include <algorithm>
#include <charconv>

#include "base/assert.h"
#include "config/draft.h"
#include "config/nearest.h"

namespace hushgate::config {
namespace {

std::optional<std::uint64_t> digits(std::string_view text) {
  const bool only_digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || !only_digits) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> word(const Key& key, std::string_view text) {
  if (key.kind == Kind::number_or_auto && text == "auto") return 0;
  if (key.kind != Kind::choice) return std::nullopt;
  const auto found = std::ranges::find(key.choices, text);
  if (found == key.choices.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - key.choices.begin());
}

std::optional<std::uint64_t> number(const Key& key, std::string_view text) {
  if (key.kind != Kind::number && key.kind != Kind::number_or_off &&
      key.kind != Kind::number_or_auto) {
    return std::nullopt;
  }
  const auto value = digits(text);
  if (!value) return std::nullopt;
  if (*value == 0 && key.kind == Kind::number_or_off) return 0;
  if (*value < key.min || *value > key.max) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> truth(const Key& key, std::string_view text) {
  if (key.kind != Kind::boolean || (text != "true" && text != "false")) return std::nullopt;
  return text == "true" ? 1 : 0;
}

}  // namespace

std::optional<std::uint64_t> stored(const Key& key, const Value& value) {
  switch (value.type) {
    case Value::Type::boolean: return truth(key, value.text);
    case Value::Type::number: return number(key, value.text);
    case Value::Type::string: return word(key, value.text);
    case Value::Type::null:
    case Value::Type::array:
    case Value::Type::object: break;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> stored(const Key& key, std::string_view text) {
  if (const auto value = number(key, text)) return value;
  if (const auto value = word(key, text)) return value;
  return truth(key, text);
}

Written<std::string> stored_text(const Key& key, std::string_view text, std::string_view folder) {
  HG_ASSERT(key.kind == Kind::file || key.kind == Kind::host);
  return key.kind == Kind::file ? parse_file_path(text, folder) : parse_server_name(text);
}

std::string unknown_key(std::string_view name, std::string_view prefix, std::string_view shown) {
  const auto is_sibling = [&](const Key& key) {
    return key.kind != Kind::refused && key.path.starts_with(prefix) &&
           key.path.substr(prefix.size()).find_first_of(".[*") == std::string_view::npos;
  };
  std::vector<std::string_view> siblings;
  std::vector<std::string_view> elsewhere;
  if (shown.starts_with("upstreams.")) siblings.push_back("url");
  for (const Key& key : schema()) {
    if (is_sibling(key))
      siblings.push_back(key.name());
    else if (key.path.starts_with("limits."))
      elsewhere.push_back(key.path);
  }
  for (const Key& key : schema()) {  // behind those of limits, where most keys are
    if (!is_sibling(key) && key.overridable()) elsewhere.push_back(key.path);
  }
  const auto last_part = [](std::string_view path) { return path.substr(path.rfind('.') + 1); };
  std::string meant = std::string(shown) + std::string(nearest(name, siblings));
  std::size_t least = edit_distance(name, nearest(name, siblings));
  for (const std::string_view path : elsewhere) {
    const std::size_t distance =
        std::min(edit_distance(name, last_part(path)), edit_distance(name, path));
    if (distance >= least || distance > std::min<std::size_t>(2, name.size() / 3)) continue;
    least = distance;
    meant = path;
  }
  return "unknown key " + quoted(std::string(shown) + std::string(name)) +
         "; the nearest known key is " + meant;
}

Place place_of(const Draft& draft, Position position) {
  return {.source = Source::file, .name = draft.places.whole.name, .position = position};
}

}  // namespace hushgate::config
