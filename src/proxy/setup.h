// One configuration, ready for use by every worker. Never changes.
#pragma once

#include <string>
#include <utility>

#include "config/model.h"
#include "route/table.h"

namespace hushgate::proxy {

struct Setup {
  Setup(config::Config validated, std::string token)
      : config(std::move(validated)), table(config), via_token(std::move(token)) {}
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  const config::Config config;
  const route::Table table;     // points into `config`
  const std::string via_token;  // our name in Via and Proxy-Status; random per process, so that a
                                // loop is told from a chain of gateways
};

}  // namespace hushgate::proxy
