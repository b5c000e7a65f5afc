#include "proxy/tls_setup.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>

namespace hushgate::proxy {
namespace {

constexpr auto kSoon = std::chrono::days(14);

tls::Version version(config::TlsVersion version) {
  return version == config::TlsVersion::tls13 ? tls::Version::tls1_3 : tls::Version::tls1_2;
}

tls::ClientCertificates policy(config::ClientCertificates certificates) {
  switch (certificates) {
    case config::ClientCertificates::off: return tls::ClientCertificates::off;
    case config::ClientCertificates::optional: return tls::ClientCertificates::optional;
    case config::ClientCertificates::required: return tls::ClientCertificates::required;
  }
  return tls::ClientCertificates::off;
}

// Of settings and of the bytes of files, to tell whether anything has changed.
class Print {
 public:
  void add(std::string_view text) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
    value_ = (value_ ^ std::hash<std::string_view>()(text)) * kOdd + text.size();
  }
  void add_file(const std::string& path) {
    add(path);
    if (path.empty()) return;
    std::ifstream file(path, std::ios::binary);
    add(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

std::uint64_t print_of(const config::ListenAddress& listen) {
  const config::ListenTls& tls = *listen.tls;
  Print print;
  for (const config::ServerCertificate& one : tls.certificates) {
    print.add_file(one.certificate);
    print.add_file(one.key);
  }
  print.add_file(tls.client_ca);
  print.add(fmt::format("{} {} {}", static_cast<int>(tls.min_version),
                        static_cast<int>(tls.client_certificates), static_cast<int>(listen.http2)));
  return print.value();
}

std::uint64_t print_of(const config::Upstream& upstream) {
  const config::UpstreamTls& tls = upstream.tls;
  Print print;
  for (const std::string* path : {&tls.ca, &tls.certificate, &tls.key}) print.add_file(*path);
  print.add(config::peer_name(upstream));
  print.add(fmt::format("{} {} {}", static_cast<int>(tls.min_version),
                        static_cast<int>(tls.verification), static_cast<int>(upstream.protocol)));
  return print.value();
}

// The first that the client has too is chosen.
std::vector<std::string> offered(config::Http2 http2) {
  if (http2 == config::Http2::off) return {"http/1.1", "http/1.0"};
  return {"h2", "http/1.1", "http/1.0"};
}

std::vector<std::string> offered(config::Protocol protocol) {
  switch (protocol) {
    case config::Protocol::auto_: return {"h2", "http/1.1"};
    case config::Protocol::http2: return {"h2"};
    case config::Protocol::http1:
    case config::Protocol::h2c: break;
  }
  return {"http/1.1"};
}

tls::ServerOptions options_of(const config::ListenAddress& listen,
                              std::shared_ptr<tls::TicketKeys> ticket_keys) {
  const config::ListenTls& tls = *listen.tls;
  tls::ServerOptions options{.min_version = version(tls.min_version),
                             .client_certificates = policy(tls.client_certificates),
                             .client_ca_file = tls.client_ca,
                             .alpn = offered(listen.http2),
                             .ticket_keys = std::move(ticket_keys)};
  for (const config::ServerCertificate& one : tls.certificates) {
    options.certificates.push_back({.certificate_file = one.certificate, .key_file = one.key});
  }
  return options;
}

tls::ClientOptions options_of(const config::Upstream& upstream,
                              std::shared_ptr<const tls::SystemRoots> roots) {
  const config::UpstreamTls& tls = upstream.tls;
  const bool verify = tls.verification == config::Verification::required;
  return {.server_name = std::string(config::peer_name(upstream)),
          .ca_file = tls.ca,
          .system_roots = std::move(roots),
          .verify = verify ? tls::Verify::yes : tls::Verify::no,
          .certificate = {.certificate_file = tls.certificate, .key_file = tls.key},
          .alpn = offered(upstream.protocol),
          .min_version = version(tls.min_version)};
}

void add_sentences(const std::string& key, const std::vector<tls::Fault>& faults,
                   std::vector<std::string>& sentences) {
  for (const tls::Fault& fault : faults) {
    sentences.push_back(fmt::format("{}: {} {}; {}", key, fault.file, fault.wrong, fault.right));
  }
}

void add_warnings(const std::string& key, const std::vector<tls::CertificateInfo>& certificates,
                  std::vector<std::string>& warnings) {
  const auto now = std::chrono::system_clock::now();
  for (const tls::CertificateInfo& one : certificates) {
    if (now + kSoon < one.not_after) continue;
    warnings.push_back(fmt::format("{}: the certificate in {} ({}) {} at {}", key, one.file,
                                   one.subject, now < one.not_after ? "expires" : "has expired",
                                   tls::to_text(one.not_after)));
  }
}

// One that is still in use and was made from the same, or null.
template <typename List>
auto find(List& known, std::uint64_t print) {
  std::erase_if(known, [](const auto& one) { return one.context.expired(); });
  for (const auto& one : known) {
    if (one.print == print) return one.context.lock();
  }
  return decltype(known.front().context.lock())();
}

}  // namespace

std::expected<TlsMaker::Made, std::vector<std::string>> TlsMaker::make(
    const config::Config& config) {
  Made made;
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < config.listen.size(); ++i) {
    auto& context = made.setup.listeners.emplace_back();
    if (!config.listen[i].tls) continue;
    const std::string key = fmt::format("listen[{}].tls", i);
    const std::uint64_t print = print_of(config.listen[i]);
    context = find(listeners_, print);
    if (!context) {
      if (!ticket_keys_) ticket_keys_ = std::make_shared<tls::TicketKeys>();
      auto fresh = tls::ServerContext::make(options_of(config.listen[i], ticket_keys_));
      if (!fresh) {
        add_sentences(key, fresh.error(), faults);
        continue;
      }
      context = std::move(*fresh);
      listeners_.push_back({print, context});
    }
    add_warnings(key, context->certificates(), made.warnings);
  }
  for (const config::Upstream& upstream : config.upstreams) {
    auto& context = made.setup.upstreams.emplace_back();
    if (upstream.scheme != config::Scheme::https) continue;
    const std::string key = fmt::format("upstreams.{}.tls", upstream.name);
    const std::uint64_t print = print_of(upstream);
    context = find(upstreams_, print);
    if (!context) {
      if (!roots_) roots_ = std::make_shared<const tls::SystemRoots>();
      auto fresh = tls::ClientContext::make(options_of(upstream, roots_));
      if (!fresh) {
        add_sentences(key, fresh.error(), faults);
        continue;
      }
      context = std::move(*fresh);
      upstreams_.push_back({print, context});
    }
    add_warnings(key, context->certificates(), made.warnings);
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return made;
}

std::vector<std::string> tls_files(const config::Config& config) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& path) {
    if (!path.empty()) files.push_back(path);
  };
  for (const config::ListenAddress& listen : config.listen) {
    if (!listen.tls) continue;
    for (const config::ServerCertificate& one : listen.tls->certificates) {
      add(one.certificate);
      add(one.key);
    }
    add(listen.tls->client_ca);
  }
  for (const config::Upstream& upstream : config.upstreams) {
    add(upstream.tls.ca);
    add(upstream.tls.certificate);
    add(upstream.tls.key);
  }
  return files;
}

}  // namespace hushgate::proxy
