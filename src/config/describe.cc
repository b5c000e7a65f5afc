#include "config/describe.h"

#include <fmt/format.h>

#include "config/schema.h"

namespace hushgate::config {
namespace {

constexpr std::string_view kHead =
    R"(# Configuration

Written from the table in `src/config/schema_table.cc` by `config_test` with
`HUSHGATE_WRITE_DOCS=1`; a test holds it against the table. Do not edit it here.

The file is JSON. Comments are allowed, duplicate keys are not, unknown keys are faults. `listen`
and `upstreams` are needed; everything else has a default.

- **Order**: file, environment, command line; later wins, key by key.
- **Environment**: the name below the key. Lists are separated by commas:
  `HUSHGATE_LISTEN=127.0.0.1:8787,[::1]:8787`. An invalid value is fatal; an unknown name that
  begins with `HUSHGATE_` is warned about.
- **Command line**: `--set KEY=VALUE` for every key that has an environment name (`--set
  limits.idleTimeoutMs=5000`), and `--listen`, `--admin`, `--upstream`, `--workers`, `--backend`.
- **Files**: a relative path in the file begins at the folder of the file, one in the environment or
  on the command line at the working directory. TLS files are PEM.
- **Times** are whole milliseconds (`...Ms`), sizes are bytes (`...Bytes`). 0 is refused, except
  where the table says "off".
- **Reload**: SIGHUP reads the file again. A changed value holds from then on, for exchanges that
  begin then. Where the table says **Restart.**, it waits for the next start, and the log says so
  (`needs_restart`).
- **In force**: `hushgate check -c FILE` prints every setting with its value and its meaning, and
  every fault with its place.
- **Editors**: `hushgate schema > hushgate.schema.json` writes a JSON Schema (draft 2020-12). In
  VS Code: `"json.schemas": [{ "fileMatch": ["hushgate*.json*"], "url": "./hushgate.schema.json"
  }]`, with the file's language set to JSON with Comments. The schema judges values one by one;
  `check` also judges how they go together.
)";

struct Section {
  std::string_view title;
  std::string_view prefix;
};

// A group inside something else.
bool has_table_of_its_own(const Key& key) {
  return key.kind == Kind::group && key.path.contains('.');
}

// Those of the table whose path has the prefix and no further part.
bool belongs(const Key& key, std::string_view prefix) {
  if (key.kind == Kind::group && key.path != "upstreams" && !has_table_of_its_own(key)) {
    return false;
  }
  return key.path.starts_with(prefix) &&
         key.path.substr(prefix.size()).find_first_of(".[*") == std::string_view::npos;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*') out += '\\';
    out += c;
  }
  return out;
}

std::string range(const Key& key) {
  const auto numbers = [&] { return fmt::format("{} to {}", key.min, key.max); };
  switch (key.kind) {
    case Kind::group: return "object";
    case Kind::text: return "string";
    case Kind::texts: return "list of strings";
    case Kind::objects: return "list of objects";
    case Kind::file: return "string, the path of a file";
    case Kind::host: return "string, a name or an address";
    case Kind::boolean: return "`true`, `false`";
    case Kind::choice: {
      std::string words;
      for (const std::string_view word : key.choices) {
        words += fmt::format("{}`\"{}\"`", words.empty() ? "" : ", ", word);
      }
      return words;
    }
    case Kind::number: return numbers();
    case Kind::number_or_off: return numbers() + "; 0: off";
    case Kind::number_or_auto: return numbers() + "; `\"auto\"`";
    case Kind::refused: return "–";
  }
  return {};
}

std::string by_default(const Key& key) {
  if (const auto value = key.default_value()) {
    const bool off = key.kind == Kind::number_or_off && *value == 0;
    return off ? "0: off" : fmt::format("`{}`", shown_value(key, *value));
  }
  if (!key.absent.empty()) return std::string(key.absent);
  return key.path.starts_with("routes[].") ? "that of `limits`" : "–";
}

std::string meaning(const Key& key) {
  if (key.kind == Kind::refused) {
    return escaped(key.meaning) + ": not supported by this version, a fault";
  }
  std::string text = escaped(key.meaning);
  if (has_table_of_its_own(key)) return text + "; see below.";
  if (!note(key.path).empty()) text += ". " + escaped(note(key.path));
  return text.ends_with('.') ? text : text + '.';
}

void add_row(std::string& out, const Key& key) {
  const std::string environment =
      key.overridable() ? fmt::format("<br>`{}`", environment_name(key.path)) : std::string();
  out += fmt::format("| `{}`{} | {} | {}{}{} | {}{} |\n", key.path, environment, by_default(key),
                     range(key), key.unit.empty() ? "" : "<br>", key.unit, meaning(key),
                     key.effect == Effect::restart ? " **Restart.**" : "");
}

void add_section(std::string& out, const Section& section) {
  out += fmt::format("\n## {}\n\n", section.title);
  std::string_view group = section.prefix;
  if (group.ends_with('.')) group.remove_suffix(1);
  const Key* key = find_key(group);
  if (key != nullptr && key->kind == Kind::group) {
    out += fmt::format("`{}`: {}.{}{}\n\n", group, escaped(key->meaning),
                       note(group).empty() ? "" : " ", escaped(note(group)));
  }
  out += "| key, environment | default | values, unit | meaning |\n|---|---|---|---|\n";
  for (const Key& each : schema()) {
    if (belongs(each, section.prefix)) add_row(out, each);
  }
}

}  // namespace

std::string configuration_document() {
  std::string out(kHead);
  for (const Section& section : {Section{"Listeners and workers", ""},
                                 {"An object in `listen`", "listen[]."},
                                 {"`tls` of an object in `listen`", "listen[].tls."},
                                 {"One of its `certificates`", "listen[].tls.certificates[]."},
                                 {"The event loop", "io."},
                                 {"The log", "log."},
                                 {"Clients", "client."},
                                 {"Upstreams", "upstream."},
                                 {"`tls` of an upstream", "upstream.tls."},
                                 {"One of `upstreams`", "upstreams.*."},
                                 {"One of `routes`", "routes[]."},
                                 {"Limits", "limits."}}) {
    add_section(out, section);
  }
  return out;
}

}  // namespace hushgate::config
