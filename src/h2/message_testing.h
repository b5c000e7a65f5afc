// What the tests of messages share: header blocks from lists of fields, and back.
#pragma once

#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "h2/block.h"
#include "h2/message.h"

namespace hushgate::h2::testing {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline Block block_of(const Fields& fields, std::size_t max_bytes = 65'536) {
  Block block(max_bytes);
  for (const auto& [name, value] : fields) static_cast<void>(block.add(name, value));
  return block;
}

// Of a Block or FieldViews.
template <typename Block>
Fields fields_of(const Block& block) {
  Fields fields;
  for (std::size_t i = 0; i < block.size(); ++i) {
    fields.emplace_back(block[i].name, block[i].value);
  }
  return fields;
}

// A request's pseudo-fields, and these behind them.
inline Fields request(std::string_view method, const Fields& more = {}) {
  Fields fields{{":method", std::string(method)},
                {":scheme", "https"},
                {":authority", "a.example"},
                {":path", "/x?y"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

inline Fields connect(std::string_view protocol, const Fields& more = {}) {
  Fields fields = request("CONNECT", more);
  fields.insert(fields.begin() + 1, {":protocol", std::string(protocol)});
  return fields;
}

inline Fields response(std::string_view status, const Fields& more = {}) {
  Fields fields{{":status", std::string(status)}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

inline std::string repeated(char c, std::size_t count) { return std::string(count, c); }

}  // namespace hushgate::h2::testing
