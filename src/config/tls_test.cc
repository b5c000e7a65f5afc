// TLS on both sides: what is kept, and every way to contradict oneself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "config/load.h"

namespace hushgate::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kBeforeListen = R"({"upstreams": {"u": "http://h"}, "listen":)";
constexpr std::string_view kBeforeUpstreams = R"({"listen": ":1", "upstreams":)";

std::expected<Loaded, Faults> load_file(const std::string& text) {
  return load({.file = File{.name = "f.json", .text = text, .folder = "/etc/h"}});
}

Loaded loaded(const std::string& text) {
  auto result = load_file(text);
  if (result) return std::move(*result);
  for (const Fault& fault : result.error()) ADD_FAILURE() << fault.to_string();
  return {.config = {.listen = {{}}, .upstreams = {{}}}, .warnings = {}};
}

std::string at(std::string_view listen) {
  return std::string(kBeforeListen) + '\n' + std::string(listen) + '}';
}

std::string to(std::string_view upstreams) {
  return std::string(kBeforeUpstreams) + '\n' + std::string(upstreams) + '}';
}

std::string with_tls(std::string_view tls) {
  return at("{\"address\": \":2\", \"tls\":\n" + std::string(tls) + '}');
}

std::string to_https(std::string_view tls) {
  return to("{\"u\": {\"url\": \"https://h\", \"tls\":\n" + std::string(tls) + "}}");
}

struct Case {
  const char* written;
  const char* faults;  // one a line, less the file's name
};

template <typename Text>
void expect_faults(Text text, std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    const auto result = load_file(text(c.written));
    std::string all = result ? "none" : "";
    for (const Fault& fault : result ? Faults{} : result.error()) {
      all += (all.empty() ? "" : "\n") + fault.to_string().substr(7);
    }
    EXPECT_EQ(all, c.faults) << c.written;
  }
}

TEST(LoadTls, AListenerKeepsAllThatItIsTold) {
  const auto [config, warnings] = loaded(at(R"([":1", {"address": ":2"}, {"tls": {
    "clientCa": "/ca.pem", "clientCertificates": "optional", "minVersion": "1.3",
    "certificates": [{"certificate": "a.pem", "key": "keys/a.pem"},
                     {"key": "../b.pem", "certificate": "/x/b.pem"}]}, "address": ":3"}])"));
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_EQ(config.listen.size(), 3U);
  EXPECT_FALSE(config.listen[0].tls);
  EXPECT_FALSE(config.listen[1].tls);
  EXPECT_EQ(config.listen[2].address.port, 3);
  EXPECT_EQ(config.listen[2].tls,
            (ListenTls{.certificates = {{.certificate = "/etc/h/a.pem", .key = "/etc/h/keys/a.pem"},
                                        {.certificate = "/x/b.pem", .key = "/etc/h/../b.pem"}},
                       .min_version = TlsVersion::tls13,
                       .client_certificates = ClientCertificates::optional,
                       .client_ca = "/ca.pem"}));
}

TEST(LoadTls, AListenerNeedsNoMoreThanACertificate) {
  const Config config =
      loaded(with_tls(R"({"certificates": [{"certificate": "/a", "key": "/a"}]})")).config;
  EXPECT_EQ(config.listen.at(0).tls,
            (ListenTls{.certificates = {{.certificate = "/a", .key = "/a"}}}));
}

TEST(LoadTls, AnUpstreamKeepsAllThatItIsTold) {
  const auto [config, warnings] = loaded(to(R"({"u": {"tls": {
    "ca": "ca.pem", "certificate": "/c", "key": "/k", "serverName": "API.Example.com.",
    "minVersion": "1.3", "dangerouslySkipVerification": false},
    "url": "https://10.0.0.1/v1", "spare": 64}})"));
  EXPECT_THAT(warnings, IsEmpty());
  const Upstream& upstream = config.upstreams.at(0);
  EXPECT_EQ(upstream.scheme, Scheme::https);
  EXPECT_EQ(upstream.port, 443);
  EXPECT_EQ(upstream.spare, 64U);
  EXPECT_EQ(upstream.tls, (UpstreamTls{.ca = "/etc/h/ca.pem",
                                       .certificate = "/c",
                                       .key = "/k",
                                       .server_name = "api.example.com",
                                       .min_version = TlsVersion::tls13}));
  EXPECT_EQ(peer_name(upstream), "api.example.com");
}

