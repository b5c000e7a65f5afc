// Tells by a signal that something happened in a directory (inotify). It says neither what nor to
// which file: whoever waits for it looks by himself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/sockets.h"

namespace hushgate::io {

class DirectoryWatch {
 public:
  // `signal` is sent to this process whenever something happens: every thread has blocked it
  // already, since most signals end a process that has not. Error.os_error: EMFILE
  // (fs.inotify.max_user_instances, or descriptors), ENOSYS...
  static Result<std::unique_ptr<DirectoryWatch>> make(int signal);
  // See make().
  explicit DirectoryWatch(Descriptor fd) : fd_(std::move(fd)) {}

  // Watches these and no others from now on: entries that come, go, are renamed or change. False:
  // one of them at least cannot be watched (it is missing, or fs.inotify.max_user_watches).
  bool set(const std::vector<std::string>& directories);

  // Whether anything happened since the last call.
  bool take();

 private:
  Descriptor fd_;
  std::vector<int> watches_;
};

}  // namespace hushgate::io
