#include "app/check_report.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <cstring>

#include "config/advice.h"
#include "config/advice_peers.h"
#include "config/fault.h"

namespace hushgate::app {
namespace {

constexpr Ms kBeyondPool{1'000};
constexpr Duration kAtOnce = Ms{50};  // closed so soon, it was never meant to be used again

std::string ms_text(Duration duration) {
  return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(duration).count());
}

std::string seconds_text(Duration duration) {
  return fmt::format("{:.2f} s", std::chrono::duration<double>(duration).count());
}

Ms whole_ms(Duration duration) { return std::chrono::duration_cast<Ms>(duration); }

std::string cause(Error error) {
  return error.os_error != 0 ? std::string(": ") + std::strerror(error.os_error) : std::string();
}

// Of an address that did not accept.
std::string outcome_text(const ProbedAddress& tried) {
  return tried.address.to_string() +
         (tried.outcome ? std::string(": ") + std::strerror(*tried.outcome) : ": no answer");
}

class Reporter {
 public:
  Reporter(const config::Config& config, const config::Upstream& upstream, const Probed& probed,
           const ProbeOptions& options)
      : config_(config), upstream_(upstream), probed_(probed), options_(options) {}

  ProbeReport make() {
    switch (probed_.end) {
      case ProbeEnd::unresolved: unresolved(); break;
      case ProbeEnd::unreachable: unreachable(); break;
      case ProbeEnd::tls_failed: tls_failed(); break;
      case ProbeEnd::silent: silent(); break;
      case ProbeEnd::hung_up: hung_up(); break;
      case ProbeEnd::not_http: not_http(); break;
      case ProbeEnd::closes_each: closes_each(); break;
      case ProbeEnd::spoke: spoke(); break;
      case ProbeEnd::closed_idle: closed_idle(); break;
      case ProbeEnd::kept_open: kept_open(); break;
    }
    return std::move(report_);
  }

 private:
  // "upstreams.api: ..."
  void say(const std::string& text) {
    report_.lines.push_back("upstreams." + upstream_.name + ": " + text);
  }
  void fail(const std::string& text) {
    report_.reachable = false;
    say(text);
  }

  void unresolved() {
    if (probed_.error.kind == ErrorKind::dns_timeout) {
      return fail(
          fmt::format("{} does not resolve within {} ms (limits.connectTotalMs); requests "
                      "would be answered 504 dns_timeout. Does its name server answer?",
                      config::quoted(upstream_.host), config_.limits.connect_total.count()));
    }
    fail(
        fmt::format("{} does not resolve: {}; requests would be answered 502 dns_error. Check the "
                    "name in {}, /etc/hosts and /etc/resolv.conf",
                    config::quoted(upstream_.host), ::gai_strerror(probed_.error.os_error),
                    config::quoted(upstream_.url)));
  }

  void unreachable() {
    std::string all;
    for (const ProbedAddress& tried : probed_.tried) {
      all += (all.empty() ? "" : "; ") + outcome_text(tried);
    }
    fail(
        fmt::format("nobody accepts connections ({}); requests would be answered 502 or 504. Is it "
                    "running, and does {} say where? (bounded by limits.connectTimeoutMs, {} ms)",
                    all, config::quoted(upstream_.url), config_.limits.connect_timeout.count()));
  }

  // The first line of every upstream that accepted.
  void connected() {
    std::string others;
    for (const ProbedAddress& tried : probed_.tried) {
      if (tried.address == probed_.address || tried.outcome == 0) continue;
      others += "; " + outcome_text(tried);
    }
    if (!others.empty()) others += " (hushgate takes the address that answers)";
    const std::string tls =
        probed_.tls_time > Duration::zero() ? ", TLS in " + ms_text(probed_.tls_time) : "";
    say(fmt::format("connected to {} in {}{}{}{}", probed_.address.to_string(),
                    ms_text(probed_.connect_time), tls, probed_.http2 ? ", HTTP/2" : "", others));
    const IpPort* ip = probed_.address.ip();
    if (ip != nullptr && config::leads_to_itself(config_, *ip)) {
      say("that is where hushgate itself listens: a request sent there comes round again and is "
          "answered 508");
    }
  }

  void answered(const std::string& then) {
    connected();
    const std::string announced =
        probed_.keep_alive_s ? fmt::format(" (Keep-Alive: timeout={})", *probed_.keep_alive_s) : "";
    say(fmt::format("answered HEAD {}/ with {} in {}{}, {}", upstream_.prefix, probed_.status,
                    ms_text(probed_.answer_time), announced, then));
  }

  void tls_failed() {
    connected();
    fail(fmt::format("the TLS handshake failed: {}; requests would be answered 502", probed_.why));
  }

