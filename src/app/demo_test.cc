#include "app/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "app/command_line.h"

namespace hushgate::app {
namespace {

using testing::HasSubstr;
using testing::Not;

config::Config load(std::vector<config::Override> overrides = {}) {
  const auto loaded = config::load(
      {.file = config::File{"demo", demo_settings(4321)}, .overrides = std::move(overrides)});
  EXPECT_TRUE(loaded.has_value());
  return loaded ? loaded->config : config::Config{};
}

TEST(Demo, ItsSettingsLoadAndSweepASquatterSoon) {
  const config::Config config = load();
  ASSERT_EQ(config.listen.size(), 1U);
  EXPECT_EQ(config.listen[0].address.to_string(), "127.0.0.1:8787");
  ASSERT_EQ(config.upstreams.size(), 1U);
  EXPECT_EQ(config.upstreams[0].port, 4321);
  EXPECT_EQ(config.limits.idle_timeout, Ms{5'000});
}

TEST(Demo, TheTourNamesThePlaceWhereTheGatewayListens) {
  for (const auto& [listen, url, bash] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"127.0.0.1:8787", "http://127.0.0.1:8787/echo", "/dev/tcp/127.0.0.1/8787;"},
           {":9000", "http://127.0.0.1:9000/echo", "/dev/tcp/127.0.0.1/9000;"},
           {"0.0.0.0:9000", "http://127.0.0.1:9000/echo", "/dev/tcp/127.0.0.1/9000;"},
           {"[::1]:9000", "http://[::1]:9000/echo", "/dev/tcp/::1/9000;"}}) {
    const auto config = load({{.flag = "--listen", .key = "listen", .value = listen}});
    const std::string tour = demo_tour(config, "");
    EXPECT_THAT(tour, HasSubstr(url));
    EXPECT_THAT(tour, HasSubstr(bash));
    EXPECT_THAT(tour, Not(HasSubstr("{{")));
  }
}

TEST(Demo, TheTourTellsTheTimeoutThatIsInForce) {
  const auto config = load({{.flag = "--set", .key = "limits.idleTimeoutMs", .value = "2500"}});
  EXPECT_THAT(demo_tour(config, ""), HasSubstr("after 2.5 s"));
  EXPECT_THAT(demo_tour(load(), ""), HasSubstr("after 5 s"));
}

TEST(Demo, ItShowsWhereItServesOnceItDoesAndReturnsWhatServeReturned) {
  testing::internal::CaptureStdout();
  std::uint16_t upstream_port = 0;
  const int exit_code =
      run_demo({.overrides = {{.flag = "--listen", .key = "listen", .value = "127.0.0.1:0"}}},
               [&](const config::Config& config, const auto& ready) {
                 EXPECT_EQ(config.listen[0].address.port, 0);
                 upstream_port = config.upstreams[0].port;
                 ready(IpPort{IpAddress::v4(127, 0, 0, 1), 9999});
                 return 7;
               });
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_EQ(exit_code, 7);
  EXPECT_NE(upstream_port, 0);
  EXPECT_THAT(output, HasSubstr("http://127.0.0.1:" + std::to_string(upstream_port)));
  EXPECT_THAT(output, HasSubstr("http://127.0.0.1:9999"));
}

TEST(Demo, AFaultySettingIsToldAndNothingIsServed) {
  testing::internal::CaptureStderr();
  const int exit_code =
      run_demo({.environment = {"HUSHGATE_IDLE_TIMEOUT_MS=soon"}}, [](const auto&, const auto&) {
        ADD_FAILURE() << "served";
        return kExitDone;
      });
  EXPECT_EQ(exit_code, kExitFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("HUSHGATE_IDLE_TIMEOUT_MS"));
}

}  // namespace
}  // namespace hushgate::app
