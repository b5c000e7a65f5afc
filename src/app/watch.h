// `serve --watch`: finds out that the configuration file has other contents, however that came
// about: written in place, replaced by a rename as editors do, or by another target of a symbolic
// link anywhere on its path as Kubernetes does. Then a reload follows, as for SIGHUP.
//
// Directories tell at once that something happened (io::DirectoryWatch). Not all of them do
// (network file systems, a directory that is replaced itself), so one look a second finds the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "io/directory_watch.h"

namespace hushgate::app {

// Unchanged for so long, a file is taken for complete.
inline constexpr Ms kWatchSettle{100};
// One that keeps changing is read so long after the first change.
inline constexpr Ms kWatchSettleMost{2'000};
inline constexpr Ms kTlsLook{200};
inline constexpr int kMaxSymbolicLinks = 40;  // followed on a path, as the kernel does

// What a file looks like from outside. Other contents without another one of these are not seen.
struct Fingerprint {
  int os_error = 0;  // of stat(2): 0, or there is no such file...
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // owner and permissions too

  static Fingerprint of(const std::string& path);

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// The directories in which `path` can be changed: the one that holds the file, and each one that
// holds a symbolic link on the way to it. Each once.
std::vector<std::string> directories_of(const std::string& path);

// When a change has come to rest.
class Settling {
 public:
  explicit Settling(const Fingerprint& known) : known_(known), seen_(known) {}

  // What the file looks like at `now`, which never goes back. True: it does not look as it did when
  // this was last true (or at the beginning), and it is time to read it.
  bool observe(const Fingerprint& looks, Time now);
  // When to look again; kNever: nothing is under way.
  Time due() const;

 private:
  Fingerprint known_;          // told last
  Fingerprint seen_;           // at the last look
  std::optional<Time> first_;  // when it differed first; none: nothing is under way
  Time last_{};                // when it changed last
};

class FileWatch {
 public:
  // What the file looks like now is what is not news. So: before it is read for the first time.
  explicit FileWatch(std::string path);

  // Has the directories tell by this signal; see io::DirectoryWatch::make. 0, or the errno with
  // which that failed: one look a second must do.
  int tell_by(int signal);

  // Whether the file is to be read again. To be called when the signal came, when due() has come,
  // and once a second.
  bool look(Time now);
  Time due() const { return settling_.due(); }

  const std::string& path() const { return path_; }

 private:
  void follow();

  std::string path_;
  Settling settling_;
  std::unique_ptr<io::DirectoryWatch> directories_;  // null: none tells
};

// The files of certificates and keys: looked at every kTlsLook while there are any. Read when all
// of them have come to rest, because a key and its certificate are replaced one after the other.
class TlsWatch {
 public:
  // What they look like now is not news.
  void watch(const std::vector<std::string>& paths);
  // Whether they are to be read again.
  bool look(Time now);
  // When to look next; kNever: there are none.
  Time due() const { return files_.empty() ? kNever : next_look_; }

 private:
  struct File {
    std::string path;
    Settling settling;
  };
  std::vector<File> files_;
  Time next_look_{};
  bool news_ = false;  // of one, while others have not come to rest
};

}  // namespace hushgate::app
