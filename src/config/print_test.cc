#include "config/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/advice.h"
#include "config/load.h"

namespace hushgate::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Config loaded(const std::string& text) {
  auto result = load({.file = File{"f.json", text}});
  if (result) return std::move(result->config);
  for (const Fault& fault : result.error()) ADD_FAILURE() << fault.to_string();
  return {};
}

constexpr const char* kSmall = R"({"listen": ":1", "upstreams": {"u": "http://h"}})";
constexpr const char* kRich = R"({
  "listen": ["127.0.0.1:1", "[::1]:1", {"address": ":2"}], "admin": "localhost:3", "workers": 2,
  "io": {"backend": "epoll"},
  "client": {"halfClose": "serve", "trustedProxies": ["10.0.0.0/8", "::1"]},
  "upstreams": {"u": "unix:/run/a \"b\" \\ \u00e4.sock",
                "v": {"url": "http://H:81/p/", "maxIdle": 0, "host": "client",
                "sourceAddresses": ["127.0.0.2"]}},
  "routes": [{"path": "/", "upstream": "v", "connect": true}, {"path": "/x", "upstream": "u",
              "upstreamTimeoutMs": 5, "minUploadBytesPerSecond": 0, "maxBodyBytes": 0}],
  "limits": {"maxConnections": 10, "maxBodyBytes": 9007199254740992, "tunnelIdleTimeoutMs": 9}})";

TEST(Print, WhatIsPrintedLoadsAndSaysTheSame) {
  for (const char* text : {kSmall, kRich}) {
    const Config config = loaded(text);
    EXPECT_EQ(loaded(to_jsonc(config)), config) << to_jsonc(config);
  }
}

TEST(Print, ValuesCarryTheirMeaningAndTheDefaultTheyLeft) {
  const std::string text = to_jsonc(loaded(kRich));
  EXPECT_THAT(text,
              HasSubstr("    \"idleTimeoutMs\": 60000,  // how long a client connection may be "
                        "silent between requests\n"));
  EXPECT_THAT(text,
              HasSubstr("\"maxConnections\": 10,  // of clients; auto is 0.4 x the descriptor "
                        "limit (default: \"auto\")\n"));
  EXPECT_THAT(text, HasSubstr("{ \"path\": \"/\", \"upstream\": \"v\", \"connect\": true },\n"));
}

TEST(Advice, IsGivenWhereTheLoadBalancersTimeoutIsOurs) {
  Config config = loaded(kSmall);
  EXPECT_THAT(advice(config, 65'536),
              testing::ElementsAre(HasSubstr("limits.idleTimeoutMs is 60000")));
  config.limits.idle_timeout = Ms{75'000};
  EXPECT_THAT(advice(config, 65'536), IsEmpty());
}

TEST(Advice, IsGivenWhereDescriptorsAreShort) {
  Config config = loaded(kSmall);
  config.limits.idle_timeout = Ms{75'000};
  EXPECT_THAT(advice(config, 1'024),
              testing::ElementsAre(HasSubstr("the descriptor limit is 1024, so that there can "
                                             "be 408 client connections at most")));
  EXPECT_THAT(advice(config, 4'096), IsEmpty());
  config.limits.max_connections = 2'016;
  EXPECT_THAT(advice(config, 4'096), IsEmpty());
  config.limits.max_connections = 2'017;
  EXPECT_THAT(advice(config, 4'096),
              testing::ElementsAre(HasSubstr("limits.maxConnections is 2017 and needs up to 4098 "
                                             "descriptors, but the limit is 4096")));
}

TEST(Advice, IsGivenWhereUpstreamsCloseFirstAndWhereTrustIsBlind) {
  Config config = loaded(kSmall);
  config.limits.idle_timeout = Ms{75'000};
  config.upstreams[0].idle_timeout = Ms{5'000};
  config.admin = ListenAddress{.text = ":9", .address = {.port = 9}, .family = ListenFamily::any};
  config.client.trusted_proxies = {*Cidr::parse("0.0.0.0/0")};
  EXPECT_THAT(advice(config, 65'536),
              testing::ElementsAre(HasSubstr("upstreams.u.idleTimeoutMs is 5000"),
                                   HasSubstr("admin is \":9\""),
                                   HasSubstr("client.trustedProxies holds 0.0.0.0/0")));
  config.upstreams[0].idle_timeout = Ms{4'999};
  config.admin->address.ip = IpAddress::v4(127, 0, 0, 1);
  config.client.trusted_proxies = {*Cidr::parse("10.0.0.0/8")};
  EXPECT_THAT(advice(config, 65'536), IsEmpty());
}

TEST(Advice, MaxConnectionsFollowsTheDescriptorLimitUnlessSet) {
  EXPECT_EQ(effective_max_connections({}, 1'000), 400U);
  EXPECT_EQ(effective_max_connections({}, 0), 1U);
  EXPECT_EQ(effective_max_connections({}, ~0ULL), 2'147'483'647U);
  EXPECT_EQ(effective_max_connections({.max_connections = 7}, 1'000), 7U);
}

}  // namespace
}  // namespace hushgate::config
