// The environment and the command line: names, strictness, and who wins.
#include <gtest/gtest.h>

#include "config/load.h"

namespace hushgate::config {
namespace {

constexpr const char* kFile =
    R"({"listen": ":1",
        "upstreams": {"u": "http://h", "v": {"url": "http://h", "idleTimeoutMs": 3}},
        "routes": [{"path": "/", "upstream": "u"}, {"path": "/v", "upstream": "v"}],
        "limits": {"idleTimeoutMs": 100, "graceMs": 100}})";

std::expected<Loaded, Faults> loaded(std::vector<std::string> environment,
                                     std::vector<Override> overrides = {}) {
  return load({.file = File{"f.json", kFile},
               .environment = std::move(environment),
               .overrides = std::move(overrides)});
}

std::string only_fault(const std::expected<Loaded, Faults>& result) {
  if (result) return "none";
  std::string all;
  for (const Fault& fault : result.error()) all += (all.empty() ? "" : "\n") + fault.to_string();
  return all;
}

TEST(LoadSources, LaterWinsKeyByKey) {
  const auto result =
      loaded({"HUSHGATE_IDLE_TIMEOUT_MS=200", "HUSHGATE_SEND_TIMEOUT_MS=200", "PATH=/bin"},
             {{"--set", "limits.sendTimeoutMs", "300"}, {"--set", "limits.sendTimeoutMs", "400"}});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->warnings.empty());
  EXPECT_EQ(result->config.limits.grace, Ms{100});
  EXPECT_EQ(result->config.limits.idle_timeout, Ms{200});
  EXPECT_EQ(result->config.limits.send_timeout, Ms{400});
  EXPECT_EQ(result->config.limits.request_timeout, Ms{60'000});
}

TEST(LoadSources, AnUpstreamsOwnKeyBeatsTheDefaultOfAnySource) {
  const auto result =
      loaded({"HUSHGATE_UPSTREAM_IDLE_TIMEOUT_MS=7"}, {{"--set", "upstream.maxIdle", "9"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->config.upstreams.at(0).idle_timeout, Ms{7});
  EXPECT_EQ(result->config.upstreams.at(1).idle_timeout, Ms{3});
  EXPECT_EQ(result->config.upstreams.at(1).max_idle, 9U);
}

TEST(LoadSources, EveryKindOfKeyHasItsName) {
  const auto result = loaded(
      {"HUSHGATE_LISTEN=127.0.0.1:2,:3", "HUSHGATE_ADMIN=127.0.0.1:4", "HUSHGATE_WORKERS=2",
       "HUSHGATE_IO_BACKEND=epoll", "HUSHGATE_CLIENT_HALF_CLOSE=cancel",
       "HUSHGATE_CLIENT_TRUSTED_PROXIES=10.0.0.0/8,::1",
       "HUSHGATE_UPSTREAM_SOURCE_ADDRESSES=127.0.0.2,127.0.0.3", "HUSHGATE_UPSTREAM_HOST=client",
       "HUSHGATE_MAX_CONNECTIONS=auto", "HUSHGATE_MIN_UPLOAD_BYTES_PER_SECOND=0"});
  ASSERT_TRUE(result) << only_fault(result);
  const Config& config = result->config;
  ASSERT_EQ(config.listen.size(), 2U);
  EXPECT_EQ(config.listen[0].text, "127.0.0.1:2");
  EXPECT_EQ(config.listen[1].family, ListenFamily::any);
  EXPECT_EQ(config.admin.value().address.port, 4);
  EXPECT_EQ(config.workers, 2U);
  EXPECT_EQ(config.backend, IoBackend::epoll);
  EXPECT_EQ(config.client.half_close, HalfClose::cancel);
  EXPECT_EQ(config.client.trusted_proxies.size(), 2U);
  EXPECT_EQ(config.upstreams.at(0).source_addresses.size(), 2U);
  EXPECT_EQ(config.upstreams.at(0).host_policy, HostPolicy::client);
  EXPECT_EQ(config.limits.max_connections, 0U);
  EXPECT_EQ(config.limits.min_upload_bytes_per_second, 0U);
}

TEST(LoadSources, ValuesOfTheEnvironmentAreDigitsAndNothingElse) {
  for (const char* value :
       {"0", "-1", "+1", "abc", "1e3", "60000 ", " 60000", "", "1.5", "0x10", "2147483648",
        "99999999999999999999999", "auto", "\"5\"", "1_000", "5s"}) {
    const std::string shown =
        std::string(value) == "\"5\"" ? R"("\"5\"")" : '"' + std::string(value) + '"';
    EXPECT_EQ(only_fault(loaded({"HUSHGATE_IDLE_TIMEOUT_MS=" + std::string(value)})),
              "environment HUSHGATE_IDLE_TIMEOUT_MS: limits.idleTimeoutMs is " + shown +
                  "; it must be a whole number of milliseconds from 1 to 2147483647");
  }
  EXPECT_TRUE(loaded({"HUSHGATE_IDLE_TIMEOUT_MS=1"}));
  EXPECT_TRUE(loaded({"HUSHGATE_IDLE_TIMEOUT_MS=2147483647"}));
}

TEST(LoadSources, WordsOfTheEnvironmentAreExact) {
  EXPECT_EQ(only_fault(loaded({"HUSHGATE_CLIENT_HALF_CLOSE=Auto"})),
            "environment HUSHGATE_CLIENT_HALF_CLOSE: client.halfClose is \"Auto\"; it must be one "
            "of \"auto\", "
            "\"cancel\", \"serve\"");
  EXPECT_EQ(only_fault(loaded({"HUSHGATE_LISTEN=:1,"})),
            "environment HUSHGATE_LISTEN: listen is \"\"; it must be an address with a port: "
            "127.0.0.1:8787, "
            "[::1]:8787, or :8787 for every address");
  EXPECT_EQ(only_fault(loaded({"HUSHGATE_ADMIN="})),
            "environment HUSHGATE_ADMIN: admin is \"\"; it must be an address with a port: "
            "127.0.0.1:8787, "
            "[::1]:8787, or :8787 for every address");
}

TEST(LoadSources, UnknownNamesAreWarnedAboutBecauseOrchestratorsInjectSome) {
  const auto result =
      loaded({"HUSHGATE_PORT_8787_TCP=tcp://10.0.0.1:8787", "HUSHGATE_IDEL_TIMEOUT_MS=5",
              "HUSHGATE_ROUTES=[]", "hushgate_idle_timeout_ms=5", "NOT_HUSHGATE_X=1"});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->warnings.size(), 3U);
  EXPECT_EQ(result->warnings[1].to_string(),
            "environment HUSHGATE_IDEL_TIMEOUT_MS: warning: no setting has the name "
            "HUSHGATE_IDEL_TIMEOUT_MS, it "
            "is ignored; the nearest is HUSHGATE_IDLE_TIMEOUT_MS");
  EXPECT_EQ(result->config.limits.idle_timeout, Ms{100});
}

TEST(LoadSources, TheCommandLineIsReadLikeTheEnvironment) {
  EXPECT_EQ(only_fault(loaded({}, {{"--workers", "workers", "0"}})),
            "command line --workers: workers is \"0\"; it must be a whole number of threads from 1 "
            "to 1024, or "
            "\"auto\"");
  EXPECT_EQ(only_fault(loaded({}, {{"--set", "limits.idleTimoutMs", "5"}})),
            "command line --set: unknown key \"limits.idleTimoutMs\"; the nearest known key is "
            "limits.idleTimeoutMs");
  EXPECT_EQ(only_fault(loaded({}, {{"--set", "limits", "5"}})),
            "command line --set: only a file can set \"limits\"");
  EXPECT_EQ(only_fault(loaded({}, {{"--set", "routes[].path", "/"}})),
            "command line --set: only a file can set \"routes[].path\"");
}

TEST(LoadSources, AllSourcesReportTogetherInTheirOrder) {
  const auto result = load({.file = File{"f.json", "{\"listen\": \":1\", \"workers\": 0}"},
                            .environment = {"HUSHGATE_GRACE_MS=0", "HUSHGATE_BACKLOG=x"},
                            .overrides = {{"--admin", "admin", "x"}}});
  ASSERT_FALSE(result);
  std::string places;
  for (const Fault& fault : result.error()) places += fault.place.to_string() + '\n';
  EXPECT_EQ(places,
            "f.json\nf.json:1:29\nenvironment HUSHGATE_BACKLOG\nenvironment HUSHGATE_GRACE_MS\n"
            "command line --admin\n");
}

TEST(LoadSources, AFileThatIsNoJsonDoesNotHideFaultsElsewhere) {
  const auto result = load({.file = File{"f.json", "{"}, .environment = {"HUSHGATE_GRACE_MS=0"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().size(), 2U);
}

TEST(LoadSources, NoFileIsNeeded) {
  const auto result = load({.environment = {"HUSHGATE_UPSTREAM_MAX_IDLE=3"},
                            .overrides = {{"--listen", "listen", "127.0.0.1:8787"}},
                            .upstream_url = "http://127.0.0.1:3000"});
  ASSERT_TRUE(result) << only_fault(result);
  ASSERT_EQ(result->config.upstreams.size(), 1U);
  EXPECT_EQ(result->config.upstreams[0].authority, "127.0.0.1:3000");
  EXPECT_EQ(result->config.upstreams[0].max_idle, 3U);
  EXPECT_EQ(result->config.routes, (std::vector<Route>{{.path = "/", .upstream = 0}}));

  EXPECT_EQ(only_fault(load({.upstream_url = "ftp://h"})),
            "command line: listen is missing; say where clients connect, as in \"127.0.0.1:8787\"\n"
            "command line --upstream: the upstream is \"ftp://h\"; it must begin with http://, "
            "https:// or unix:, as in http://127.0.0.1:3000");
}

TEST(LoadSources, TheUpstreamOfTheCommandLineReplacesThoseOfTheFile) {
  const auto result = load({.file = File{"f.json", kFile}, .upstream_url = "http://other"});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->config.upstreams.size(), 1U);
  EXPECT_EQ(result->config.upstreams[0].host, "other");
  EXPECT_EQ(result->config.routes.size(), 1U);
  EXPECT_EQ(result->config.limits.grace, Ms{100});
}

}  // namespace
}  // namespace hushgate::config
