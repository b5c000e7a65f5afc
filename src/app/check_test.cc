#include "app/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/load.h"

namespace hushgate::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A file that is gone with the test.
class SettingsFile {
 public:
  explicit SettingsFile(const std::string& text)
      : path_(::testing::TempDir() + "hushgate_check_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json") {
    std::ofstream(path_) << text;
  }
  ~SettingsFile() { std::remove(path_.c_str()); }
  SettingsFile(const SettingsFile&) = delete;
  SettingsFile& operator=(const SettingsFile&) = delete;

  const std::string& path() const { return path_; }
  Command command() const { return {.verb = Verb::check, .file = path_}; }

 private:
  std::string path_;
};

TEST(Check, PrintsSettingsThatLoadAndAdviceThatTeaches) {
  const SettingsFile file(R"({"listen": ":1", "upstreams": {"u": "http://h"}})");
  const CheckResult result = check(file.command(), {"HUSHGATE_GRACE_MS=7", "HUSHGATE_X=1"}, 1'024);
  EXPECT_EQ(result.exit_code, kExitDone);
  EXPECT_THAT(result.output, HasSubstr("\"graceMs\": 7,"));
  const auto again = config::load({.file = config::File{"again", result.output}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->config.limits.grace, Ms{7});
  EXPECT_THAT(result.errors, HasSubstr("hushgate: environment HUSHGATE_X: warning: "));
  EXPECT_THAT(
      result.errors,
      HasSubstr("hushgate: advice: limits.idleTimeoutMs is 60000, and these load balancers"));
  EXPECT_THAT(result.errors, HasSubstr("hushgate: advice: the descriptor limit is 1024"));
}

TEST(Check, ListsEveryFaultWithItsPlaceAndFails) {
  const SettingsFile file(
      "{\"listen\": \":1\",\n \"upstreams\": {\"u\": \"http://h\"},\n \"limits\": {\"graceMs\": "
      "0}}");
  const CheckResult result = check(file.command(), {"HUSHGATE_IDLE_TIMEOUT_MS=60000 "}, 65'536);
  EXPECT_EQ(result.exit_code, kExitFailed);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.errors, "hushgate: " + file.path() +
                               ":3:24: limits.graceMs is 0; it must be a whole number of "
                               "milliseconds from 1 to 2147483647\n"
                               "hushgate: environment HUSHGATE_IDLE_TIMEOUT_MS: "
                               "limits.idleTimeoutMs is \"60000 \"; it must be a "
                               "whole number of milliseconds from 1 to 2147483647\n"
                               "hushgate: 2 faults; `serve` would not start with these settings\n");
}

TEST(Check, AFileThatCannotBeReadIsAFault) {
  const CheckResult missing =
      check({.verb = Verb::check, .file = "/nonexistent/x.json"}, {}, 65'536);
  EXPECT_EQ(missing.exit_code, kExitFailed);
  EXPECT_THAT(missing.errors,
              HasSubstr("/nonexistent/x.json: the file cannot be read: No such file or directory"));
  const CheckResult directory = check({.verb = Verb::check, .file = "/"}, {}, 65'536);
  EXPECT_EQ(directory.exit_code, kExitFailed);
  EXPECT_THAT(directory.errors, HasSubstr("/: the file cannot be read: Is a directory; give -c the "
                                          "path of a file in it"));
  const CheckResult relative = check({.verb = Verb::check, .file = "no/x.json"}, {}, 65'536);
  EXPECT_THAT(relative.errors, HasSubstr("; -c is looked for from \"/"));
}

TEST(Check, NeedsNoFile) {
  const CheckResult result = check({.verb = Verb::check,
                                    .upstream_url = "http://127.0.0.1:3000",
                                    .overrides = {{"--listen", "listen", "127.0.0.1:8787"}}},
                                   {"HUSHGATE_IDLE_TIMEOUT_MS=75000"}, 65'536);
  EXPECT_EQ(result.exit_code, kExitDone);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, HasSubstr("\"url\": \"http://127.0.0.1:3000\""));
}

}  // namespace
}  // namespace hushgate::app
