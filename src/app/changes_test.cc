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

}  // namespace
}  // namespace hushgate::app
