#include "config/load.h"

#include <utility>

#include "config/address_text.h"
#include "config/draft.h"
#include "config/json.h"
#include "config/nearest.h"
#include "config/validate.h"

namespace hushgate::config {
namespace {

constexpr std::string_view kUpstreamOfCommandLine = "default";

// "HUSHGATE_X"; empty for variables that are not ours.
std::string_view our_variable(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return name.starts_with("HUSHGATE_") && name.size() < entry.size() ? name : std::string_view();
}

Warning unknown_variable(std::string_view variable, const Place& place) {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.overridable()) names.push_back(environment_name(key.path));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return {place, "no setting has the name " + std::string(variable) +
                     ", it is ignored; the nearest is " + std::string(nearest(variable, known))};
}

void read_environment(const std::vector<std::string>& environment, Draft& draft) {
  for (const std::string& entry : environment) {
    const std::string_view name = our_variable(entry);
    if (name.empty()) continue;
    const Place place{.source = Source::environment, .name = std::string(name)};
    if (const Key* key = find_key_of_environment(name)) {
      read_override(*key, std::string_view(entry).substr(name.size() + 1), place, draft);
    } else {
      draft.warnings.push_back(unknown_variable(name, place));
    }
  }
}

void read_command_line(const std::vector<Override>& overrides, Draft& draft) {
  for (const Override& item : overrides) {
    const Place place{.source = Source::command_line, .name = item.flag};
    const Key* key = find_key(item.key);
    if (key != nullptr && key->overridable()) {
      read_override(*key, item.value, place, draft);
      continue;
    }
    if (key != nullptr) {
      draft.fault(place, "only a file can set " + quoted(item.key));
      continue;
    }
    std::vector<std::string_view> known;
    for (const Key& candidate : schema()) {
      if (candidate.overridable()) known.push_back(candidate.path);
    }
    draft.fault(place, "unknown key " + quoted(item.key) + "; the nearest known key is " +
                           std::string(nearest(item.key, known)));
  }
}

void use_only(const std::string& url, Draft& draft) {
  const Place place{.source = Source::command_line, .name = "--upstream"};
  Upstream upstream = draft.upstream_defaults;
  upstream.name = kUpstreamOfCommandLine;
  const auto parsed = parse_upstream_url(url, upstream);
  if (!parsed) draft.wrong(place, "the upstream", shown_url(url), parsed.error());
  settle_upstream_tls(nullptr, {}, upstream.scheme, upstream, draft);
  if (parsed) check_protocol(nullptr, "upstream.protocol", upstream, draft);
  draft.config.upstreams = {std::move(upstream)};
  draft.places.upstreams = {place};
}

}  // namespace

std::expected<Loaded, Faults> load(const Input& input) {
  Draft draft;
  draft.places.whole.source = Source::command_line;
  draft.working_folder = input.working_folder;
  std::optional<Parsed> parsed;
  if (input.file) {
    draft.places.whole = {.source = Source::file, .name = input.file->name};
    draft.file_folder = input.file->folder;
    parsed = parse_json(input.file->text);
    for (SyntaxFault& syntax : parsed->faults) {
      draft.fault(place_of(draft, syntax.at), std::move(syntax.text));
    }
  }
  const bool readable = draft.faults.empty();
  if (parsed && parsed->root.type == Value::Type::object)
    read_settings(parsed->root, draft);
  else if (parsed && readable)
    draft.fault(draft.places.whole, "the file must hold one object { ... }");

  read_environment(input.environment, draft);
  read_command_line(input.overrides, draft);
  check_upstream_tls_defaults(draft);
  if (input.upstream_url)
    use_only(*input.upstream_url, draft);
  else if (parsed)
    read_structure(parsed->root, draft);

  if (!parsed || parsed->root.type == Value::Type::object) complete_and_validate(draft);
  if (draft.faults.empty()) return Loaded{std::move(draft.config), std::move(draft.warnings)};
  sort(draft.faults);
  return std::unexpected(std::move(draft.faults));
}

}  // namespace hushgate::config
