#include "io/io_choice.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>

#include "io/epoll.h"
#include "io/uring.h"

namespace hushgate::io {
namespace {

// The io contract suite (contract_*_test.cc) and the end-to-end tests were run with io_uring on
// these.
constexpr std::array<std::string_view, 1> kKnownSeries{"6.18"};

std::string_view series_of(std::string_view release) {
  const std::size_t first = release.find('.');
  if (first == std::string_view::npos) return release;
  return release.substr(0, release.find_first_not_of("0123456789", first + 1));
}

std::string running_release() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : std::string();
}

BackendChoice epoll_because(std::string reason) {
  return {BackendChoice::Kind::epoll, "epoll; " + std::move(reason)};
}

BackendChoice choose_automatically() {
  const std::string release = running_release();
  if (!kernel_series_known(release)) {
    return epoll_because("io_uring was not tried on Linux " + std::string(series_of(release)) +
                         " (io.backend \"uring\" insists on it)");
  }
  if (const std::string why = uring_unavailable(); !why.empty()) {
    return epoll_because("io_uring cannot be used: " + why);
  }
  return {BackendChoice::Kind::uring,
          "io_uring; it works here, and Linux " + std::string(series_of(release)) + " is known"};
}

}  // namespace

bool kernel_series_known(std::string_view release) {
  return std::ranges::find(kKnownSeries, series_of(release)) != kKnownSeries.end();
}

std::expected<BackendChoice, std::string> choose_backend(BackendWish wish) {
  if (wish == BackendWish::epoll) return epoll_because("io.backend says so");
  if (wish == BackendWish::automatic) return choose_automatically();
  if (const std::string why = uring_unavailable(); !why.empty()) {
    return std::unexpected("io.backend is \"uring\", but io_uring cannot be used: " + why +
                           "; or io.backend \"auto\", which takes epoll then");
  }
  return BackendChoice{BackendChoice::Kind::uring, "io_uring; io.backend says so"};
}

Result<std::unique_ptr<Backend>> make_backend(BackendChoice::Kind kind, std::size_t lease_bytes) {
  if (kind == BackendChoice::Kind::epoll) return make_epoll_backend({.lease_bytes = lease_bytes});
  UringOptions options;
  options.buffer_bytes = std::min(options.buffer_bytes, lease_bytes);
  return make_uring_backend(options);
}

}  // namespace hushgate::io
