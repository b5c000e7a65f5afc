#include "app/settings.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "config/fault.h"
#include "config/json.h"

namespace hushgate::app {
namespace {

// Absolute; empty if there is none.
std::string working_folder() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

// What to do about a file that cannot be read.
std::string remedy(const std::string& path, int os_error) {
  switch (os_error) {
    case ENOENT:
      if (path.starts_with('/')) return "; give -c the path of a file that is there";
      return "; -c is looked for from " + config::quoted(working_folder());
    case EISDIR: return "; give -c the path of a file in it";
    case EACCES:
      return "; user " + std::to_string(::geteuid()) +
             " needs to read it and to pass the directories on the way to it";
    case EMFILE: return "; raise the descriptor limit (ulimit -n, LimitNOFILE= of systemd)";
    default: return {};
  }
}

config::Fault unreadable(const std::string& path, int os_error) {
  return {
      {.source = config::Source::file, .name = path},
      "the file cannot be read: " + std::string(std::strerror(os_error)) + remedy(path, os_error)};
}

// Where relative paths of the file begin: a pipe is nowhere.
std::string folder_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return working_folder();
  return (std::filesystem::path(working_folder()) / path).parent_path().string();
}

std::expected<config::File, config::Fault> read_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (!file) return std::unexpected(unreadable(path, errno));
  config::File result{.name = path, .text = {}, .folder = folder_of(path)};
  std::array<char, 16'384> piece;
  // One byte more than allowed is enough for the loader to refuse it.
  while (result.text.size() <= config::kMaxFileBytes) {
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get());
    if (got == 0) break;
    result.text.append(piece.data(), got);
  }
  if (std::ferror(file.get()) != 0) return std::unexpected(unreadable(path, errno));
  return result;
}

template <typename Items>
std::string lines(const Items& items) {
  std::string text;
  for (const auto& item : items) text += "hushgate: " + item.to_string() + '\n';
  return text;
}

}  // namespace

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  return all;
}

std::expected<config::Loaded, config::Faults> load_settings(
    const Command& command, const std::vector<std::string>& environment) {
  config::Input input{.environment = environment,
                      .overrides = command.overrides,
                      .upstream_url = command.upstream_url,
                      .working_folder = working_folder()};
  if (command.file) {
    auto file = read_file(*command.file);
    if (!file) return std::unexpected(config::Faults{std::move(file.error())});
    input.file = std::move(*file);
  }
  return config::load(input);
}

std::expected<config::Loaded, config::Faults> load_settings_again(
    const Command& command, const std::vector<std::string>& environment) {
  std::error_code error;
  if (command.file && std::filesystem::exists(*command.file, error) &&
      !std::filesystem::is_regular_file(*command.file, error)) {
    return std::unexpected(
        config::Faults{{{.source = config::Source::file, .name = *command.file},
                        "this is no regular file, so it cannot be read a second time"}});
  }
  return load_settings(command, environment);
}

std::string lines_of(const config::Faults& faults) { return lines(faults); }
std::string lines_of(const config::Warnings& warnings) { return lines(warnings); }

}  // namespace hushgate::app
