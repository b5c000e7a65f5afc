#include "config/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace hushgate::config {
namespace {

using ::testing::HasSubstr;
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
  "io": {"backend": "epoll"}, "log": {"access": false},
  "client": {"halfClose": "serve", "trustedProxies": ["10.0.0.0/8", "::1"]},
  "upstreams": {"u": "unix:/run/a \"b\" \\ \u00e4.sock",
                "v": {"url": "http://H:81/p/", "maxIdle": 0, "host": "client",
                "sourceAddresses": ["127.0.0.2"]}},
  "routes": [{"path": "/", "upstream": "v", "connect": true}, {"path": "/x", "upstream": "u",
              "upstreamTimeoutMs": 5, "minUploadBytesPerSecond": 0, "maxBodyBytes": 0}],
  "limits": {"maxConnections": 10, "maxBodyBytes": 9007199254740992, "tunnelIdleTimeoutMs": 9}})";

constexpr const char* kSecure = R"({
  "listen": [":1", {"address": ":2", "tls": {
               "certificates": [{"certificate": "a \"b\".pem", "key": "/a"},
                                {"certificate": "/b", "key": "/b"}],
               "minVersion": "1.3", "clientCertificates": "required", "clientCa": "/ca"}},
             {"address": ":3", "tls": {"certificates": [{"certificate": "/c", "key": "/c"}]}}],
  "upstream": {"tls": {"minVersion": "1.3"}},
  "upstreams": {"u": "http://h", "v": "https://h", "w": {"url": "https://h:444/x", "spare": 3,
                "tls": {"ca": "/ca", "certificate": "/c", "key": "/k", "serverName": "H.x",
                        "minVersion": "1.2"}},
                "x": {"url": "https://h", "tls": {"dangerouslySkipVerification": true}}},
  "routes": [{"path": "/", "upstream": "u"}]})";

TEST(Print, WhatIsPrintedLoadsAndSaysTheSame) {
  for (const char* text : {kSmall, kRich, kSecure}) {
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

TEST(Print, TlsIsShownWhereItIsSpokenAndNowhereElse) {
  EXPECT_THAT(to_jsonc(loaded(kRich)), Not(HasSubstr("tls")));
  const std::string text = to_jsonc(loaded(kSecure));
  EXPECT_THAT(text,
              HasSubstr("  \"listen\": [\n"
                        "    \":1\",\n"
                        "    {\n"
                        "      \"address\": \":2\",\n"
                        "      \"tls\": {\n"
                        "        \"certificates\": [\n"
                        "          { \"certificate\": \"a \\\"b\\\".pem\", \"key\": \"/a\" },\n"
                        "          { \"certificate\": \"/b\", \"key\": \"/b\" }\n"
                        "        ],\n"
                        "        \"minVersion\": \"1.3\",  // the lowest version of TLS that "
                        "is spoken (default: \"1.2\")\n"));
  EXPECT_THAT(text, HasSubstr("      \"tls\": {\n"
                              "        \"minVersion\": \"1.3\",\n"
                              "        \"dangerouslySkipVerification\": true\n"
                              "      }\n"));
}

}  // namespace
}  // namespace hushgate::config
