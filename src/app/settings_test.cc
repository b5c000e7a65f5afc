#include "app/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace hushgate::app {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string path_of_test() {
  return ::testing::TempDir() + "hushgate_settings_" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

TEST(Settings, ReadAgainTheyAreWhatTheFileSaysThenBehindTheSameFlags) {
  const std::string path = path_of_test();
  const Command command{
      .verb = Verb::serve, .file = path, .overrides = {{"--set", "limits.graceMs", "7"}}};
  std::ofstream(path) << R"({"listen": ":1", "upstreams": {"u": "http://h"}})";
  ASSERT_TRUE(load_settings(command, {}));
  std::ofstream(path) << R"({"listen": ":1", "upstreams": {"u": "http://h"},
                             "limits": {"graceMs": 1, "idleTimeoutMs": 9}})";
  const auto again = load_settings_again(command, {"HUSHGATE_IDLE_TIMEOUT_MS=8"});
  std::remove(path.c_str());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->config.limits.grace, Ms{7});
  EXPECT_EQ(again->config.limits.idle_timeout, Ms{8});
}

TEST(Settings, AFileThatIsGoneWhenItIsReadAgainIsAFault) {
  const Command command{.verb = Verb::serve, .file = path_of_test()};
  const auto again = load_settings_again(command, {});
  ASSERT_FALSE(again);
  ASSERT_EQ(again.error().size(), 1U);
  EXPECT_THAT(again.error().front().to_string(), StartsWith(path_of_test() + ": "));
  EXPECT_THAT(again.error().front().to_string(),
              HasSubstr(": No such file or directory; give -c "));
}

TEST(Settings, APipeIsNotWaitedForWhenSettingsAreReadAgain) {
  const std::string path = path_of_test();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto again = load_settings_again({.verb = Verb::serve, .file = path}, {});
  std::remove(path.c_str());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().front().to_string(), EndsWith("it cannot be read a second time"));
}

TEST(Settings, RelativePathsBeginAtTheFilesFolderAndThoseOfFlagsAtTheWorkingDirectory) {
  namespace fs = std::filesystem;
  const fs::path folder = path_of_test();
  fs::create_directory(folder);
  std::ofstream(folder / "f.json") << R"({"listen": ":1", "upstream": {"tls": {"ca": "ca.pem"}},
                                          "upstreams": {"u": "https://h"}})";
  const fs::path here = fs::current_path();
  const auto loaded_as = [&](const fs::path& path) {
    const auto loaded = load_settings({.verb = Verb::serve,
                                       .file = path.string(),
                                       .overrides = {{"--set", "upstream.tls.key", "k.pem"}}},
                                      {"HUSHGATE_UPSTREAM_TLS_CERTIFICATE=/c.pem"});
    return loaded ? loaded->config.upstreams.at(0).tls : config::UpstreamTls{};
  };
  const config::UpstreamTls wanted{
      .ca = folder / "ca.pem", .certificate = "/c.pem", .key = here / "k.pem"};
  const config::UpstreamTls absolute = loaded_as(folder / "f.json");
  const config::UpstreamTls relative = loaded_as(fs::relative(folder / "f.json"));
  fs::remove_all(folder);
  EXPECT_EQ(absolute, wanted);
  EXPECT_TRUE(relative.ca.starts_with('/'));
  EXPECT_EQ(fs::path(relative.ca).lexically_normal(), wanted.ca);
}

}  // namespace
}  // namespace hushgate::app