TEST(LoadTls, TheNameOfAnUpstreamIsTheHostOfItsUrlUnlessGiven) {
  for (const auto& [url, name] : {std::pair{"https://Api.Example.com", "api.example.com"},
                                  {"https://api.local.:8443", "api.local"},
                                  {"https://[::1]:8443", "::1"}}) {
    const Config config = loaded(to("{\"u\": \"" + std::string(url) + "\"}")).config;
    EXPECT_EQ(config.upstreams.at(0).tls, UpstreamTls{});
    EXPECT_EQ(peer_name(config.upstreams.at(0)), name);
  }
}

TEST(LoadTls, DefaultsHoldForHttpsUpstreamsAndArePassedOverForOthers) {
  const Config config = loaded(R"({"listen": ":1",
    "upstream": {"tls": {"ca": "/ca", "minVersion": "1.3"}, "spare": 1},
    "upstreams": {"a": {"url": "https://a", "tls": {"ca": "/own", "minVersion": "1.2"}},
                  "b": "https://b", "c": "http://c", "d": "unix:/d",
                  "e": {"url": "https://e", "tls": {"dangerouslySkipVerification": true}}},
    "routes": [{"path": "/", "upstream": "a"}]})")
                            .config;
  ASSERT_EQ(config.upstreams.size(), 5U);
  EXPECT_EQ(config.upstreams[0].tls, UpstreamTls{.ca = "/own"});
  EXPECT_EQ(config.upstreams[1].tls, (UpstreamTls{.ca = "/ca", .min_version = TlsVersion::tls13}));
  EXPECT_EQ(config.upstreams[2].tls, UpstreamTls{});
  EXPECT_EQ(config.upstreams[2].spare, 1U);
  EXPECT_EQ(config.upstreams[3].tls, UpstreamTls{});
  EXPECT_EQ(config.upstreams[4].tls,
            (UpstreamTls{.min_version = TlsVersion::tls13, .verification = Verification::skipped}));
}

TEST(LoadTls, EverySourceMayGiveTheDefaults) {
  const auto result =
      load({.environment = {"HUSHGATE_UPSTREAM_TLS_CA=ca.pem",
                            "HUSHGATE_UPSTREAM_TLS_SERVER_NAME=127.0.0.1",
                            "HUSHGATE_UPSTREAM_TLS_MIN_VERSION=1.3",
                            "HUSHGATE_UPSTREAM_TLS_CERTIFICATE=/c", "HUSHGATE_UPSTREAM_SPARE=2"},
            .overrides = {{"--listen", "listen", ":1"}, {"--set", "upstream.tls.key", "k.pem"}},
            .upstream_url = "https://h:8443",
            .working_folder = "/srv/app/"});
  ASSERT_TRUE(result) << result.error().front().to_string();
  const Upstream& upstream = result->config.upstreams.at(0);
  EXPECT_EQ(upstream.tls, (UpstreamTls{.ca = "/srv/app/ca.pem",
                                       .certificate = "/c",
                                       .key = "/srv/app/k.pem",
                                       .server_name = "127.0.0.1",
                                       .min_version = TlsVersion::tls13}));
  EXPECT_EQ(upstream.spare, 2U);
  EXPECT_EQ(upstream.authority, "h:8443");
}

TEST(LoadTls, WhatTheEnvironmentAndTheCommandLineContradictIsToldWithItsPlace) {
  const auto result =
      load({.environment = {"HUSHGATE_UPSTREAM_TLS_CA=", "HUSHGATE_UPSTREAM_TLS_MIN_VERSION=1.1",
                            "HUSHGATE_UPSTREAM_TLS_KEY=/k"},
            .overrides = {{"--listen", "listen", ":1"},
                          {"--set", "upstream.tls.serverName", "*.h"},
                          {"--set", "upstream.tls", "x"}},
            .upstream_url = "http://h"});
  ASSERT_FALSE(result);
  std::vector<std::string> told;
  for (const Fault& fault : result.error()) told.push_back(fault.to_string());
  EXPECT_THAT(
      told,
      ElementsAre(
          "environment HUSHGATE_UPSTREAM_TLS_CA: upstream.tls.ca is \"\"; it must be the path of a "
          "file",
          "environment HUSHGATE_UPSTREAM_TLS_KEY: upstream.tls: key is given without certificate; "
          "a key needs its certificate",
          "environment HUSHGATE_UPSTREAM_TLS_MIN_VERSION: upstream.tls.minVersion is \"1.1\"; it "
          "must be one of \"1.2\", \"1.3\"",
          "command line --set: only a file can set \"upstream.tls\"",
          "command line --set: upstream.tls.serverName is \"*.h\"; it must be a host name, or an "
          "address without brackets"));
}

