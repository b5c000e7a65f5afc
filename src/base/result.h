// Expected failures are values.
#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace hushgate {

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, int os_error = 0) {
  return std::unexpected<Error>(Error{kind, os_error});
}

}  // namespace hushgate
