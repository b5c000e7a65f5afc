// Which HTTP is spoken, on both sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "config/print.h"

namespace hushgate::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::expected<Loaded, Faults> load_file(const std::string& text) {
  return load({.file = File{.name = "f.json", .text = text}});
}

Config loaded(const std::string& text) {
  auto result = load_file(text);
  if (result) return std::move(result->config);
  for (const Fault& fault : result.error()) ADD_FAILURE() << fault.to_string();
  return {.listen = {{}}, .upstreams = {{}}};
}

// All of them, less the file's name.
std::string faults_of(const Input& input) {
  const auto result = load(input);
  std::string all = result ? "none" : "";
  for (const Fault& fault : result ? Faults{} : result.error()) {
    all += (all.empty() ? "" : "\n") + fault.to_string();
  }
  return all;
}

std::string to(const std::string& upstream) {
  return R"({"listen": ":1", "upstreams": {"u": )" + upstream + "}}";
}

std::string at(const std::string& listen) {
  return R"({"upstreams": {"u": "http://h"}, "listen": )" + listen + '}';
}

std::string faults_of(const std::string& text) {
  return faults_of(Input{.file = File{.name = "f", .text = text}});
}

TEST(LoadHttp2, ClientsMaySpeakItUnlessAListenerSaysNo) {
  const Config config = loaded(at(R"([":1", {"address": ":2"}, {"http2": false, "address": ":3"},
                   {"address": ":4", "http2": true}])"));
  EXPECT_EQ(config.listen.at(0).http2, Http2::on);
  EXPECT_EQ(config.listen.at(1).http2, Http2::on);
  EXPECT_EQ(config.listen.at(2).http2, Http2::off);
  EXPECT_EQ(config.listen.at(3).http2, Http2::on);
  EXPECT_EQ(config.limits.max_streams, 128U);
}

TEST(LoadHttp2, AListenerThatIsMoreThanItsAddressIsPrintedSo) {
  const Config config = loaded(at(R"([":1", {"address": ":2", "http2": false}])"));
  const std::string text = to_jsonc(config);
  EXPECT_EQ(loaded(text), config) << text;
  EXPECT_THAT(text, HasSubstr("    {\n      \"address\": \":2\",\n      \"http2\": false"));
  EXPECT_THAT(to_jsonc(loaded(at(R"({"address": ":2"})"))), Not(HasSubstr("http2\": ")));
}

TEST(LoadHttp2, EveryProtocolFitsAScheme) {
  const auto protocol_of = [](const std::string& upstream) {
    return loaded(to(upstream)).upstreams.at(0).protocol;
  };
  EXPECT_EQ(protocol_of(R"("https://h")"), Protocol::auto_);
  EXPECT_EQ(protocol_of(R"({"url": "https://h", "protocol": "auto"})"), Protocol::auto_);
  EXPECT_EQ(protocol_of(R"({"url": "https://h", "protocol": "http1"})"), Protocol::http1);
  EXPECT_EQ(protocol_of(R"({"url": "https://h", "protocol": "http2"})"), Protocol::http2);
  EXPECT_EQ(protocol_of(R"({"url": "http://h", "protocol": "http1"})"), Protocol::http1);
  EXPECT_EQ(protocol_of(R"({"protocol": "h2c", "url": "http://h"})"), Protocol::h2c);
  EXPECT_EQ(protocol_of(R"({"url": "unix:/s", "protocol": "h2c"})"), Protocol::h2c);
}

TEST(LoadHttp2Faults, WhatDoesNotFitTheUrlIsSaidWithWhatWould) {
  EXPECT_EQ(faults_of(to(R"({"url": "http://h", "protocol": "http2"})")),
            "f:1:69: upstreams.u.protocol is \"http2\"; but url is \"http://h\", which has no TLS; "
            "\"h2c\" is HTTP/2 without it");
  EXPECT_EQ(faults_of(to(R"({"protocol": "http2", "url": "unix:/s"})")),
            "f:1:50: upstreams.u.protocol is \"http2\"; but url is \"unix:/s\", which has no TLS; "
            "\"h2c\" is HTTP/2 without it");
  EXPECT_EQ(faults_of(to(R"({"url": "https://h", "protocol": "h2c"})")),
            "f:1:70: upstreams.u.protocol is \"h2c\"; but url is \"https://h\", where TLS comes "
            "first; \"http2\" is HTTP/2 behind TLS");
  EXPECT_EQ(faults_of(to(R"({"url": "https://h", "protocol": "h3"})")),
            "f:1:70: upstreams.u.protocol is \"h3\"; it must be one of \"auto\", \"http1\", "
            "\"http2\", \"h2c\"");
}

TEST(LoadHttp2Faults, ADefaultMustFitEveryUpstreamThatHasNoneOfItsOwn) {
  EXPECT_EQ(faults_of(R"({"listen": ":1", "upstream": {"protocol": "h2c"},
                          "routes": [{"path": "/", "upstream": "a"}],
                          "upstreams": {"a": "http://a",
                                        "b": {"url": "https://b", "protocol": "auto"}}})"),
            "none");
  EXPECT_EQ(faults_of(R"({"listen": ":1", "upstreams": {"a": "https://a"},
"upstream": {"protocol": "h2c"}})"),
            "f:2:26: upstreams.a.protocol is \"h2c\"; but url is \"https://a\", where TLS comes "
            "first; \"http2\" is HTTP/2 behind TLS");
  EXPECT_EQ(faults_of(Input{.overrides = {{"--listen", "listen", ":1"},
                                          {"--set", "upstream.protocol", "http2"}},
                            .upstream_url = "http://h"}),
            "command line --set: upstream.protocol is \"http2\"; but url is \"http://h\", which "
            "has no TLS; \"h2c\" is HTTP/2 without it");
}

TEST(LoadHttp2Faults, StreamsHaveABound) {
  const auto with = [](const std::string& streams) {
    return R"({"listen": ":1", "upstreams": {"u": "http://h"}, "limits": {"maxStreams": )" +
           streams + "}}";
  };
  EXPECT_EQ(loaded(with("1")).limits.max_streams, 1U);
  EXPECT_EQ(loaded(with("1000")).limits.max_streams, 1'000U);
  for (const char* wrong : {"0", "1001", "\"auto\""}) {
    EXPECT_THAT(faults_of(with(wrong)),
                HasSubstr("it must be a whole number of streams from 1 to 1000"));
  }
  EXPECT_THAT(faults_of(at(R"({"address": ":1", "http2": "h2"})")),
              HasSubstr("listen.http2 is \"h2\"; it must be true or false"));
}

}  // namespace
}  // namespace hushgate::config
