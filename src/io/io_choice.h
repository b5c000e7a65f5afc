// Which backend of the real network a process uses, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/backend.h"

namespace hushgate::io {

enum class BackendWish : std::uint8_t { automatic, uring, epoll };

struct BackendChoice {
  enum class Kind : std::uint8_t { uring, epoll };
  Kind kind = Kind::epoll;
  std::string reason{};  // a sentence for people that begins with the backend's name
};

// Tries io_uring where it is wished for. `automatic` takes it only on a kernel series on which the
// io contract suite was run. The failure says why io_uring, which was insisted on, cannot be used.
std::expected<BackendChoice, std::string> choose_backend(BackendWish wish);

// Whether the suite was run on this series: "6.18" of the release "6.18.3-cloud".
bool kernel_series_known(std::string_view release);

// `lease_bytes`: the most that one take() gives. Error.os_error as the backends' own.
Result<std::unique_ptr<Backend>> make_backend(BackendChoice::Kind kind, std::size_t lease_bytes);

}  // namespace hushgate::io
