#include "app/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/demo_tour.h"
#include "io/sockets.h"

namespace hushgate::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr DemoPorts kPorts{.gateway = 8'787, .kept = 4'321, .closing = 0xABC, .mortal = 4'323};

config::Config load(std::vector<config::Override> overrides = {}) {
  const auto loaded = config::load(
      {.file = config::File{"demo", demo_settings(kPorts)}, .overrides = std::move(overrides)});
  EXPECT_TRUE(loaded.has_value());
  return loaded ? loaded->config : config::Config{};
}

TEST(Demo, ItsSettingsLoadAndSweepASquatterSoon) {
  const config::Config config = load();
  ASSERT_EQ(config.listen.size(), 1U);
  EXPECT_EQ(config.listen[0].address.to_string(), "127.0.0.1:8787");
  ASSERT_EQ(config.upstreams.size(), 3U);
  EXPECT_EQ(config.upstreams[0].port, 4'321);
  EXPECT_EQ(config.upstreams[1].port, 0xABC);
  EXPECT_EQ(config.upstreams[2].port, 4'323);
  EXPECT_EQ(config.limits.idle_timeout, Ms{2'000});
}

TEST(Demo, TheTourNamesThePlaceWhereTheGatewayListens) {
  for (const auto& [listen, url, bash] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"127.0.0.1:8787", "http://127.0.0.1:8787/count", "/dev/tcp/127.0.0.1/8787;"},
           {":9000", "http://127.0.0.1:9000/count", "/dev/tcp/127.0.0.1/9000;"},
           {"0.0.0.0:9000", "http://127.0.0.1:9000/count", "/dev/tcp/127.0.0.1/9000;"},
           {"[::1]:9000", "http://[::1]:9000/count", "/dev/tcp/::1/9000;"}}) {
    const auto config = load({{.flag = "--listen", .key = "listen", .value = listen}});
    const std::string tour = demo_tour(config);
    EXPECT_THAT(tour, HasSubstr(url));
    EXPECT_THAT(tour, HasSubstr(bash));
    EXPECT_THAT(tour, HasSubstr("/:0ABC$/"));
    EXPECT_THAT(tour, Not(HasSubstr("{{")));
    for (const char* command : {"\n1. ", "\n2. ", "\n3. ", "\n4. ", "\n5. "}) {
      EXPECT_THAT(tour, HasSubstr(command));
    }
  }
}

TEST(Demo, TheTourTellsTheTimeoutThatIsInForceAndThinksThreeTimesAsLong) {
  const auto tour = [](const char* value) {
    return demo_tour(load({{.flag = "--set", .key = "limits.idleTimeoutMs", .value = value}}));
  };
  EXPECT_THAT(tour("2000"), HasSubstr("between 2 s and 2.5 s"));
  EXPECT_THAT(tour("2000"), HasSubstr("think=6'"));
  EXPECT_THAT(tour("2500"), HasSubstr("between 2.5 s and 3.125 s"));
  EXPECT_THAT(tour("2500"), HasSubstr("think=8'"));
  EXPECT_THAT(tour("90000"), HasSubstr("between 60 s and 61 s")) << "requestTimeoutMs bounds it";
  EXPECT_THAT(tour("900000"), HasSubstr("think=600'"));
}

TEST(Demo, ItShowsWhereItServesOnceItDoesAndReturnsWhatServeReturned) {
  testing::internal::CaptureStdout();
  std::uint16_t upstream_port = 0;
  const int exit_code =
      run_demo({.overrides = {{.flag = "--listen", .key = "listen", .value = "127.0.0.1:0"}}},
               [&](const config::Config& config, const auto& ready) {
                 EXPECT_EQ(config.listen[0].address.port, 0);
                 upstream_port = config.upstreams[0].port;
                 ready({IpPort{IpAddress::v4(127, 0, 0, 1), 9999}});
                 return 7;
               });
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_EQ(exit_code, 7);
  EXPECT_NE(upstream_port, 0);
  EXPECT_THAT(output, HasSubstr("http://127.0.0.1:" + std::to_string(upstream_port)));
  EXPECT_THAT(output, HasSubstr("http://127.0.0.1:9999"));
}

// Listens on the usual port of the demo, unless somebody does already.
io::Descriptor take_usual_port() {
  io::Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage;
  const auto length = to_sockaddr(IpPort{IpAddress::v4(127, 0, 0, 1), kDemoPort}, storage);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0) ::listen(fd.get(), 1);
  return fd;
}

TEST(Demo, AFreePortIsTakenWhereTheUsualOneIsTakenUnlessItWasAskedFor) {
  const io::Descriptor taken = take_usual_port();
  const auto port_with = [](std::vector<config::Override> overrides,
                            std::vector<std::string> environment) {
    int port = -1;
    run_demo({.environment = std::move(environment), .overrides = std::move(overrides)},
             [&](const config::Config& config, const auto& ready) {
               port = config.listen[0].address.port;
               ready({IpPort{IpAddress::v4(127, 0, 0, 1), 9'999}});
               return kExitDone;
             });
    return port;
  };
  testing::internal::CaptureStdout();
  EXPECT_EQ(port_with({}, {}), 0);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_THAT(output, HasSubstr("127.0.0.1:8787 is taken"));
  EXPECT_THAT(output, HasSubstr("\"listen\": [\"127.0.0.1:9999\"]"));
  testing::internal::CaptureStdout();
  EXPECT_EQ(port_with({{.flag = "--listen", .key = "listen", .value = "127.0.0.1:8787"}}, {}),
            8'787);
  EXPECT_EQ(port_with({}, {"HUSHGATE_LISTEN=127.0.0.1:8787"}), 8'787);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), Not(HasSubstr("is taken")));
}

TEST(Demo, WithTlsTheCommandThatIsPrintedNamesTheFileAndThePortOfItsListener) {
  const auto output_with = [](std::vector<config::Override> overrides) {
    testing::internal::CaptureStdout();
    run_demo({.overrides = std::move(overrides), .tls = DemoTls::yes},
             [&](const config::Config& config, const auto& ready) {
               std::vector<SocketAddress> bound;
               for (const config::ListenAddress& one : config.listen) {
                 EXPECT_TRUE(!one.tls || ::access(one.tls->certificates[0].key.c_str(), R_OK) == 0);
                 bound.emplace_back(IpPort{IpAddress::v4(127, 0, 0, 1),
                                           static_cast<std::uint16_t>(one.tls ? 9443 : 9999)});
               }
               ready(bound);
               return kExitDone;
             });
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_THAT(output_with({}), AllOf(HasSubstr("With TLS: curl --cacert /"),
                                     HasSubstr(" https://localhost:9443/\n")));
  const std::string output =
      output_with({{.flag = "--listen", .key = "listen", .value = "127.0.0.1:0"}});
  EXPECT_THAT(output, AllOf(HasSubstr("No TLS: "), Not(HasSubstr("--cacert"))));
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
