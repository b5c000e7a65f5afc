#include "route/table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "route/pattern.h"

namespace hushgate::route {
namespace {

config::Config config_of(std::initializer_list<const char*> paths) {
  config::Config config;
  for (const char* path : paths) {
    config.upstreams.push_back({.name = path});
    config.routes.push_back({.path = path, .upstream = config.upstreams.size() - 1});
  }
  return config;
}

// The path of the route, or the error.
struct Outcome {
  std::string route{};
  ErrorKind error = ErrorKind::none;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << '"' << outcome.route << "\" error " << static_cast<int>(outcome.error);
}

Outcome decide(const Table& table, std::string_view target, std::string_view method = "GET") {
  const Result<Decision> decision = table.decide(method, target);
  if (!decision) return {.error = decision.error().kind};
  EXPECT_EQ(decision->upstream->name, decision->route->path);
  return {.route = decision->route->path};
}

TEST(Table, TheLongestCoveringPathWins) {
  const auto config =
      config_of({"/", "/v1/", "/v1/chat", "/v1/chat/completions", "/v10", "/static", "/v1/a/b/c"});
  const Table table(config);
  for (const auto& [target, route] : std::initializer_list<std::pair<const char*, const char*>>{
           {"/", "/"},
           {"", "/"},
           {"?x=/v1/", "/"},
           {"/x", "/"},
           {"/v1", "/"},
           {"/v1/", "/v1/"},
           {"/v1/models", "/v1/"},
           {"/v1/chat", "/v1/chat"},
           {"/v1/chats", "/v1/"},
           {"/v1/chat/", "/v1/chat"},
           {"/v1/chat/x", "/v1/chat"},
           {"/v1/chat/completions", "/v1/chat/completions"},
           {"/v1/chat/completions?stream=/../..//", "/v1/chat/completions"},
           {"/v1/chat/completionsx", "/v1/chat"},
           {"/v1/chat.completions", "/v1/"},
           {"/v1/a", "/v1/"},
           {"/v1/a/b", "/v1/"},
           {"/v1/a/b/c/d", "/v1/a/b/c"},
           {"/v10", "/v10"},
           {"/v100", "/"},
           {"/static/x.css", "/static"},
           {"/statics", "/"},
           {"/zzz", "/"},
           {"/\xff", "/"},
       }) {
    EXPECT_EQ(decide(table, target), Outcome{.route = route}) << target;
  }
}

TEST(Table, WithoutACoveringPathThereIsNoRoute) {
  const auto config = config_of({"/b", "/d/"});
  const Table table(config);
  for (const char* target : {"/", "/a", "/bb", "/c", "/d", "/e", "/%41", "/x//y"}) {
    EXPECT_EQ(decide(table, target), Outcome{.error = ErrorKind::no_route}) << target;
  }
  EXPECT_EQ(decide(table, "/b"), Outcome{.route = "/b"});
  const config::Config empty;
  EXPECT_EQ(decide(Table(empty), "/"), Outcome{.error = ErrorKind::no_route});
}

struct Careful {
  const char* target;
  const char* route;  // null: bad_path
};

void expect(std::initializer_list<Careful> cases) {
  const auto config = config_of({"/", "/admin", "/public/", "/public/a/"});
  const Table table(config);
  for (const Careful& c : cases) {
    const Outcome expected =
        c.route == nullptr ? Outcome{.error = ErrorKind::bad_path} : Outcome{.route = c.route};
    EXPECT_EQ(decide(table, c.target), expected) << c.target;
  }
}

TEST(Table, APathThatReadsAsTheSameRouteEverywhereIsForwarded) {
  expect({
      Careful{"/public/a%20b", "/public/"},
      {"/public/%C3%A4", "/public/"},
      {"/public/x/../y", "/public/"},
      {"/public/./y", "/public/"},
      {"/public/x%2Fy", "/public/"},
      {"/public/x%2f..%2fy", "/public/"},
      {"/public//y", "/public/"},
      {"/public/.well-known", "/public/"},
      {"/.well-known/acme", "/"},
      {"/public/x\\y", "/public/"},
      {"/public/x%5Cy", "/public/"},
      {"/public/x%00y", "/public/"},
      {"/public/100%", "/public/"},
      {"/public/%zz", "/public/"},
      {"/public/%2525", "/public/"},
      {"/x?y=/../admin%2f", "/"},
      {"//x", "/"},
      {"/admin/..x", "/admin"},
      {"/public/%2e", "/public/"},
  });
}

TEST(Table, APathThatReadsAsAnotherRouteIsRefused) {
  expect({
      // Dot segments, raw and encoded.
      Careful{"/public/../admin", nullptr},
      {"/public/..", nullptr},
      {"/public/%2e%2e/admin", nullptr},
      {"/public/.%2E/admin", nullptr},
      {"/public/%2e%2e%2fadmin", nullptr},
      {"/public/..%2fadmin", nullptr},
      {"/public/..%5cadmin", nullptr},
      {"/public/..\\admin", nullptr},
      {"/public/..;/admin", nullptr},
      {"/public/..;x=1/admin", nullptr},
      {"/public/%2e%2e;x/admin", nullptr},
      {"/x/../admin", nullptr},
      {"/./admin", nullptr},
      {"/public/a/../b", nullptr},
      // Encoded more than once.
      {"/public/%252e%252e/admin", nullptr},
      {"/public/%25252e%25252e%25252fadmin", nullptr},
      {"/public/%%32%65./admin", nullptr},
      // Slashes.
      {"//admin", nullptr},
      {"/%2fadmin", nullptr},
      {"/\\admin", nullptr},
      {"/%5cadmin", nullptr},
      {"/admin%2fx", nullptr},
      {"/admin\\x", nullptr},
      {"/public%2fx", nullptr},
      {"/public//a/b", nullptr},
      // Spelled otherwise.
      {"/%61dmin", nullptr},
      {"/%2561dmin", nullptr},
      {"/admin%00", nullptr},
      {"/admin%00x", nullptr},
      {"/admin%2500x", nullptr},
      {"/x#/../admin", nullptr},
      // Above the root.
      {"/..", nullptr},
      {"/../x", nullptr},
      {"/%2e%2e/x", nullptr},
      {"/x/../../y", nullptr},
      {"/public/a/../../../public/a/x", nullptr},
      {"/admin/..;", nullptr},
  });
}

TEST(Table, ClimbingAboveTheRootIsRefusedEvenWithOneRoute) {
  const auto config = config_of({"/"});
  const Table table(config);
  EXPECT_EQ(decide(table, "/../x"), Outcome{.error = ErrorKind::bad_path});
  EXPECT_EQ(decide(table, "/a/%2e%2e/%2e%2e/x"), Outcome{.error = ErrorKind::bad_path});
  EXPECT_EQ(decide(table, "/a/../x"), Outcome{.route = "/"});
}

TEST(Table, DecodingIsBounded) {
  const auto config = config_of({"/"});
  const Table table(config);
  const auto nested = [](int decodings) {
    std::string target = "/%";
    for (int i = 0; i < decodings - 1; ++i) target += "25";
    return target + "41";
  };
  EXPECT_EQ(decide(table, nested(kMaxDecodings - 1)), Outcome{.route = "/"});
  EXPECT_EQ(decide(table, nested(kMaxDecodings)), Outcome{.route = "/"});
  EXPECT_EQ(decide(table, nested(kMaxDecodings + 1)), Outcome{.error = ErrorKind::bad_path});
}

TEST(Table, ATargetThatIsNoPathIsABadRequest) {
  const auto config = config_of({"/"});
  const Table table(config);
  for (const char* target : {"x", "x/y", "http://h/", "%2f", "\\x", ".", "**"}) {
    EXPECT_EQ(decide(table, target), Outcome{.error = ErrorKind::bad_request}) << target;
  }
}

TEST(Table, AStarIsForOptionsAndBelongsToTheRootRoute) {
  const auto config = config_of({"/", "/x"});
  const Table table(config);
  EXPECT_EQ(decide(table, "*", "OPTIONS"), Outcome{.route = "/"});
  EXPECT_EQ(decide(table, "*", "GET"), Outcome{.error = ErrorKind::bad_request});
  EXPECT_EQ(decide(table, "*", "options"), Outcome{.error = ErrorKind::bad_request});
  const auto without_root = config_of({"/x"});
  EXPECT_EQ(decide(Table(without_root), "*", "OPTIONS"), Outcome{.error = ErrorKind::no_route});
}

TEST(Table, ConnectIsRefusedUnlessTheRootRouteAllowsIt) {
  auto config = config_of({"/", "/x"});
  EXPECT_EQ(decide(Table(config), "host:443", "CONNECT"),
            Outcome{.error = ErrorKind::method_not_allowed});
  config.routes[0].connect = config::Connect::allowed;
  EXPECT_EQ(decide(Table(config), "host:443", "CONNECT"), Outcome{.route = "/"});
  const auto without_root = config_of({"/x"});
  EXPECT_EQ(decide(Table(without_root), "host:443", "CONNECT"),
            Outcome{.error = ErrorKind::method_not_allowed});
}

TEST(Table, RoutesInheritTheLimitsTheyDoNotSet) {
  auto config = config_of({"/", "/big"});
  config.limits.upstream_timeout = Ms{77};
  config.limits.max_body_bytes = 5;
  config.routes[1].max_body_bytes = 0;
  config.routes[1].min_upload_bytes_per_second = 1;
  const Table table(config);
  const auto root = table.decide("GET", "/");
  const auto big = table.decide("GET", "/big");
  ASSERT_TRUE(root && big);
  EXPECT_EQ(*root->limits, (RouteLimits{Ms{77}, config.limits.min_upload_bytes_per_second, 5}));
  EXPECT_EQ(*big->limits, (RouteLimits{Ms{77}, 1, 0}));
}

TEST(Table, ManyRoutesAreFoundAsALinearSearchFindsThem) {
  config::Config config;
  config.upstreams.push_back({.name = "u"});
  for (const char* a : {"", "a", "ab", "b", "a.b", "a~"}) {
    for (const char* b : {"", "/", "/c", "/c/", "/cd", "/c/d/"}) {
      const std::string path = "/" + std::string(a) + b;
      if (!path.starts_with("//")) config.routes.push_back({.path = path});
    }
  }
  const Table table(config);
  for (const char* a : {"", "a", "ab", "abc", "a.b", "a~", "z"}) {
    for (const char* b : {"", "/", "/c", "/c/", "/cd", "/c/d/", "/c/d/e", "/ce"}) {
      const std::string path = "/" + std::string(a) + b;
      if (path.starts_with("//")) continue;
      std::string_view best;
      for (const auto& route : config.routes) {
        if (covers(route.path, path) && route.path.size() > best.size()) best = route.path;
      }
      const auto decision = table.decide("GET", path);
      EXPECT_EQ(decision ? decision->route->path : "", best) << path;
    }
  }
}

}  // namespace
}  // namespace hushgate::route
