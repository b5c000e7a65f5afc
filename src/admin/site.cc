#include "admin/site.h"

namespace hushgate::admin {
namespace {

constexpr std::uint16_t kOk = 200;
constexpr std::uint16_t kNotAllowed = 405;
constexpr std::uint16_t kUnavailable = 503;

bool is_read(http::Method method) {
  return method == http::Method::get || method == http::Method::head;
}

}  // namespace

route::Verdict AdminSite::decide(const http::RequestHead& head) {
  if (head.path != "/healthz") return ErrorKind::no_route;
  if (!is_read(head.method)) {
    return route::SiteAnswer{.status = kNotAllowed,
                             .content_type = "text/plain",
                             .body = "only GET and HEAD",
                             .fields = "Allow: GET, HEAD\r\n"};
  }
  if (health_() == Health::stopping) {
    return route::SiteAnswer{
        .status = kUnavailable, .content_type = "text/plain", .body = "stopping"};
  }
  return route::SiteAnswer{.status = kOk, .content_type = "text/plain", .body = "ok"};
}

}  // namespace hushgate::admin
