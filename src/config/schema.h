// Every key of the configuration in one table: what it is called, what it may be, what it is unless
// told otherwise and what it means. Reading, defaults, environment names, suggestions, the printed
// settings, docs/configuration.md and the JSON Schema all come from here (schema_table.cc); the
// defaults themselves are those of model.h and limits.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config/model.h"

namespace hushgate::config {

enum class Kind : std::uint8_t {
  group,           // an object of other keys
  text,            // a string
  texts,           // an array of strings
  objects,         // an array of objects, whose keys have "[]." behind its path
  file,            // a string, the path of a file
  host,            // a string, a host name or an address without brackets
  boolean,         // true or false
  choice,          // one of a few words
  number,          // a whole number from min to max
  number_or_off,   // 0 is "off"
  number_or_auto,  // "auto" is stored as 0
  refused,         // known, but not supported by this version
};

// When a changed value holds.
enum class Effect : std::uint8_t {
  reload,   // from SIGHUP on, for exchanges that begin then
  restart,  // from the next start on: sockets, threads and buffers were made by it
};

// How a number, choice or boolean is kept: an enumerator's value, milliseconds, a count.
template <typename Owner>
struct Field {
  std::optional<std::uint64_t> (*get)(const Owner&);  // nothing: a route that does not set it
  void (*set)(Owner&, std::uint64_t);
};

// How a string is kept. Empty: not given.
template <typename Owner>
struct TextField {
  const std::string& (*get)(const Owner&);
  void (*set)(Owner&, std::string);
};

struct Key {
  // Dotted. "listen[].x", "upstreams.*.x" and "routes[].x" are keys of the objects in those.
  std::string_view path;
  Kind kind = Kind::group;
  std::uint64_t min = 0;  // numbers only; for number_or_off and number_or_auto besides that word
  std::uint64_t max = 0;
  std::string_view unit{};                      // "milliseconds", "bytes", ...; of numbers
  std::span<const std::string_view> choices{};  // indexed by the enumerator
  std::string_view meaning{};                   // a sentence without its full stop
  std::variant<std::monostate, Field<Config>, Field<Upstream>, Field<Route>, Field<ListenTls>,
               Field<ListenAddress>, TextField<Upstream>, TextField<ListenTls>,
               TextField<ServerCertificate>>
      field{};
  std::string_view pattern{};  // of texts: what JSON Schema asks of them; `load` asks for more
  std::string_view absent{};   // keys without a field: what holds where it is not given, in words
  Effect effect = Effect::reload;

  // The last part: "idleTimeoutMs".
  constexpr std::string_view name() const { return path.substr(path.rfind('.') + 1); }
  // What the model holds unless told otherwise; nothing for keys without a number and those of
  // routes.
  std::optional<std::uint64_t> default_value() const;
  // Whether the environment and --set may give it: everything that is not inside lists and maps.
  bool overridable() const;
};

// In the order in which people should meet them; a group comes before its keys.
std::span<const Key> schema();

// What else people should know about a key, in whole sentences; may be empty (schema_notes.cc).
std::string_view note(std::string_view path);
std::span<const std::string_view> noted_paths();

// Null if there is none.
const Key* find_key(std::string_view path);
const Key* find_key_of_environment(std::string_view name);

// "limits.idleTimeoutMs" -> "HUSHGATE_IDLE_TIMEOUT_MS", "upstream.maxIdle" ->
// "HUSHGATE_UPSTREAM_MAX_IDLE".
std::string environment_name(std::string_view path);

// What would be right: "a whole number of milliseconds from 1 to 2147483647", `one of "auto",
// "epoll"`.
std::string requirement(const Key& key);

// A stored value as the file would have it: 5000, "auto", true.
std::string shown_value(const Key& key, std::uint64_t value);

}  // namespace hushgate::config
