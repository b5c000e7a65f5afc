#include "app/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace hushgate::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

config::Config load(const std::string& text) {
  const auto loaded = config::load({.file = config::File{"test", text}});
  EXPECT_TRUE(loaded) << loaded.error().front().to_string();
  return loaded->config;
}

std::vector<std::string> told(const std::string& before, const std::string& after) {
  std::vector<std::string> lines;
  for (const Change& change : changes(load(before), load(after))) {
    lines.push_back(change.to_string());
  }
  return lines;
}

TEST(Changes, TheSameSettingsInAnotherWordingAreNone) {
  EXPECT_THAT(told(R"({"listen": ":1", "upstreams": {"a": "http://a", "b": "http://b"},
                       "routes": [{"path": "/", "upstream": "a"},
                                  {"path": "/b", "upstream": "b"}]})",
                   R"({"limits": {"idleTimeoutMs": 60000}, "listen": [":1"],
                       "routes": [{"path": "/b", "upstream": "b"},
                                  {"path": "/", "upstream": "a"}],
                       "upstreams": {"b": {"url": "http://b"}, "a": "http://a"}})"),
              IsEmpty());
}

TEST(Changes, AreToldByTheirKeysWithBothValues) {
  EXPECT_THAT(
      told(R"({"listen": ":1", "upstreams": {"a": "http://a"}})",
           R"({"listen": [":1", ":2"], "admin": ":3", "workers": 2,
               "client": {"halfClose": "cancel", "trustedProxies": ["10.0.0.0/8"]},
               "upstreams": {"a": {"url": "http://a/x", "maxIdle": 1,
                                   "sourceAddresses": ["10.0.0.1"]}},
               "limits": {"maxBodyBytes": 5}})"),
      ElementsAre(R"(listen: [":1"] -> [":1", ":2"])", R"(admin: added ":3")",
                  R"(workers: "auto" -> 2)", R"(client.halfClose: "auto" -> "cancel")",
                  "limits.maxBodyBytes: 0 -> 5", R"(client.trustedProxies: [] -> ["10.0.0.0/8"])",
                  R"(upstreams.a.url: "http://a" -> "http://a/x")", "upstreams.a.maxIdle: 512 -> 1",
                  R"(upstreams.a.sourceAddresses: [] -> ["10.0.0.1"])"));
}

TEST(Changes, AnUpstreamOrARouteThatComesOrGoesIsOne) {
  EXPECT_THAT(told(R"({"listen": ":1", "upstreams": {"a": "http://a", "b": "http://b"},
                       "routes": [{"path": "/", "upstream": "a"},
                                  {"path": "/b", "upstream": "b"},
                                  {"path": "/c", "upstream": "b", "maxBodyBytes": 7}]})",
                   R"({"listen": ":1", "upstreams": {"c": "http://c", "a": "http://a"},
                       "routes": [{"path": "/", "upstream": "c"},
                                  {"path": "/c", "upstream": "a"},
                                  {"path": "/d", "upstream": "a"}]})"),
              ElementsAre(R"(upstreams.b: removed "http://b")", R"(upstreams.c: added "http://c")",
                          R"(routes[/].upstream: "a" -> "c")", R"(routes[/b]: removed "b")",
                          R"(routes[/c].upstream: "b" -> "a")",
                          "routes[/c].maxBodyBytes: removed 7", R"(routes[/d]: added "a")"));
}

TEST(Changes, WhatIsMadeAtTheStartKeepsItsValue) {
  const config::Config running = load(R"({"listen": ":1", "upstreams": {"a": "http://a"}})");
  const config::Config wanted = load(
      R"({"listen": ":2", "admin": ":3", "workers": 2, "io": {"backend": "epoll"},
          "upstreams": {"a": "http://a"},
          "limits": {"backlog": 1, "maxBufferedBytes": 2048, "graceMs": 3}})");
  std::vector<std::string> fixed;
  for (const Change& change : changes(running, wanted)) {
    if (needs_restart(change)) fixed.push_back(change.key);
  }
  EXPECT_THAT(fixed, ElementsAre("listen", "admin", "workers", "io.backend",
                                 "limits.maxBufferedBytes", "limits.backlog"));
  EXPECT_THAT(changes(running, without_restart(running, wanted)),
              ElementsAre(Change{"limits.graceMs", "30000", "3"}));
}

