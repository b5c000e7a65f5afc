#include "admin/site.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "http/parser.h"

namespace hushgate::admin {
namespace {

// What a site says, flattened for comparison.
struct Outcome {
  std::uint16_t status = 0;
  std::string body{};
  ErrorKind error = ErrorKind::none;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << outcome.status << " \"" << outcome.body << "\" error " << static_cast<int>(outcome.error);
}

Outcome ask(route::Site& site, const std::string& request_line) {
  const std::string bytes = request_line + " HTTP/1.1\r\nHost: a\r\n\r\n";
  http::RequestHead head;
  EXPECT_TRUE(http::parse_request_head(bytes, head)) << request_line;
  const route::Verdict verdict = site.decide(head);
  if (const auto* answer = std::get_if<route::SiteAnswer>(&verdict)) {
    EXPECT_EQ(answer->content_type, "text/plain");
    return {.status = answer->status, .body = answer->body};
  }
  const auto* error = std::get_if<ErrorKind>(&verdict);
  EXPECT_NE(error, nullptr) << "the admin site never leads to an upstream";
  return {.error = error != nullptr ? *error : ErrorKind::internal_fault};
}

TEST(AdminSite, HealthIsOkWhileServing) {
  AdminSite site([] { return Health::serving; });
  const Outcome ok{.status = 200, .body = "ok"};
  EXPECT_EQ(ask(site, "GET /healthz"), ok);
  EXPECT_EQ(ask(site, "HEAD /healthz"), ok);
  EXPECT_EQ(ask(site, "GET /healthz?verbose=1"), ok);
  EXPECT_EQ(ask(site, "GET http://a/healthz"), ok);
}

TEST(AdminSite, HealthTurnsToStoppingBetweenTwoRequests) {
  Health health = Health::serving;
  AdminSite site([&] { return health; });
  EXPECT_EQ(ask(site, "GET /healthz").status, 200);
  health = Health::stopping;
  const Outcome stopping{.status = 503, .body = "stopping"};
  EXPECT_EQ(ask(site, "GET /healthz"), stopping);
  EXPECT_EQ(ask(site, "HEAD /healthz"), stopping);
}

TEST(AdminSite, OtherMethodsAreNotAllowedOnHealth) {
  AdminSite site([] { return Health::serving; });
  const Outcome refused{.status = 405, .body = "only GET and HEAD"};
  for (const char* line : {"POST /healthz", "PUT /healthz", "DELETE /healthz", "OPTIONS /healthz",
                           "TRACE /healthz", "PATCH /healthz", "PURGE /healthz"}) {
    EXPECT_EQ(ask(site, line), refused) << line;
  }
}

TEST(AdminSite, EverythingElseIsNotFoundWhateverTheMethod) {
  AdminSite site([] { return Health::serving; });
  const Outcome missing{.error = ErrorKind::no_route};
  for (const char* line :
       {"GET /", "GET /healthz/", "GET /Healthz", "GET //healthz", "GET /x/../healthz",
        "GET /%68ealthz", "POST /metrics", "OPTIONS *", "CONNECT a:443"}) {
    EXPECT_EQ(ask(site, line), missing) << line;
  }
}

}  // namespace
}  // namespace hushgate::admin
