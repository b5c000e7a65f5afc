// One configuration, ready for use by every worker. Never changes; shared by the workers and, after
// a reload, by the exchanges that began with it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "config/model.h"
#include "http/head.h"
#include "proxy/tls_setup.h"
#include "route/site.h"
#include "route/table.h"

namespace hushgate::proxy {

struct Setup {
  // `token`: our name in Via and Proxy-Status, the same for every setup of a process.
  // `made`: of this configuration; empty where it has no TLS.
  Setup(config::Config validated, std::string token, TlsSetup made = {})
      : config(std::move(validated)),
        table(config),
        tls(std::move(made)),
        via_token(std::move(token)) {}
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  // Where the routes send a request. Never a SiteAnswer; a Decision points into this setup.
  route::Verdict decide(const http::RequestHead& head) const;

  const config::Config config;
  const route::Table table;  // points into `config`
  const TlsSetup tls;
  // What speaks TLS at listener `index` of `config`; null: cleartext.
  tls::ServerContext::Pointer listener_tls(std::size_t index) const {
    return index < tls.listeners.size() ? tls.listeners[index] : nullptr;
  }
  // The same for an upstream.
  tls::ClientContext::Pointer upstream_tls(std::size_t index) const {
    return index < tls.upstreams.size() ? tls.upstreams[index] : nullptr;
  }

  const std::string via_token;  // random per process, so that a loop is told from a chain of
                                // gateways
};

using SetupPtr = std::shared_ptr<const Setup>;

}  // namespace hushgate::proxy
