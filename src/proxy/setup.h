// One configuration, ready for use by every worker. Never changes; shared by the workers and, after
// a reload, by the exchanges that began with it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "config/model.h"
#include "http/head.h"
#include "route/site.h"
#include "route/table.h"

namespace hushgate::proxy {

struct Setup {
  // `token`: our name in Via and Proxy-Status, the same for every setup of a process.
  Setup(config::Config validated, std::string token)
      : config(std::move(validated)), table(config), via_token(std::move(token)) {}
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  // Where the routes send a request. Never a SiteAnswer; a Decision points into this setup.
  route::Verdict decide(const http::RequestHead& head) const;

  const config::Config config;
  const route::Table table;     // points into `config`
  const std::string via_token;  // random per process, so that a loop is told from a chain of
                                // gateways
};

using SetupPtr = std::shared_ptr<const Setup>;

}  // namespace hushgate::proxy
