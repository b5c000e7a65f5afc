// What the admin listener answers. GET or HEAD /healthz: 200 "ok" while the gateway serves, 503
// "stopping" once it has been told to stop, so that a load balancer turns away first. Any other
// method there is 405, any other path 404; those are worded by the table of errors.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "route/site.h"

namespace hushgate::admin {

enum class Health : std::uint8_t { serving, stopping };

class AdminSite final : public route::Site {
 public:
  // `health` is asked once for each request to /healthz, on the thread that calls decide().
  explicit AdminSite(std::function<Health()> health) : health_(std::move(health)) {}

  // A SiteAnswer or no_route; never a Decision. The query is not looked at.
  route::Verdict decide(const http::RequestHead& head) override;

 private:
  std::function<Health()> health_;
};

}  // namespace hushgate::admin
