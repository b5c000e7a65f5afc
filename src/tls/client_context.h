// What connections to one upstream need to speak TLS: whom to trust, which name to expect,
// versions, a certificate of our own. Immutable; one for all workers.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "tls/certificate.h"
#include "tls/failure.h"
#include "tls/openssl.h"
#include "tls/server_context.h"

namespace hushgate::tls {

enum class Verify : std::uint8_t {
  yes,
  no,  // anybody may answer: whoever sets it says so at every start
};

// The system's trusted certificates, parsed once for all contexts (what lies in a hashed directory
// is read when it is first needed). SSL_CERT_FILE and SSL_CERT_DIR are heeded.
class SystemRoots {
 public:
  SystemRoots();
  X509_STORE* store() const { return store_.get(); }

 private:
  StorePtr store_;
};

struct ClientOptions {
  // A DNS name (sent as SNI and looked for in the certificate) or an IP address without brackets
  // (no SNI; looked for among the certificate's addresses).
  std::string server_name{};
  std::string ca_file{};                              // trusted instead of the system's
  std::shared_ptr<const SystemRoots> system_roots{};  // null: this context's own
  Verify verify = Verify::yes;
  CertificateSource certificate{};  // of our own; both files empty: none
  std::vector<std::string> alpn{};
  Version min_version = Version::tls1_2;
};

class ClientContext {
  struct Passkey {};

 public:
  using Pointer = std::shared_ptr<const ClientContext>;
  static std::expected<Pointer, std::vector<Fault>> make(const ClientOptions& options);

  explicit ClientContext(Passkey) {}
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;
  ~ClientContext() = default;

  const std::string& server_name() const { return server_name_; }
  // "the CA file /x" or "the system's trusted roots".
  const std::string& trusted() const { return trusted_; }
  // Of our own certificate, if there is one.
  const std::vector<CertificateInfo>& certificates() const { return certificates_; }

  // For Stream.
  SSL_CTX* start() const { return context_.get(); }
  bool sends_name() const { return sends_name_; }

 private:
  std::string server_name_;
  std::string trusted_;
  std::vector<CertificateInfo> certificates_;
  ContextPtr context_;
  std::shared_ptr<const SystemRoots> roots_;
  bool sends_name_ = false;
};

}  // namespace hushgate::tls
