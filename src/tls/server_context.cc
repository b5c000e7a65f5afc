#include "tls/server_context.h"

#include <openssl/err.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/assert.h"
#include "tls/context_settings.h"
#include "tls/stream.h"

namespace hushgate::tls {
namespace {

constexpr std::size_t kMaxServerNameBytes = 255;  // RFC 1035 section 2.3.4

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
              EVP_MAC_CTX* mac, int seal) {
  auto& keys = *static_cast<TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (seal != 0) return keys.seal(name, iv, cipher, mac) ? 1 : -1;
  switch (keys.open(name, iv, cipher, mac)) {
    case TicketKeys::Opened::unknown: return 0;
    // Tickets of TLS 1.3 are used once, so there is always a new one.
    case TicketKeys::Opened::current: return SSL_version(ssl) == TLS1_3_VERSION ? 2 : 1;
    case TicketKeys::Opened::old: return 2;
  }
  return 0;
}

using SessionIdContext = std::array<unsigned char, SHA256_DIGEST_LENGTH>;
static_assert(SHA256_DIGEST_LENGTH <= SSL_MAX_SID_CTX_LENGTH);

// Which tickets are ours to open: those of the same demands on client certificates.
SessionIdContext session_id_context(ClientCertificates policy, STACK_OF(X509) * authorities) {
  std::string all = "hushgate client certificates ";
  all += static_cast<char>('0' + static_cast<int>(policy));
  for (int i = 0; i < sk_X509_num(authorities); ++i) {
    SessionIdContext digest;
    unsigned size = 0;
    X509_digest(sk_X509_value(authorities, i), EVP_sha256(), digest.data(), &size);
    all.append(digest.begin(), digest.begin() + size);
  }
  SessionIdContext context;
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), context.data());
  return context;
}

}  // namespace

class ServerContext::Builder {
 public:
  explicit Builder(const ServerOptions& options) : options_(options) {}

  std::expected<Pointer, std::vector<Fault>> build() {
    load();
    if (faults_.empty()) context_->protocols_ = alpn_wire(options_.alpn);
    if (faults_.empty()) make_contexts();
    if (!faults_.empty()) return std::unexpected(std::move(faults_));
    for (LoadedCertificate& loaded : loaded_) {
      context_->certificates_.push_back(std::move(loaded.info));
    }
    return Pointer(std::move(context_));
  }

 private:
  using Members = std::vector<std::size_t>;  // of loaded_, in their order, no key type twice

  void load() {
    context_->ticket_keys_ = options_.ticket_keys;
    if (options_.certificates.empty()) {
      faults_.push_back({"", "no certificate is given", "at least one certificate with its key"});
    }
    for (const CertificateSource& source : options_.certificates) {
      auto loaded = load_certificate(source);
      if (loaded) {
        loaded_.push_back(std::move(*loaded));
      } else {
        faults_.push_back(std::move(loaded.error()));
      }
    }
    if (options_.client_certificates == ClientCertificates::off) return;
    auto authorities = load_authorities(options_.client_ca_file);
    if (authorities) {
      authorities_ = std::move(*authorities);
    } else {
      faults_.push_back(std::move(authorities.error()));
    }
  }