TEST(LoadTls, AListenerWithoutTlsInPlaceOfOneWithItIsWarnedAbout) {
  const std::string file = with_tls(R"({"certificates": [{"certificate": "/a", "key": "/a"}]})");
  const auto result = load({.file = File{"f.json", file}, .environment = {"HUSHGATE_LISTEN=:2"}});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->config.listen.at(0).tls);
  ASSERT_EQ(result->warnings.size(), 1U);
  EXPECT_EQ(result->warnings[0].to_string(),
            "environment HUSHGATE_LISTEN: warning: this takes the place of listen in the file, "
            "which has tls; here nothing has it, and clients are served in cleartext");
}

TEST(LoadTls, SkippedVerificationIsWarnedAboutAtEveryStart) {
  const auto warnings = loaded(to_https(R"({"dangerouslySkipVerification": true})")).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].to_string(),
            "f.json:2:2: warning: upstreams.u.tls.dangerouslySkipVerification is true: whoever "
            "answers in place of h can read and change everything that is sent there, keys and "
            "tokens too; name the file of its authorities in ca instead");
}

TEST(LoadTlsFaults, AListenersTlsMustBeWhole) {
  expect_faults(
      with_tls,
      {
          {"true", "3:1: listen.tls is true; it must be an object { ... }"},
          {"null", "3:1: listen.tls is null; it must be an object { ... }"},
          {"{}",
           "3:1: listen.tls: certificates is missing; add \"certificates\": [ { \"certificate\": "
           "\"chain.pem\", \"key\": \"key.pem\" } ]"},
          {R"({"certificates": []})",
           "3:18: listen.tls.certificates is empty; it must have 1 to 256"},
          {R"({"certificates": {"certificate": "/a", "key": "/a"}})",
           "3:18: listen.tls.certificates is an object; it must be an array of objects: [ { "
           "\"certificate\": \"chain.pem\", \"key\": \"key.pem\" } ]"},
          {R"({"certificates": ["/a", {"certificate": 5, "key": ""}, {"key": "/a"}]})",
           "3:19: listen.tls.certificates[0] is \"/a\"; it must be an object { ... }\n"
           "3:41: listen.tls.certificates[1].certificate is 5; it must be a string, the path of a "
           "file\n"
           "3:51: listen.tls.certificates[1].key is \"\"; it must be the path of a file\n"
           "3:56: listen.tls.certificates[2]: certificate is missing; it is { \"certificate\": "
           "\"chain.pem\", \"key\": \"key.pem\" }"},
          {R"({"certificates": [{"certificate": "/a", "key": "/a", "keys": "/a"}], "cert": 1})",
           "3:54: unknown key \"listen.tls.certificates[0].keys\"; the nearest known key is "
           "listen.tls.certificates[0].key\n"
           "3:70: unknown key \"listen.tls.cert\"; the nearest known key is "
           "listen.tls.certificates"},
          {R"({"certificates": [{"certificate": "/a", "key": "/\u0000a"}], "minVersion": 1.2})",
           "3:48: listen.tls.certificates[0].key is \"/\\x00a\"; the path of a file must not hold "
           "control characters\n"
           "3:76: listen.tls.minVersion is 1.2; it must be one of \"1.2\", \"1.3\""},
      });
}

TEST(LoadTlsFaults, ClientCertificatesNeedTheirAuthoritiesAndNobodyElseDoes) {
  const auto beside_certificates = [](const char* more) {
    return with_tls(R"({"certificates": [{"certificate": "/a", "key": "/a"}],)" +
                    std::string(more) + '}');
  };
  constexpr const char* kNobodyAsked =
      "3:67: listen.tls.clientCa is \"/ca\"; but clientCertificates is \"off\", so that nobody is "
      "asked for a certificate; set it to \"optional\" or \"required\", or leave clientCa out";
  expect_faults(
      beside_certificates,
      {
          {R"("clientCertificates": "required")",
           "3:1: listen.tls: clientCa is missing; clientCertificates needs the file of the "
           "authorities that clients' certificates must come from"},
          {R"("clientCertificates": "required", "clientCa": "/ca")", "none"},
          {R"("clientCertificates": "off")", "none"},
          {R"("clientCa": "/ca")", kNobodyAsked},
          {R"("clientCa": "/ca", "clientCertificates": "off")", kNobodyAsked},
          {R"("clientCa": "/ca", "clientCertificates": true)",
           "3:96: listen.tls.clientCertificates is true; it must be one of \"off\", \"optional\", "
           "\"required\""},
      });
}

