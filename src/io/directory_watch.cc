#include "io/directory_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace hushgate::io {
namespace {

// Not IN_MODIFY: a write in place ends in a close, and a log file beside ours would never be quiet.
constexpr std::uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                  IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF |
                                  IN_ONLYDIR;

}  // namespace

Result<std::unique_ptr<DirectoryWatch>> DirectoryWatch::make(int signal) {
  Descriptor fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) return fail(ErrorKind::internal_fault, errno);
  if (::fcntl(fd.get(), F_SETOWN, ::getpid()) != 0 || ::fcntl(fd.get(), F_SETSIG, signal) != 0 ||
      ::fcntl(fd.get(), F_SETFL, O_NONBLOCK | O_ASYNC) != 0) {
    return fail(ErrorKind::internal_fault, errno);
  }
  return std::make_unique<DirectoryWatch>(std::move(fd));
}

// The new ones first: a directory that stays keeps its watch, and what happens meanwhile is seen.
bool DirectoryWatch::set(const std::vector<std::string>& directories) {
  std::vector<int> watches;
  for (const std::string& directory : directories) {
    const int watch = ::inotify_add_watch(fd_.get(), directory.c_str(), kEvents);
    if (watch >= 0) watches.push_back(watch);
  }
  for (const int watch : watches_) {
    if (std::ranges::find(watches, watch) == watches.end()) ::inotify_rm_watch(fd_.get(), watch);
  }
  const bool all = watches.size() == directories.size();
  watches_ = std::move(watches);
  return all;
}

bool DirectoryWatch::take() {
  alignas(inotify_event) std::array<std::byte, 4'096> events;
  bool any = false;
  while (::read(fd_.get(), events.data(), events.size()) > 0) any = true;
  return any;
}

}  // namespace hushgate::io