  Members members_for(const std::string& name) const {
    Members members;
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      const std::vector<std::string>& names = loaded_[i].info.names;
      const auto type = [this](std::size_t at) {
        return EVP_PKEY_get_base_id(loaded_[at].key.get());
      };
      const bool has = std::ranges::find(names, name) != names.end();
      const bool news = std::ranges::none_of(
          members, [&](std::size_t member) { return type(member) == type(i); });
      if (has && news) members.push_back(i);
    }
    return members;
  }

  void make_contexts() {
    std::map<Members, SSL_CTX*> made;
    const auto context_of = [&](const Members& members) {
      SSL_CTX*& context = made[members];
      if (context == nullptr) context = make_context(members);
      return context;
    };
    const std::vector<std::string>& first = loaded_.front().info.names;
    context_of(first.empty() ? Members{0} : members_for(first.front()));
    for (const LoadedCertificate& loaded : loaded_) {
      for (const std::string& name : loaded.info.names) {
        context_->by_name_.try_emplace(name, context_of(members_for(name)));
      }
    }
    if (made.size() > 1) return;
    context_->by_name_.clear();  // nothing to choose
    SSL_CTX_set_tlsext_servername_callback(context_->start(), nullptr);
  }

  SSL_CTX* make_context(const Members& members) {
    ContextPtr made = new_context(Role::server, options_.min_version);
    SSL_CTX* const context = made.get();
    for (const std::size_t i : members) use(context, loaded_[i]);
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_timeout(context, kTicketLifetime.count());
    SSL_CTX_set_tlsext_servername_callback(context, choose_by_name);
    SSL_CTX_set_tlsext_servername_arg(context, context_.get());
    if (!context_->protocols_.empty()) {
      SSL_CTX_set_alpn_select_cb(context, choose_protocol, context_.get());
    }
    set_tickets(context);
    set_client_certificates(context);
    context_->contexts_.push_back(std::move(made));
    return context;
  }

  void use(SSL_CTX* context, const LoadedCertificate& loaded) {
    const bool used = SSL_CTX_use_cert_and_key(context, loaded.certificate.get(), loaded.key.get(),
                                               loaded.chain.get(), 1) == 1;
    if (!used) faults_.push_back(unusable(loaded.info.file));
  }

  void set_tickets(SSL_CTX* context) {
    if (!options_.ticket_keys) {
      SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
      SSL_CTX_set_num_tickets(context, 0);
      return;
    }
    SSL_CTX_set_app_data(context, options_.ticket_keys.get());
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
  }

  void set_client_certificates(SSL_CTX* context) {
    const SessionIdContext id =
        session_id_context(options_.client_certificates, authorities_.get());
    SSL_CTX_set_session_id_context(context, id.data(), static_cast<unsigned>(id.size()));
    if (!authorities_) return;
    trust_as_given(context);
    X509_STORE* const store = SSL_CTX_get_cert_store(context);
    for (int i = 0; i < sk_X509_num(authorities_.get()); ++i) {
      X509* const authority = sk_X509_value(authorities_.get(), i);
      X509_STORE_add_cert(store, authority);
      SSL_CTX_add_client_CA(context, authority);
    }
    const int must = options_.client_certificates == ClientCertificates::required
                         ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                         : 0;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | must, Stream::on_verify);
  }

  const ServerOptions& options_;
  std::shared_ptr<ServerContext> context_ = std::make_shared<ServerContext>(Passkey{});
  std::vector<LoadedCertificate> loaded_;
  ChainPtr authorities_;
  std::vector<Fault> faults_;
};

std::expected<ServerContext::Pointer, std::vector<Fault>> ServerContext::make(
    const ServerOptions& options) {
  return Builder(options).build();
}

SSL_CTX* ServerContext::context_for(std::string_view name) const {
  if (name.size() > kMaxServerNameBytes) return nullptr;
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower.ends_with('.')) lower.pop_back();
  if (const auto found = by_name_.find(lower); found != by_name_.end()) return found->second;
  const std::size_t dot = lower.find('.');
  if (dot == 0 || dot == std::string::npos) return nullptr;
  const auto found = by_name_.find(lower.replace(0, dot, "*"));
  return found != by_name_.end() ? found->second : nullptr;
}

int ServerContext::choose_by_name(SSL* ssl, int*, void* self) {
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_CTX* const context = static_cast<const ServerContext*>(self)->context_for(name);
  if (context != nullptr && context != SSL_get_SSL_CTX(ssl)) SSL_set_SSL_CTX(ssl, context);
  return SSL_TLSEXT_ERR_OK;
}

int ServerContext::choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                                   const unsigned char* offered, unsigned size, void* self) {
  const std::string& ours = static_cast<const ServerContext*>(self)->protocols_;
  unsigned char* chosen = nullptr;
  const int result =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), offered, size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace hushgate::tls