TEST(LoadTlsFaults, NoMoreThanTheBoundOfCertificatesAndSpares) {
  const auto with_certificates = [](std::size_t count) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
      list += std::string(i == 0 ? "" : ",") + R"({"certificate": "/a", "key": "/a"})";
    }
    return with_tls("{\"certificates\": [" + list + "]}");
  };
  EXPECT_TRUE(load_file(with_certificates(kMaxCertificates - 1)));
  EXPECT_TRUE(load_file(with_certificates(kMaxCertificates)));
  const auto too_many = load_file(with_certificates(kMaxCertificates + 1));
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().front().text,
            "listen.tls.certificates is 257 items long; it must have 1 to 256");
  expect_faults(to, {{R"({"u": {"url": "http://h", "spare": 0}})", "none"},
                     {R"({"u": {"url": "http://h", "spare": 64}})", "none"},
                     {R"({"u": {"url": "http://h", "spare": 65}})",
                      "2:36: upstreams.u.spare is 65; it must be a whole number of connections "
                      "from 1 to 64, or 0 for off"}});
}

TEST(LoadTlsFaults, AnUpstreamsTlsMustFitItsUrlAndItself) {
  expect_faults(
      to_https,
      {
          {"{}", "none"},
          {"[]", "3:1: upstreams.u.tls is an array; it must be an object { ... }"},
          {R"({"certificate": "/c"})",
           "3:17: upstreams.u.tls: certificate is given without key; a certificate needs its key"},
          {R"({"ca": "/ca", "key": "/k"})",
           "3:22: upstreams.u.tls: key is given without certificate; a key needs its certificate"},
          {R"({"ca": "/ca", "dangerouslySkipVerification": true})",
           "3:8: upstreams.u.tls.ca is \"/ca\"; nothing is verified against it while "
           "upstreams.u.tls.dangerouslySkipVerification is true; leave ca out, or set that to "
           "false"},
          {R"({"cafile": "/ca", "dangerouslySkipVerification": "true"})",
           "3:2: unknown key \"upstreams.u.tls.cafile\"; the nearest known key is "
           "upstreams.u.tls.ca\n"
           "3:50: upstreams.u.tls.dangerouslySkipVerification is \"true\"; it must be true or "
           "false, without quotes"},
          {R"({"serverName": "https://h"})",
           "3:16: upstreams.u.tls.serverName is \"https://h\"; it must be a host name, or an "
           "address without brackets"},
          {R"({"serverName": "[::1]", "minVersion": "1.0"})",
           "3:16: upstreams.u.tls.serverName is \"[::1]\"; it must be a host name, or an address "
           "without brackets\n"
           "3:39: upstreams.u.tls.minVersion is \"1.0\"; it must be one of \"1.2\", \"1.3\""},
      });
  expect_faults(
      to,
      {
          {R"({"u": {"url": "http://h", "tls": {}}})",
           "2:27: upstreams.u.tls is given, but url is \"http://h\"; write it with https://, or "
           "leave tls out"},
          {R"({"u": {"tls": {"ca": "/ca"}, "url": "unix:/s"}})",
           "2:8: upstreams.u.tls is given, but url is \"unix:/s\"; write it with https://, or "
           "leave tls out"},
          {R"({"u": {"tls": {"key": "/k"}, "url": 5}})",
           "2:23: upstreams.u.tls: key is given without certificate; a key needs its "
           "certificate\n"
           "2:37: upstreams.u.url is 5; it must be a URL like \"http://127.0.0.1:3000\" or an "
           "object with url"},
      });
}

TEST(LoadTlsFaults, DefaultsMustFitThemselvesAndTheUpstreams) {
  const auto with_defaults = [](const char* tls) {
    return R"({"listen": ":1", "upstreams": {"u": {"url": "https://h", "tls": {"ca": "/own"}}},)"
           "\n\"upstream\": {\"tls\":\n" +
           std::string(tls) + "}}";
  };
  expect_faults(
      with_defaults,
      {
          {R"({"certificate": "/c", "key": "/k"})", "none"},
          {R"({"certificate": 5, "key": "/k"})",
           "3:17: upstream.tls.certificate is 5; it must be a string, the path of a file"},
          {R"({"certificate": "/c"})",
           "3:17: upstream.tls: certificate is given without key; a certificate needs its key"},
          {R"({"dangerouslySkipVerification": true})",
           "1:72: upstreams.u.tls.ca is \"/own\"; nothing is verified against it while "
           "upstream.tls.dangerouslySkipVerification is true; leave ca out, or set that to false"},
          {R"({"dangerouslySkipVerification": true, "ca": "/ca"})",
           "1:72: upstreams.u.tls.ca is \"/own\"; nothing is verified against it while "
           "upstream.tls.dangerouslySkipVerification is true; leave ca out, or set that to false\n"
           "3:45: upstream.tls.ca is \"/ca\"; nothing is verified against it while "
           "upstream.tls.dangerouslySkipVerification is true; leave ca out, or set that to false"},
      });
}

}  // namespace
}  // namespace hushgate::config
