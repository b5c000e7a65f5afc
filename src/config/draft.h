// A configuration while it is being read, and what everything that reads into it shares. Inside
// this folder only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/address_text.h"
#include "config/fault.h"
#include "config/json.h"
#include "config/model.h"
#include "config/schema.h"

namespace hushgate::config {

// Where things were set. The vectors run parallel to those of Config.
struct Places {
  Place whole{};  // the file, or the command line where there is none: whatever is missing is
                  // missing there
  std::vector<Place> listen{};
  Place admin{};
  std::vector<Place> upstreams{};
  std::vector<Place> routes{};
  std::map<std::string_view, Place> keys{};  // by Key::path, the last one that said it; of files
                                             // and hosts, or tried to

  // Whether it was tried at all; if so and nothing came of it, there is a fault already.
  bool listen_given = false;
  bool upstreams_given = false;
  bool routes_given = false;
};

struct Draft {
  Config config{};
  Upstream upstream_defaults{};
  Places places{};
  Faults faults{};
  Warnings warnings{};
  std::string_view file_folder{};     // see File::folder
  std::string_view working_folder{};  // see Input::working_folder

  void fault(Place place, std::string text) {
    faults.push_back({std::move(place), std::move(text)});
  }
  // "`key` is `was`; `right`"
  void wrong(Place place, std::string_view key, std::string_view was, std::string_view right) {
    fault(std::move(place),
          std::string(key) + " is " + std::string(was) + "; " + std::string(right));
  }
};

// What a key stores for a value of the file, or for a text of the environment or the command line.
// Nothing: it does not fulfil requirement(key). Texts are digits and words exactly: no blanks,
// signs, points or exponents.
std::optional<std::uint64_t> stored(const Key& key, const Value& value);
std::optional<std::uint64_t> stored(const Key& key, std::string_view text);

// Says what is unknown, and what was probably meant. `prefix` is "limits." as the schema has it,
// `shown` as the file has it ("upstreams.api." is shown, "upstream." is the schema's).
std::string unknown_key(std::string_view name, std::string_view prefix, std::string_view shown);

// The groups, listen and admin. First, because `upstreams` begin as upstream_defaults.
void read_settings(const Value& root, Draft& draft);
// One key by its text; only overridable ones.
void read_override(const Key& key, std::string_view text, const Place& place, Draft& draft);
// `upstreams` and `routes`.
void read_structure(const Value& root, Draft& draft);

// A member of an upstream or of `upstream`: what both may hold.
void read_upstream_member(const Value& member, const Key& key, std::string_view shown,
                          Upstream& upstream, Draft& draft);

// `tls` of an object in `listen`.
ListenTls read_listen_tls(const Value& value, const std::string& shown, Draft& draft);

// `tls` of an upstream or of `upstream`; its own key wins over what `upstream` holds already.
void read_upstream_tls(const Value& value, const std::string& shown, Upstream& upstream,
                       Draft& draft);
// What contradicts in the defaults, once all sources were read.
void check_upstream_tls_defaults(Draft& draft);
// What contradicts in an upstream, once all of it was read; `own` is its own `tls`, or null. Takes
// back what of the defaults does not apply to it.
void settle_upstream_tls(const Value* own, const std::string& shown, std::optional<Scheme> scheme,
                         Upstream& upstream, Draft& draft);

// HTTP/2 is begun in one way with TLS and in another without. Needs an upstream whose url was read;
// `own` is its own `protocol`, or null.
void check_protocol(const Value* own, const std::string& shown, const Upstream& upstream,
                    Draft& draft);

// A text of a key that is a file or a host, as it is kept; relative paths begin at `folder`.
Written<std::string> stored_text(const Key& key, std::string_view text, std::string_view folder);

// The file's place of a position.
Place place_of(const Draft& draft, Position position);

// Reads a value into a field of `owner`, or reports it.
template <typename Owner>
void read_field(const Value& value, const Key& key, std::string_view shown, Owner& owner,
                Draft& draft) {
  if (const auto number = stored(key, value)) {
    std::get<Field<Owner>>(key.field).set(owner, *number);
    draft.places.keys[key.path] = place_of(draft, value.at);
  } else {
    const bool only_quoted = value.type == Value::Type::string && stored(key, value.text);
    draft.wrong(place_of(draft, value.at), shown, value.shown(),
                "it must be " + requirement(key) + (only_quoted ? ", without quotes" : ""));
  }
}

// The same for a string.
template <typename Owner>
void read_text(const Value& value, const Key& key, std::string_view shown, Owner& owner,
               Draft& draft) {
  const Place place = place_of(draft, value.at);
  draft.places.keys[key.path] = place;
  if (value.type != Value::Type::string) {
    return draft.wrong(place, shown, value.shown(), "it must be " + requirement(key));
  }
  auto text = stored_text(key, value.text, draft.file_folder);
  if (!text) return draft.wrong(place, shown, quoted(value.text), text.error());
  std::get<TextField<Owner>>(key.field).set(owner, std::move(*text));
}

// Calls `known(member, key, shown name)` for every member of an object that the schema has below
// `prefix`, and reports the others. Reports what is no object.
template <typename Known>
void read_object(const Value& object, std::string_view prefix, const std::string& shown,
                 Draft& draft, Known known) {
  if (object.type != Value::Type::object) {
    std::string name = shown;
    if (name.ends_with('.')) name.pop_back();
    draft.wrong(place_of(draft, object.at), name, object.shown(), "it must be an object { ... }");
    return;
  }
  for (const Value& member : object.items) {
    const Key* key = find_key(std::string(prefix) + member.key);
    if (key == nullptr || member.key.find_first_of(".[*") != std::string::npos) {
      draft.fault(place_of(draft, member.key_at), unknown_key(member.key, prefix, shown));
    } else if (key->kind == Kind::refused) {
      draft.fault(place_of(draft, member.key_at),
                  shown + member.key + ": " + std::string(key->meaning) +
                      " is not supported by this version; leave it out");
    } else {
      known(member, *key, shown + member.key);
    }
  }
}

// Calls `item(value, shown name)` for every string of an array, and reports whatever else there is.
// More than `most` are reported too.
template <typename Item>
void read_texts(const Value& array, const std::string& shown, std::size_t most, Draft& draft,
                Item item) {
  if (array.type != Value::Type::array) {
    draft.wrong(place_of(draft, array.at), shown, array.shown(), "it must be an array of strings");
    return;
  }
  if (array.items.size() > most) {
    draft.wrong(place_of(draft, array.at), shown,
                std::to_string(array.items.size()) + " items long",
                "it must have at most " + std::to_string(most));
    return;
  }
  for (std::size_t i = 0; i < array.items.size(); ++i) {
    const Value& value = array.items[i];
    const std::string name = shown + '[' + std::to_string(i) + ']';
    if (value.type == Value::Type::string) {
      item(value, name);
    } else {
      draft.wrong(place_of(draft, value.at), name, value.shown(), "it must be a string");
    }
  }
}

}  // namespace hushgate::config
