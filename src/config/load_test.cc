#include "config/load.h"

#include <gtest/gtest.h>

#include "config/address_text.h"

namespace hushgate::config {
namespace {

Loaded loaded(const std::string& text) {
  auto result = load({.file = File{"f.json", text}});
  if (result) return std::move(*result);
  for (const Fault& fault : result.error()) ADD_FAILURE() << fault.to_string();
  return {};
}

TEST(Load, TheExampleOfTheManualLoads) {
  const auto [config, warnings] = loaded(R"({
    "listen": ["127.0.0.1:8787"],                    // strings, or objects
    "admin": "127.0.0.1:8788",
    "workers": "auto",
    "io": { "backend": "auto" },                     /* auto | epoll | uring */
    "client": { "halfClose": "auto", "trustedProxies": [] },
    "upstream": { "idleTimeoutMs": 4000 },
    "upstreams": {
      "api": "http://127.0.0.1:3000",
      "model": { "url": "http://api.example.com", "protocol": "auto", "idleTimeoutMs": 3000 }
    },
    "routes": [
      { "path": "/v1/", "upstream": "model" },
      { "path": "/", "upstream": "api" }
    ],
    "limits": { "idleTimeoutMs": 60000, "requestTimeoutMs": 60000, "upstreamTimeoutMs": 600000 }
  })");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(config.limits, Limits{});
  ASSERT_EQ(config.upstreams.size(), 2U);
  EXPECT_EQ(config.upstreams[0].name, "api");
  EXPECT_EQ(config.upstreams[0].idle_timeout, Ms{4'000});
  EXPECT_EQ(config.upstreams[1].idle_timeout, Ms{3'000});
  ASSERT_EQ(config.routes.size(), 2U);
  EXPECT_EQ(config.routes[0].path, "/v1/");
  EXPECT_EQ(config.routes[0].upstream, 1U);
  EXPECT_EQ(config.listen.at(0).address.to_string(), "127.0.0.1:8787");
  EXPECT_EQ(config.admin.value().address.port, 8788);
}

TEST(Load, EveryKeyReachesItsField) {
  const auto [config, warnings] = loaded(R"({
    "listen": {"address": "[::1]:0"}, "workers": 3, "io": {"backend": "epoll"},
    "client": {"halfClose": "serve", "trustedProxies": ["10.0.0.0/8", "::1"]},
    "upstream": {"protocol": "http1", "idleTimeoutMs": 11, "maxIdle": 0, "closeWaitMs": 12,
                 "host": "client",
                 "sourceAddresses": ["127.0.0.2"]},
    "upstreams": {"u": "http://h", "v": {"url": "unix:/run/v", "maxIdle": 7,
                                             "sourceAddresses": []}},
    "routes": [{"path": "/", "upstream": "v", "connect": true, "upstreamTimeoutMs": 13,
                "minUploadBytesPerSecond": 0, "maxBodyBytes": 14}, {"path": "/u", "upstream": "u"}],
    "limits": {"idleTimeoutMs": 21, "requestTimeoutMs": 22, "minUploadBytesPerSecond": 0,
               "sendTimeoutMs": 24, "minSendBytes": 25, "lingerBytes": 0,
               "upstreamTimeoutMs": 2147483647,
               "connectTimeoutMs": 28, "connectTotalMs": 29, "upstreamRetries": 0,
               "retryBackoffMs": 31, "maxRequestLineBytes": 32,
               "maxHeaderBytes": 64, "maxHeaders": 34, "maxBodyBytes": 35, "maxBufferedBytes": 1024,
               "maxConnections": 37, "backlog": 38, "graceMs": 39, "tunnelIdleTimeoutMs": 40}
  })");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(config.workers, 3U);
  EXPECT_EQ(config.backend, IoBackend::epoll);
  EXPECT_EQ(config.client.half_close, HalfClose::serve);
  EXPECT_EQ(config.client.trusted_proxies.size(), 2U);
  const Upstream& u = config.upstreams.at(0);
  EXPECT_EQ(u.protocol, Protocol::http1);
  EXPECT_EQ(u.idle_timeout, Ms{11});
  EXPECT_EQ(u.max_idle, 0U);
  EXPECT_EQ(u.close_wait, Ms{12});
  EXPECT_EQ(u.host_policy, HostPolicy::client);
  EXPECT_EQ(u.source_addresses.at(0), IpAddress::v4(127, 0, 0, 2));
  const Upstream& v = config.upstreams.at(1);
  EXPECT_EQ(v.scheme, Scheme::unix_socket);
  EXPECT_EQ(v.unix_path, "/run/v");
  EXPECT_EQ(v.max_idle, 7U);
  EXPECT_EQ(v.idle_timeout, Ms{11});
  EXPECT_TRUE(v.source_addresses.empty());
  EXPECT_EQ(config.routes.at(0), (Route{.path = "/",
                                        .upstream = 1,
                                        .connect = Connect::allowed,
                                        .upstream_timeout = Ms{13},
                                        .min_upload_bytes_per_second = 0,
                                        .max_body_bytes = 14}));
  const Limits expected{.idle_timeout = Ms{21},
                        .request_timeout = Ms{22},
                        .min_upload_bytes_per_second = 0,
                        .send_timeout = Ms{24},
                        .min_send_bytes = 25,
                        .linger_bytes = 0,
                        .upstream_timeout = Ms{2'147'483'647},
                        .connect_timeout = Ms{28},
                        .connect_total = Ms{29},
                        .upstream_retries = 0,
                        .retry_backoff = Ms{31},
                        .max_request_line_bytes = 32,
                        .max_header_bytes = 64,
                        .max_headers = 34,
                        .max_body_bytes = 35,
                        .max_buffered_bytes = 1'024,
                        .max_connections = 37,
                        .backlog = 38,
                        .grace = Ms{39},
                        .tunnel_idle_timeout = Ms{40}};
  EXPECT_EQ(config.limits, expected);
}

TEST(Load, ASingleUpstreamWithoutRoutesGetsEverything) {
  for (const char* routes : {"", ", \"routes\": []"}) {
    const std::string text =
        R"({"listen": ":1", "upstreams": {"u": "http://h"})" + std::string(routes) + "}";
    EXPECT_EQ(loaded(text).config.routes, (std::vector<Route>{{.path = "/", .upstream = 0}}));
  }
}

TEST(Load, DefaultsOfUpstreamCountWhereverTheyStandInTheFile) {
  const auto config =
      loaded(R"({"upstreams": {"u": "http://h"}, "listen": ":1", "upstream": {"maxIdle": 9}})")
          .config;
  EXPECT_EQ(config.upstreams.at(0).max_idle, 9U);
}

TEST(Load, ListenersMayNameEveryAddressOrLetTheKernelChoose) {
  const auto config =
      loaded(R"({"listen": [":8080", "*:8081", "localhost:0", "[::]:0", "0.0.0.0:8082"],
                                 "upstreams": {"u": "http://h"}})")
          .config;
  ASSERT_EQ(config.listen.size(), 5U);
  EXPECT_EQ(config.listen[0].family, ListenFamily::any);
  EXPECT_EQ(config.listen[0].address.port, 8080);
  EXPECT_EQ(config.listen[1].family, ListenFamily::any);
  EXPECT_EQ(config.listen[2].address, (IpPort{.ip = IpAddress::v4(127, 0, 0, 1)}));
  EXPECT_EQ(config.listen[3].address.to_string(), "[::]:0");
  EXPECT_EQ(config.listen[4].family, ListenFamily::one);
}

TEST(Load, WhatIsUselessIsWarnedAbout) {
  const auto warnings = loaded(R"({"listen": ":1", "upstreams": {"a": "http://h", "b": "http://h"},
    "routes": [{"path": "/", "upstream": "a"}], "limits": {"connectTotalMs": 10}})")
                            .warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].to_string(), "f.json:1:49: warning: no route goes to upstreams.b");
  EXPECT_EQ(warnings[1].to_string(),
            "f.json:2:78: warning: limits.connectTotalMs (10) ends every attempt before "
            "limits.connectTimeoutMs (5000) can");
}

TEST(Load, NoMoreThanTheBoundOfListenersUpstreamsAndRoutes) {
  const auto with_upstreams = [](std::size_t count) {
    std::string text =
        R"({"listen": ":1", "routes": [{"path": "/", "upstream": "u0"}], "upstreams": {)";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i == 0 ? "" : ",") + std::string("\"u") + std::to_string(i) + "\": \"http://h\"";
    }
    return load({.file = File{"f", text + "}}"}});
  };
  EXPECT_TRUE(with_upstreams(kMaxUpstreams));
  const auto too_many = with_upstreams(kMaxUpstreams + 1);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().at(0).to_string(),
            "f:1:76: upstreams is 1025 items long; it must have 1 to 1024");
}

