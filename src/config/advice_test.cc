#include "config/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "config/advice_peers.h"
#include "config/load.h"

namespace hushgate::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Config loaded(const std::string& text) {
  auto result = load({.file = File{"f.json", text}});
  if (result) return std::move(result->config);
  for (const Fault& fault : result.error()) ADD_FAILURE() << fault.to_string();
  return {};
}

// About which there is nothing to say.
Config quiet() {
  Config config = loaded(R"({"listen": ":1", "upstreams": {"u": "http://h"}})");
  config.limits.idle_timeout = Ms{620'000};
  return config;
}

std::vector<std::string> said(const Config& config) { return advice(config, 65'536); }

TEST(Advice, NamesTheLoadBalancersThatWouldNotCloseFirst) {
  Config config = quiet();
  EXPECT_THAT(said(config), IsEmpty());
  config.limits.idle_timeout = Ms{600'000};
  EXPECT_THAT(said(config), ElementsAre(AllOf(HasSubstr("limits.idleTimeoutMs is 600000, and"),
                                              HasSubstr("Google Cloud (600 s)"),
                                              HasSubstr("as in 615000"), Not(HasSubstr("ALB")))));
  config.limits.idle_timeout = Ms{60'001};
  EXPECT_THAT(said(config), ElementsAre(Not(HasSubstr("ALB"))));
  config.limits.idle_timeout = Ms{60'000};
  EXPECT_THAT(
      said(config),
      ElementsAre(AllOf(HasSubstr("AWS ALB (60 s), nginx (60 s) and Google Cloud (600 s)"),
                        HasSubstr("it must be the load balancer that closes first, because only "
                                  "who sends the requests knows that none is on its way"),
                        HasSubstr("as in 75000"))));
}

TEST(Advice, OfLoadBalancersOnlyOneOnThisMachineReachesLoopback) {
  Config config = quiet();
  config.listen = {{.text = "127.0.0.1:1", .address = *IpPort::parse("127.0.0.1:1")},
                   {.text = "[::1]:1", .address = *IpPort::parse("[::1]:1")}};
  config.limits.idle_timeout = Ms{75'000};
  EXPECT_THAT(said(config), IsEmpty());
  config.limits.idle_timeout = Ms{60'000};
  EXPECT_THAT(said(config), ElementsAre(AllOf(HasSubstr("longer: nginx (60 s). "))));
}

TEST(Advice, IsGivenWhereDescriptorsAreShort) {
  Config config = quiet();
  EXPECT_THAT(advice(config, 1'024),
              ElementsAre(HasSubstr("the descriptor limit is 1024, so that there can be 408 client "
                                    "connections at most")));
  EXPECT_THAT(advice(config, 4'096), IsEmpty());
  config.limits.max_connections = 2'016;
  EXPECT_THAT(advice(config, 4'096), IsEmpty());
  config.limits.max_connections = 2'017;
  EXPECT_THAT(advice(config, 4'096),
              ElementsAre(AllOf(HasSubstr("limits.maxConnections is 2017 and needs up to 4098 "
                                          "descriptors (one for each client and one for its "
                                          "upstream connection), but the limit is 4096"),
                                HasSubstr("LimitNOFILE="))));
}

TEST(Advice, NamesTheServersWithWhichAPoolRaces) {
  Config config = quiet();
  Upstream& upstream = config.upstreams[0];
  upstream.idle_timeout = Ms{1'800};
  EXPECT_THAT(said(config), IsEmpty());
  upstream.idle_timeout = Ms{1'801};
  EXPECT_THAT(said(config), ElementsAre(AllOf(HasSubstr("upstreams.u.idleTimeoutMs is 1801, and"),
                                              HasSubstr("by then: gunicorn (2 s). Here it must be "
                                                        "hushgate that closes first"),
                                              HasSubstr("In front of gunicorn set 1600"))));
  upstream.idle_timeout = Ms{5'000};
  EXPECT_THAT(
      said(config),
      ElementsAre(HasSubstr("gunicorn (2 s), Node (5 s), uvicorn (5 s) and Apache (5 s). ")));
  upstream.idle_timeout = Ms{75'000};
  EXPECT_THAT(said(config), ElementsAre(HasSubstr("Bun (10 s) and nginx (75 s). ")));
  upstream.max_idle = 0;
  EXPECT_THAT(said(config), IsEmpty());
}

TEST(Advice, APoolThatRacesIsToldAtItsBounds) {
  EXPECT_FALSE(pool_races(Ms{4'500}, Ms{5'000}));
  EXPECT_TRUE(pool_races(Ms{4'501}, Ms{5'000}));
  EXPECT_FALSE(pool_races(Ms{59'500}, Ms{60'000}));
  EXPECT_TRUE(pool_races(Ms{151}, Ms{200}));
  EXPECT_FALSE(pool_races(Ms{150}, Ms{200}));
  for (const auto& [server, safe] :
       std::initializer_list<std::pair<Ms, Ms>>{{Ms{75'000}, Ms{74'000}},
                                                {Ms{5'003}, Ms{4'000}},
                                                {Ms{2'000}, Ms{1'600}},
                                                {Ms{1'250}, Ms{1'000}},
                                                {Ms{1'249}, Ms{1'000}},
                                                {Ms{1'247}, Ms{990}},
                                                {Ms{100}, Ms{50}},
                                                {Ms{59}, Ms{0}},
                                                {Ms{0}, Ms{0}}}) {
    EXPECT_EQ(safe_pool_idle(server), safe) << server.count();
    if (safe > Ms{0}) EXPECT_FALSE(pool_races(safe, server)) << server.count();
  }
}

TEST(Advice, AnUpstreamThatIsHushgateItselfIsTold) {
  struct Case {
    const char* listen;
    const char* upstream;
    bool itself;
  };
  for (const Case& c : {
           Case{"127.0.0.1:80", "http://127.0.0.1", true},
           {"127.0.0.1:80", "http://127.0.0.1:81", false},
           {"127.0.0.1:80", "http://127.0.0.2", false},
           {"127.0.0.1:80", "http://localhost", true},
           {"127.0.0.1:80", "http://app.localhost", true},
           {"127.0.0.1:80", "http://localhost.example", false},
           {"127.0.0.1:80", "http://0.0.0.0", true},
           {"[::1]:80", "http://localhost", true},
           {"[::1]:80", "http://127.0.0.1", false},
           {":80", "http://127.0.0.9", true},
           {":80", "http://[::1]", true},
           {":80", "http://10.0.0.1", false},
           {"10.0.0.1:80", "http://10.0.0.1", true},
           {"0.0.0.0:80", "http://[::1]", false},
           {"0.0.0.0:80", "http://127.0.0.1", true},
           {":80", "unix:/run/80", false},
       }) {
    Config config =
        loaded(std::string(R"({"listen": ")") + c.listen + R"(", "upstreams": {"u": ")" +
               c.upstream + R"("}, "limits": {"idleTimeoutMs": 620000}})");
    if (c.itself) {
      EXPECT_THAT(said(config), ElementsAre(HasSubstr("where hushgate itself listens")))
          << c.listen << ' ' << c.upstream;
    } else {
      EXPECT_THAT(said(config), IsEmpty()) << c.listen << ' ' << c.upstream;
    }
  }
  Config config = quiet();
  config.admin = ListenAddress{.text = "127.0.0.1:80", .address = *IpPort::parse("127.0.0.1:80")};
  config.upstreams[0].literal = IpAddress::v4(127, 0, 0, 1);
  EXPECT_THAT(said(config), ElementsAre(HasSubstr("upstreams.u is \"http://h\", where hushgate")));
}

TEST(Advice, RoutesThatAreWrittenAsPatternsMatchOnlyThemselves) {
  struct Case {
    const char* path;
    const char* meant;
  };
  for (const Case& c : {Case{"/api/*", "Write \"/api/\"."},
                        {"/*", "Write \"/\"."},
                        {"/a/{id}/b", "Write \"/a/\"."},
                        {"/a/:id", "Write \"/a/\"."},
                        {"/a/<id>", "Write \"/a/\"."},
                        {"/v1(.*)", "Write \"/\"."},
                        {"/a$", "Write \"/\"."}}) {
    Config config = quiet();
    config.routes[0].path = c.path;
    EXPECT_THAT(said(config), ElementsAre(AllOf(HasSubstr("routes[0].path is "),
                                                HasSubstr("nothing but these very characters"),
                                                HasSubstr(c.meant))))
        << c.path;
  }
  for (const char* path : {"/", "/a:b", "/a.b/c-d_e~f", "/a;b=c", "/@x"}) {
    Config config = quiet();
    config.routes[0].path = path;
    EXPECT_THAT(said(config), IsEmpty()) << path;
  }
}

TEST(Advice, ARouteLongerThanARequestLineMayBeCanNeverMatch) {
  Config config = quiet();
  config.limits.max_request_line_bytes = 20;
  config.routes[0].path = "/123456";  // GET /123456 HTTP/1.1
  EXPECT_THAT(said(config), IsEmpty());
  config.routes[0].path = "/1234567";
  EXPECT_THAT(said(config),
              ElementsAre(AllOf(HasSubstr("can never match"), HasSubstr("a request line has 21 "),
                                HasSubstr("limits.maxRequestLineBytes is 20"))));
}

TEST(Advice, ARouteLeftWithOnePathOnlyIsTold) {
  Config config = loaded(R"({"listen": ":1", "upstreams": {"u": "http://h", "v": "http://i"},
    "routes": [{"path": "/a", "upstream": "u"}, {"path": "/a/", "upstream": "v"}],
    "limits": {"idleTimeoutMs": 620000}})");
  EXPECT_THAT(said(config),
              ElementsAre(AllOf(HasSubstr("routes[0].path is \"/a\", which matches \"/a\" alone"),
                                HasSubstr("belongs to routes[1], \"/a/\""))));
  config.routes[1].upstream = 0;
  EXPECT_THAT(said(config), IsEmpty());
}

TEST(Advice, IsGivenWhereTrustIsBlind) {
  Config config = quiet();
  config.admin = ListenAddress{.text = ":9", .address = {.port = 9}, .family = ListenFamily::any};
  config.client.trusted_proxies = {*Cidr::parse("0.0.0.0/0")};
  EXPECT_THAT(said(config), ElementsAre(HasSubstr("admin is \":9\""),
                                        HasSubstr("client.trustedProxies holds 0.0.0.0/0")));
  config.admin->address.ip = IpAddress::v4(127, 0, 0, 1);
  config.client.trusted_proxies = {*Cidr::parse("10.0.0.0/8")};
  EXPECT_THAT(said(config), IsEmpty());
}

TEST(Advice, MaxConnectionsFollowsTheDescriptorLimitUnlessSet) {
  EXPECT_EQ(effective_max_connections({}, 1'000), 400U);
  EXPECT_EQ(effective_max_connections({}, 0), 1U);
  EXPECT_EQ(effective_max_connections({}, ~0ULL), 2'147'483'647U);
  EXPECT_EQ(effective_max_connections({.max_connections = 7}, 1'000), 7U);
}

TEST(Advice, TellsOfPortsThatEverybodyTakesForTheOtherProtocol) {
  Config config = quiet();
  const auto only = [&](const char* text, std::optional<ListenTls> tls) {
    config.listen = {{.text = text,
                      .address = *IpPort::parse("10.0.0.1" + std::string(text)),
                      .tls = std::move(tls)}};
    return said(config);
  };
  EXPECT_THAT(only(":80", ListenTls{}), ElementsAre(HasSubstr("listen has \":80\" with tls")));
  EXPECT_THAT(only(":443", std::nullopt),
              ElementsAre(HasSubstr("listen has \":443\" without tls")));
  EXPECT_THAT(only(":443", ListenTls{}), IsEmpty());
  EXPECT_THAT(only(":80", std::nullopt), IsEmpty());
}

TEST(Advice, SpareConnectionsToThisMachineAreNeedless) {
  Config config = quiet();
  const auto spare_to = [&](const std::string& url) {
    config.upstreams =
        loaded(R"({"listen": ":1", "upstreams": {"u": {"url": ")" + url + R"(", "spare": 2}}})")
            .upstreams;
    return said(config);
  };
  for (const char* here :
       {"http://127.0.0.1:3000", "http://[::1]:3000", "http://localhost:3000", "unix:/run/s"}) {
    EXPECT_THAT(spare_to(here),
                ElementsAre(AllOf(HasSubstr("upstreams.u.spare is 2, but"), HasSubstr(here))));
  }
  for (const char* there : {"http://h", "http://10.0.0.1", "https://127.0.0.1", "https://h"}) {
    EXPECT_THAT(spare_to(there), IsEmpty()) << there;
  }
}

TEST(Advice, AnHttpsUpstreamMayBeHushgateItselfToo) {
  Config config = loaded(R"({"listen": ":8443", "upstreams": {"u": "https://localhost:8443"}})");
  config.limits.idle_timeout = Ms{620'000};
  EXPECT_THAT(said(config), ElementsAre(HasSubstr("where hushgate itself listens")));
}

}  // namespace
}  // namespace hushgate::config