constexpr const char* kSecure = R"({
  "listen": [":1", {"address": ":2",
                    "tls": {"certificates": [{"certificate": "/a", "key": "/k"}]}}],
  "upstreams": {"a": {"url": "https://a", "tls": {"ca": "/ca"}}}})";

TEST(Changes, CertificatesOfAListenerThatStaysNeedNoRestart) {
  const char* const wanted = R"({
    "listen": [":1", {"address": "*:2", "tls": {
      "certificates": [{"certificate": "/b", "key": "/k"}, {"certificate": "/a", "key": "/k"}],
      "minVersion": "1.3", "clientCertificates": "optional", "clientCa": "/ca"}}],
    "upstreams": {"a": "https://a"}})";
  const std::vector<Change> all = changes(load(kSecure), load(wanted));
  EXPECT_THAT(all,
              ElementsAre(Change{"listen", R"([":1", ":2"])", R"([":1", "*:2"])"},
                          Change{"listen[:2].tls.certificates", R"(["/a" with "/k"])",
                                 R"(["/b" with "/k", "/a" with "/k"])"},
                          Change{"listen[:2].tls.minVersion", R"("1.2")", R"("1.3")"},
                          Change{"listen[:2].tls.clientCertificates", R"("off")", R"("optional")"},
                          Change{"listen[:2].tls.clientCa", "", R"("/ca")"},
                          Change{"upstreams.a.tls.ca", R"("/ca")", ""}));
  for (const Change& change : all) EXPECT_EQ(needs_restart(change), change.key == "listen");
}

TEST(Changes, ListenersKeepTheirAddressesAndTakeTheTlsThatIsWanted) {
  const config::Config running = load(kSecure);
  const config::Config wanted = load(R"({
    "listen": [{"address": ":3", "tls": {"certificates": [{"certificate": "/c", "key": "/c"}]}},
               {"address": ":1", "tls": {"certificates": [{"certificate": "/d", "key": "/d"}]}}],
    "upstreams": {"a": {"url": "https://a", "tls": {"ca": "/ca"}}}})");
  const config::Config next = without_restart(running, wanted);
  ASSERT_EQ(next.listen.size(), 2U);
  EXPECT_EQ(next.listen[0].text, ":1");
  EXPECT_EQ(next.listen[0].tls, wanted.listen[1].tls);
  EXPECT_EQ(next.listen[1], running.listen[1]);
  EXPECT_THAT(changes(running, next),
              ElementsAre(Change{"listen[:1].tls", "", R"(["/d" with "/d"])"}));
  EXPECT_THAT(changes(next, running),
              ElementsAre(Change{"listen[:1].tls", R"(["/d" with "/d"])", ""}));
}

TEST(Changes, WhetherAListenerSpeaksHttp2IsTakenByAReload) {
  const config::Config running = load(R"({"listen": ":1", "upstreams": {"a": "http://a"}})");
  const config::Config wanted = load(R"({"listen": {"address": ":1", "http2": false},
                                         "upstreams": {"a": "http://a"}})");
  const auto all = changes(running, wanted);
  EXPECT_THAT(all, ElementsAre(Change{"listen[:1].http2", "true", "false"}));
  EXPECT_FALSE(needs_restart(all.front()));
  EXPECT_EQ(without_restart(running, wanted), wanted);
}

TEST(Changes, ListenersWhosePortTheKernelChoosesArePairedInTheirOrder) {
  const auto with = [](const char* first, const char* second) {
    const auto one = [](const char* file) {
      return R"({"address": ":0", "tls": {"certificates": [{"certificate": ")" + std::string(file) +
             R"(", "key": "/k"}]}})";
    };
    return R"({"upstreams": {"a": "http://a"}, "listen": [)" + one(first) + ',' + one(second) +
           "]}";
  };
  EXPECT_THAT(told(with("/a", "/b"), with("/a", "/c")),
              ElementsAre(R"(listen[:0].tls.certificates: ["/b" with "/k"] -> ["/c" with "/k"])"));
}

}  // namespace
}  // namespace hushgate::app