struct Url {
  const char* text;
  const char* host;
  std::uint16_t port;
  const char* prefix;
  const char* authority;
};

TEST(UpstreamUrl, IsTakenApart) {
  for (const Url& c : {
           Url{"http://h", "h", 80, "", "h"},
           {"HTTP://Api.Example.COM", "api.example.com", 80, "", "api.example.com"},
           {"http://h/", "h", 80, "", "h"},
           {"http://h:80", "h", 80, "", "h"},
           {"http://h:8080/a/b/", "h", 8080, "/a/b", "h:8080"},
           {"http://my_service.local.:1", "my_service.local.", 1, "", "my_service.local.:1"},
           {"http://127.0.0.1:3000", "127.0.0.1", 3000, "", "127.0.0.1:3000"},
           {"http://[::1]", "::1", 80, "", "[::1]"},
           {"http://[0:0::1]:65535/x", "::1", 65535, "/x", "[::1]:65535"},
           {"http://h/a%20b", "h", 80, "/a%20b", "h"},
           {"http://h:443", "h", 443, "", "h:443"},
           {"https://h", "h", 443, "", "h"},
           {"HTTPS://H:443/", "h", 443, "", "h"},
           {"https://h:80/v1/", "h", 80, "/v1", "h:80"},
           {"https://[::1]", "::1", 443, "", "[::1]"},
           {"https://127.0.0.1:8443", "127.0.0.1", 8443, "", "127.0.0.1:8443"},
       }) {
    Upstream upstream;
    const auto parsed = parse_upstream_url(c.text, upstream);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error();
    const bool secure = std::string_view(c.text).substr(4, 1).find_first_of("sS") == 0;
    EXPECT_EQ(upstream.scheme, secure ? Scheme::https : Scheme::http);
    EXPECT_EQ(upstream.host, c.host) << c.text;
    EXPECT_EQ(upstream.port, c.port) << c.text;
    EXPECT_EQ(upstream.prefix, c.prefix) << c.text;
    EXPECT_EQ(upstream.authority, c.authority) << c.text;
    EXPECT_EQ(upstream.literal.has_value(), IpAddress::parse(c.host).has_value()) << c.text;
  }
}

TEST(UpstreamUrl, OfAUnixSocketIsItsPath) {
  Upstream upstream;
  ASSERT_TRUE(parse_upstream_url("unix:/run/my app.sock", upstream));
  EXPECT_EQ(upstream.scheme, Scheme::unix_socket);
  EXPECT_EQ(upstream.unix_path, "/run/my app.sock");
  EXPECT_EQ(upstream.authority, "localhost");
  EXPECT_TRUE(upstream.host.empty());
  const std::string longest(SocketAddress::kMaxUnixPathBytes - 1, 'x');
  EXPECT_TRUE(parse_upstream_url("unix:/" + longest, upstream));
  EXPECT_FALSE(parse_upstream_url("unix:/x" + longest, upstream));
}

}  // namespace
}  // namespace hushgate::config
