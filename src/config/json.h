// JSON with comments as a small tree in which every key and value knows its place. Numbers stay as
// they were written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/fault.h"

namespace hushgate::config {

inline constexpr std::size_t kMaxFileBytes = 4U << 20U;
inline constexpr std::size_t kMaxDepth = 16;  // objects and arrays inside each other

struct Value {
  enum class Type : std::uint8_t { null, boolean, number, string, array, object };

  Type type = Type::null;
  Position at{};
  std::string text{};  // number: as written ("NaN" too); string: decoded; boolean: "true", "false"
  std::string key{};   // of a member of an object
  Position key_at{};
  std::vector<Value> items{};  // array; object: its members in the order of the file, keys unique

  // The member of that key, null if there is none or this is no object.
  const Value* find(std::string_view wanted) const;

  // As a fault shows what was written: 5, "five", null, an array, an object.
  std::string shown() const;
};

struct SyntaxFault {
  Position at;
  std::string text;
};

// `root` is complete if there are no faults. Duplicate keys are all reported (the first one stays
// in the tree); the first break of the grammar ends the parsing.
struct Parsed {
  Value root;
  std::vector<SyntaxFault> faults;
};
Parsed parse_json(std::string_view text);

}  // namespace hushgate::config
