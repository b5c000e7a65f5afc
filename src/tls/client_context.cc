#include "tls/client_context.h"

#include <openssl/err.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "base/address.h"
#include "base/assert.h"
#include "tls/context_settings.h"
#include "tls/sessions.h"
#include "tls/stream.h"

namespace hushgate::tls {
namespace {

// The name is checked by OpenSSL while it verifies the chain (RFC 9525: no partial wildcards).
void expect_name(SSL_CTX* context, const std::string& name) {
  X509_VERIFY_PARAM* const wanted = SSL_CTX_get0_param(context);
  const bool is_ip = IpAddress::parse(name).has_value();
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str())
                        : X509_VERIFY_PARAM_set1_host(wanted, name.data(), name.size());
  HG_ASSERT(set == 1);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, Stream::on_verify);
}

// Where systems keep what they trust: Debian and Arch, Fedora and its kin, openSUSE, Alpine.
constexpr std::array kBundles{"/etc/ssl/certs/ca-certificates.crt",
                              "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                              "/etc/ssl/cert.pem"};

// An OpenSSL that is linked in may look where this system keeps nothing.
bool built_for_this_system() {
  const bool told = std::getenv(X509_get_default_cert_file_env()) != nullptr ||
                    std::getenv(X509_get_default_cert_dir_env()) != nullptr;
  return told || ::access(X509_get_default_cert_file(), R_OK) == 0 ||
         ::access(X509_get_default_cert_dir(), R_OK) == 0;
}

}  // namespace

SystemRoots::SystemRoots() : store_(X509_STORE_new()) {
  HG_ASSERT(store_ != nullptr);
  X509_STORE_set_default_paths(store_.get());  // one that does not exist is an empty one
  if (!built_for_this_system()) {
    for (const char* bundle : kBundles) {
      if (X509_STORE_load_file(store_.get(), bundle) == 1) break;
    }
  }
  ERR_clear_error();
}

std::expected<ClientContext::Pointer, std::vector<Fault>> ClientContext::make(
    const ClientOptions& options) {
  HG_ASSERT(!options.server_name.empty());
  const auto made = std::make_shared<ClientContext>(Passkey{});
  std::vector<Fault> faults;
  made->server_name_ = options.server_name;
  if (made->server_name_.ends_with('.')) made->server_name_.pop_back();  // RFC 6066 section 3
  made->sends_name_ = !IpAddress::parse(made->server_name_);
  made->context_ = new_context(Role::client, options.min_version);
  SSL_CTX* const context = made->start();

  made->trusted_ =
      options.ca_file.empty() ? "the system's trusted roots" : "the CA file " + options.ca_file;
  if (!options.ca_file.empty()) {
    const auto authorities = load_authorities(options.ca_file);
    trust_as_given(context);
    if (!authorities) faults.push_back(authorities.error());
    for (int i = 0; authorities && i < sk_X509_num(authorities->get()); ++i) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), sk_X509_value(authorities->get(), i));
    }
  } else if (options.verify == Verify::yes) {
    made->roots_ =
        options.system_roots ? options.system_roots : std::make_shared<const SystemRoots>();
    SSL_CTX_set1_cert_store(context, made->roots_->store());
  }
  if (options.verify == Verify::yes) expect_name(context, made->server_name_);

  const CertificateSource& own = options.certificate;
  if (!own.certificate_file.empty() || !own.key_file.empty()) {
    auto loaded = load_certificate(own);
    if (!loaded) {
      faults.push_back(std::move(loaded.error()));
    } else if (SSL_CTX_use_cert_and_key(context, loaded->certificate.get(), loaded->key.get(),
                                        loaded->chain.get(), 1) != 1) {
      faults.push_back(unusable(own.certificate_file));
    } else {
      made->certificates_.push_back(std::move(loaded->info));
    }
  }

  const std::string protocols = alpn_wire(options.alpn);
  if (!protocols.empty()) {
    SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(protocols.data()),
                            static_cast<unsigned>(protocols.size()));
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, Stream::on_new_session);
  ERR_clear_error();
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return made;
}

}  // namespace hushgate::tls
