#include "admin/site.h"

namespace hushgate::admin {
namespace {

constexpr std::uint16_t kOk = 200;
constexpr std::uint16_t kUnavailable = 503;

bool is_read(http::Method method) {
  return method == http::Method::get || method == http::Method::head;
}

}  // namespace

route::Verdict AdminSite::decide(const http::RequestHead& head) {
  if (head.path != "/healthz") return ErrorKind::no_route;
  if (!is_read(head.method)) return ErrorKind::method_not_allowed;
  if (health_() == Health::stopping) {
    return route::SiteAnswer{kUnavailable, "text/plain", "stopping"};
  }
  return route::SiteAnswer{kOk, "text/plain", "ok"};
}

}  // namespace hushgate::admin
