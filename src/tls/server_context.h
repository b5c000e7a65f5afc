// What a listener needs to speak TLS: certificates chosen by name, versions, client certificates,
// tickets. Immutable; one for all workers. A reload makes a new one with the same TicketKeys, and
// connections keep what they began with.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tls/certificate.h"
#include "tls/failure.h"
#include "tls/openssl.h"
#include "tls/ticket_keys.h"

namespace hushgate::tls {

enum class Version : std::uint8_t { tls1_2, tls1_3 };

enum class ClientCertificates : std::uint8_t {
  off,       // none is asked for
  optional,  // one that is given must verify
  required,
};

struct ServerOptions {
  std::vector<CertificateSource> certificates{};  // at least one; the first is the default
  Version min_version = Version::tls1_2;
  ClientCertificates client_certificates = ClientCertificates::off;
  std::string client_ca_file{};     // unless `off`
  std::vector<std::string> alpn{};  // the first that a client has too is chosen; none: no ALPN
  std::shared_ptr<TicketKeys> ticket_keys{};  // null: no tickets, every handshake is a full one
};

// A certificate is chosen by SNI: one that has the name, else one with a wildcard for its leftmost
// label, else the default (also without SNI). Of several for one name the first of each key type
// serves: the client takes the one that it can use.
class ServerContext {
  struct Passkey {};

 public:
  using Pointer = std::shared_ptr<const ServerContext>;
  // All that is wrong, in the options' order.
  static std::expected<Pointer, std::vector<Fault>> make(const ServerOptions& options);

  explicit ServerContext(Passkey) {}
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;
  ~ServerContext() = default;

  // In the options' order.
  const std::vector<CertificateInfo>& certificates() const { return certificates_; }

  // For Stream: what a new connection starts with. The context outlives its handshake.
  SSL_CTX* start() const { return contexts_.front().get(); }

 private:
  class Builder;

  static int choose_by_name(SSL* ssl, int* alert, void* self);
  static int choose_protocol(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                             const unsigned char* offered, unsigned size, void* self);
  SSL_CTX* context_for(std::string_view name) const;

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<CertificateInfo> certificates_;
  std::vector<ContextPtr> contexts_;  // the default first
  std::unordered_map<std::string, SSL_CTX*, Hash, std::equal_to<>> by_name_;
  std::string protocols_;  // as ALPN writes them
  std::shared_ptr<TicketKeys> ticket_keys_;
};

}  // namespace hushgate::tls