  void silent() {
    connected();
    say(fmt::format(
        "no answer to HEAD {}/ within {} ms; how long it keeps idle connections is not "
        "known. A request may wait for limits.upstreamTimeoutMs, {} ms",
        upstream_.prefix, options_.wait.count(), config_.limits.upstream_timeout.count()));
  }

  void hung_up() {
    connected();
    say(
        fmt::format("it closed the connection instead of answering HEAD {}/{}; if it does so to "
                    "every request, clients get 502 connection_terminated",
                    upstream_.prefix, cause(probed_.error)));
  }

  void not_http() {
    connected();
    if (probed_.http2) {
      return fail(
          "it does not answer as HTTP/2 does; requests would be answered 502. Is it the right "
          "port? "
          "Where HTTP/1.1 is spoken there, set its protocol to \"http1\"");
    }
    fail(
        "what it answered is no HTTP/1 response; requests would be answered 502 "
        "http_protocol_error. Is it the right port, and is TLS (then its url begins with https://) "
        "or "
        "HTTP/2 spoken there?");
  }

  void closes_each() {
    answered("and closes the connection behind each response");
    say("nothing can be pooled: each request makes a connection of its own, which is served all "
        "the "
        "same. Keep-alive there would save that");
  }

  void spoke() {
    answered("and sent bytes behind it, although a response to HEAD has no body");
    say("hushgate never uses such a connection again. Other methods may be answered well: how long "
        "it keeps idle connections is not known");
  }

  void kept_open() {
    answered(
        fmt::format("and still had the idle connection open after {} ms", options_.wait.count()));
    if (!pools()) return;
    if (!config::pool_races(pool_idle(), options_.wait)) return say(fits());
    say(
        fmt::format("idleTimeoutMs is {}, longer than this probe waited: to be sure that it is not "
                    "closed before, run with --probe-wait-ms {}",
                    pool_idle().count(), (pool_idle() + kBeyondPool).count()));
  }

  void closed_idle() {
    if (probed_.idle < kAtOnce) {
      answered("and closed the connection right behind it, without having said so");
      return say(
          "pooling gains nothing here and each response is followed by a close: set maxIdle to 0 "
          "for it, or have the server keep connections (or say Connection: close)");
    }
    answered(fmt::format("and closed the idle connection after {}", seconds_text(probed_.idle)));
    if (!pools()) return;
    const Ms server = whole_ms(probed_.idle);
    if (!config::pool_races(pool_idle(), server)) return say(fits());
    if (probed_.http2) {
      return say(
          fmt::format("idleTimeoutMs is {}, which races with that: every so often the connection "
                      "that requests share is closed just as one more goes out. {}",
                      pool_idle().count(), remedy(server)));
    }
    say(fmt::format(
        "idleTimeoutMs is {}, which races with that: every so often a pooled connection is closed "
        "just as it is wanted. No request is lost (a safe one is sent again on a new connection, "
        "others never use the pool), but each time it costs one. {}",
        pool_idle().count(), remedy(server)));
  }

  std::string remedy(Ms server) const {
    const Ms safe = config::safe_pool_idle(server);
    if (safe == Ms{0} && probed_.http2) return "Have the server keep them longer";
    if (safe == Ms{0}) return "Set maxIdle to 0 for it, or have the server keep them longer";
    return fmt::format("Set its idleTimeoutMs to {}, or have the server keep them longer",
                       safe.count());
  }

  // Whether its connections are pooled at all; says so if not.
  bool pools() {
    if (probed_.http2) return true;
    if (upstream_.max_idle == 0) say("maxIdle is 0: its connections are not pooled");
    const bool announces_too_little = probed_.keep_alive_s.value_or(2) < 2;
    if (announces_too_little) {
      say("that is announced to be less than 2 s: its connections are not pooled");
    }
    return upstream_.max_idle > 0 && !announces_too_little;
  }

  // How long the pool keeps them: as configured, or less because of what it announces.
  Ms pool_idle() const {
    if (!probed_.keep_alive_s) return upstream_.idle_timeout;
    const Ms announced{std::int64_t{*probed_.keep_alive_s - 1} * 1'000};
    return std::min(upstream_.idle_timeout, announced);
  }

  std::string fits() const {
    if (pool_idle() == upstream_.idle_timeout) {
      return fmt::format("idleTimeoutMs is {}: it fits", pool_idle().count());
    }
    return fmt::format(
        "idleTimeoutMs is {}, but the pool lets go after {} ms because of what it "
        "announces: it fits",
        upstream_.idle_timeout.count(), pool_idle().count());
  }

  const config::Config& config_;
  const config::Upstream& upstream_;
  const Probed& probed_;
  const ProbeOptions& options_;
  ProbeReport report_;
};

}  // namespace

ProbeReport report(const config::Config& config, const config::Upstream& upstream,
                   const Probed& probed, const ProbeOptions& options) {
  return Reporter(config, upstream, probed, options).make();
}

}  // namespace hushgate::app
