#include "tls/context_settings.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include "base/assert.h"
#include "tls/stream.h"

namespace hushgate::tls {
namespace {

// Forward secret and authenticated (RFC 9325). Both sides take hardware AES for granted; which of
// them it is is the client's choice.
constexpr const char* kCiphers12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kCiphers13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";

}  // namespace

ContextPtr new_context(Role role, Version min_version) {
  ContextPtr made(SSL_CTX_new(role == Role::server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* const context = made.get();
  HG_ASSERT(context != nullptr);
  const int min = min_version == Version::tls1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
  const bool set = SSL_CTX_set_min_proto_version(context, min) == 1 &&
                   SSL_CTX_set_max_proto_version(context, 0) == 1 &&
                   SSL_CTX_set_cipher_list(context, kCiphers12) == 1 &&
                   SSL_CTX_set_ciphersuites(context, kCiphers13) == 1 &&
                   SSL_CTX_set1_groups_list(context, kGroups) == 1;
  HG_ASSERT(set);
  SSL_CTX_clear_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_early_data(context, 0);
  SSL_CTX_set_info_callback(context, Stream::on_info);
  return made;
}

std::string alpn_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    HG_ASSERT(!protocol.empty() && protocol.size() <= 255);
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

void trust_as_given(SSL_CTX* context) {
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

Fault unusable(const std::string& file) {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return {
      file, fmt::format("OpenSSL does not accept it: {}", reason != nullptr ? reason : "no reason"),
      "an RSA certificate of 2048 bits or more, or an ECDSA one, signed with SHA-256 or better"};
}

}  // namespace hushgate::tls
