#include "app/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "app/command_line.h"
#include "app/demo_tour.h"
#include "app/demo_upstream.h"
#include "app/settings.h"
#include "io/process.h"
#include "tls/self_signed.h"

namespace hushgate::app {
namespace {

constexpr const char* kSettingsName = "the demo's settings";

void print(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void print_if_cancelled(const DemoEvent& event) {
  if (event.outcome != DemoOutcome::cancelled) return;
  print(stdout, "the upstream: " + event.to_string() + '\n');
}

bool is_taken(const IpPort& address) {
  const auto probed = io::probe_listen(address);
  return !probed && probed.error().os_error == EADDRINUSE;
}

// Whether somebody said where to listen.
bool is_told_where(const DemoOptions& options) {
  const auto sets_it = [](const config::Override& one) { return one.key == "listen"; };
  const auto names_it = [](const std::string& entry) {
    return entry.starts_with("HUSHGATE_LISTEN=");
  };
  return std::ranges::any_of(options.overrides, sets_it) ||
         std::ranges::any_of(options.environment, names_it);
}

// A certificate for this machine and its key, in a file that ends with the demo.
class LocalCertificate {
 public:
  LocalCertificate();
  LocalCertificate(const LocalCertificate&) = delete;
  LocalCertificate& operator=(const LocalCertificate&) = delete;
  ~LocalCertificate() {
    if (!file_.empty()) ::unlink(file_.c_str());
  }

  const std::string& file() const { return file_; }
  const std::string& error() const { return error_; }  // empty: there is a file

 private:
  std::string file_;
  std::string error_;
};

LocalCertificate::LocalCertificate() {
  const auto pem = tls::make_local_certificate(std::chrono::system_clock::now());
  if (!pem) {
    error_ = pem.error();
    return;
  }
  const char* const told = std::getenv("TMPDIR");
  std::string path = std::string(told != nullptr ? told : "/tmp") + "/hushgate-demo-XXXXXX";
  const int fd = ::mkstemp(path.data());  // for nobody else to read
  if (fd >= 0) file_ = path;
  std::FILE* const file = fd >= 0 ? ::fdopen(fd, "w") : nullptr;
  const bool written = file != nullptr && std::fputs(pem->certificate.c_str(), file) >= 0 &&
                       std::fputs(pem->key.c_str(), file) >= 0;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed) error_ = path + ": " + std::generic_category().message(errno);
}

// How to try TLS, where a listener speaks it.
std::string tls_words(const config::Config& config, const std::optional<DemoListener>& tls) {
  if (!tls) return {};
  const bool speaks_it = std::ranges::any_of(
      config.listen, [](const config::ListenAddress& one) { return one.tls.has_value(); });
  if (!speaks_it) return "No TLS: other addresses have taken the place of its listener.\n\n";
  return fmt::format("With TLS: curl --cacert {} https://localhost:{}/\n\n", tls->pem_file,
                     tls->port);
}

}  // namespace

std::string demo_settings(const DemoPorts& ports, const std::optional<DemoListener>& tls) {
  std::string listen = fmt::format(R"("127.0.0.1:{}")", ports.gateway);
  if (tls) {
    listen += fmt::format(R"(, {{
    "address": "127.0.0.1:{0}",
    "tls": {{ "certificates": [{{ "certificate": "{1}", "key": "{1}" }}] }}
  }})",
                          tls->port, tls->pem_file);
  }
  return fmt::format(R"({{  // what the demo runs with; flags and environment win over it
  "listen": [{}],
  "upstreams": {{  // built in
    "demo": "http://127.0.0.1:{}",
    "closing": "http://127.0.0.1:{}",  // closes its connection behind each POST
    "mortal": "http://127.0.0.1:{}"  // dies on demand
  }},
  "routes": [
    {{ "path": "/", "upstream": "demo" }},
    {{ "path": "/closing/", "upstream": "closing" }},
    {{ "path": "/mortal/", "upstream": "mortal" }}
  ],
  "limits": {{
    "idleTimeoutMs": 2000,  // short, so that a squatter is soon gone
    "graceMs": 5000  // so long does Ctrl-C wait for what has begun; a second one does not
  }}
}}
)",
                     listen, ports.kept, ports.closing, ports.mortal);
}

int run_demo(const DemoOptions& options, const Serve& serve) {
  const auto upstreams = DemoThread::start({}, print_if_cancelled);
  if (!upstreams) {
    print(stderr, fmt::format("hushgate: the demo's upstreams could not be started: {}\n",
                              std::generic_category().message(upstreams.error().os_error)));
    return kExitFailed;
  }
  DemoThread& demo = **upstreams;
  DemoPorts ports{.gateway = kDemoPort,
                  .kept = demo.port(DemoManner::kept),
                  .closing = demo.port(DemoManner::closing),
                  .mortal = demo.port(DemoManner::mortal)};
  const IpPort usual{IpAddress::v4(127, 0, 0, 1), kDemoPort};
  if (!is_told_where(options) && is_taken(usual)) {
    print(stdout, fmt::format("{} is taken: a free port will do.\n", usual.to_string()));
    ports.gateway = 0;
  }
  std::optional<LocalCertificate> certificate;
  std::optional<DemoListener> tls;
  if (options.tls == DemoTls::yes) {
    if (certificate.emplace(); !certificate->error().empty()) {
      print(stderr,
            fmt::format("hushgate: no certificate for the demo: {}\n", certificate->error()));
      return kExitFailed;
    }
    const IpPort usual_tls{IpAddress::v4(127, 0, 0, 1), kDemoTlsPort};
    tls = {.port = is_taken(usual_tls) ? std::uint16_t{0} : kDemoTlsPort,
           .pem_file = certificate->file()};
  }
  const auto loaded = config::load({.file = config::File{kSettingsName, demo_settings(ports, tls)},
                                    .environment = options.environment,
                                    .overrides = options.overrides});
  if (!loaded) {
    print(stderr, lines_of(loaded.error()));
    return kExitFailed;
  }
  print(stderr, lines_of(loaded->warnings));
  return serve(loaded->config, [&](const std::vector<SocketAddress>& bound) {
    config::Config shown = loaded->config;
    for (std::size_t i = 0; i < bound.size(); ++i) {
      shown.listen[i].address.port = bound[i].ip()->port;
      if (tls && shown.listen[i].tls) tls->port = bound[i].ip()->port;
    }
    if (ports.gateway == 0) ports.gateway = bound.front().ip()->port;
    const std::string tour = demo_tour(shown);
    demo.show_tour(tour);
    print(stdout, demo_settings(ports, tls) + tour + '\n');
    print(stdout, tls_words(shown, tls));
  });
}

}  // namespace hushgate::app
