#include "app/watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hushgate::app {
namespace {

namespace fs = std::filesystem;

std::int64_t ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void put_in_front(std::deque<fs::path>& parts, const fs::path& path) {
  parts.insert(parts.begin(), path.begin(), path.end());
}

}  // namespace

Fingerprint Fingerprint::of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {.os_error = errno};
  return {.os_error = 0,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = ns(status.st_mtim),
          .changed_ns = ns(status.st_ctim)};
}

// Walks the path as the kernel does: a link's target takes its place.
std::vector<std::string> directories_of(const std::string& path) {
  std::vector<std::string> found;
  const auto add = [&](const fs::path& directory) {
    if (std::ranges::find(found, directory.string()) == found.end()) {
      found.push_back(directory.string());
    }
  };
  std::error_code error;
  std::deque<fs::path> parts;
  put_in_front(parts, fs::absolute(path, error));
  fs::path at = "/";
  for (int links = 0; !parts.empty() && links <= kMaxSymbolicLinks;) {
    const fs::path part = std::move(parts.front());
    parts.pop_front();
    if (part.is_absolute()) at = "/";
    if (part.empty() || part == "." || part.is_absolute()) continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path target = fs::read_symlink(at / part, error);
    if (error) {
      if (parts.empty()) add(at);
      at /= part;
      continue;
    }
    ++links;
    add(at);
    put_in_front(parts, target);
  }
  return found;
}

bool Settling::observe(const Fingerprint& looks, Time now) {
  if (looks != seen_) {
    seen_ = looks;
    last_ = now;
    if (!first_) first_ = now;
  }
  if (!first_ || now < due()) return false;
  first_.reset();
  if (seen_ == known_) return false;  // it was changed, and changed back
  known_ = seen_;
  return true;
}

Time Settling::due() const {
  if (!first_) return kNever;
  return std::min(last_ + kWatchSettle, *first_ + kWatchSettleMost);
}

FileWatch::FileWatch(std::string path)
    : path_(std::move(path)), settling_(Fingerprint::of(path_)) {}

int FileWatch::tell_by(int signal) {
  auto made = io::DirectoryWatch::make(signal);
  if (!made) return made.error().os_error;
  directories_ = std::move(*made);
  follow();
  return 0;
}

// The path may lead elsewhere by now.
void FileWatch::follow() {
  if (directories_) directories_->set(directories_of(path_));
}

bool FileWatch::look(Time now) {
  if (directories_ && directories_->take()) follow();
  return settling_.observe(Fingerprint::of(path_), now);
}

void TlsWatch::watch(const std::vector<std::string>& paths) {
  std::vector<File> files;
  for (const std::string& path : paths) {
    const auto known = std::ranges::find(files_, path, &File::path);
    files.push_back(known != files_.end() ? *known : File{path, Settling(Fingerprint::of(path))});
  }
  files_ = std::move(files);
}

bool TlsWatch::look(Time now) {
  if (now < next_look_) return false;
  next_look_ = now + kTlsLook;
  bool at_rest = true;
  for (File& file : files_) {
    news_ |= file.settling.observe(Fingerprint::of(file.path), now);
    at_rest &= file.settling.due() == kNever;
  }
  return at_rest && std::exchange(news_, false);
}

}  // namespace hushgate::app
