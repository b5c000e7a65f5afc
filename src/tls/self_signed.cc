#include "tls/self_signed.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <cstdint>
#include <memory>

#include "base/address.h"
#include "base/assert.h"
#include "tls/openssl.h"

namespace hushgate::tls {
namespace {

using ExtensionPtr = Owned<X509_EXTENSION, X509_EXTENSION_free>;

std::unexpected<std::string> reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return std::unexpected<std::string>(text != nullptr ? text : "OpenSSL gives no reason");
}

KeyPtr new_key(KeyType type) {
  return KeyPtr(type == KeyType::ec_p256
                    ? EVP_EC_gen("P-256")
                    : EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2'048}));
}

CertificatePtr read_certificate(const Pem& pem) {
  const BioPtr bio(
      BIO_new_mem_buf(pem.certificate.data(), static_cast<int>(pem.certificate.size())));
  return CertificatePtr(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

KeyPtr read_key(const Pem& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.key.data(), static_cast<int>(pem.key.size())));
  return KeyPtr(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

std::string contents(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    text += IpAddress::parse(name) ? "IP:" : "DNS:";
    text += name;
  }
  return text;
}

bool set_times(X509* certificate, const CertificateRequest& request) {
  const auto set = [](ASN1_TIME* time, std::chrono::sys_seconds value) {
    return ASN1_TIME_set(time, value.time_since_epoch().count()) != nullptr;
  };
  return set(X509_getm_notBefore(certificate), request.not_before) &&
         set(X509_getm_notAfter(certificate), request.not_after);
}

bool set_identity(X509* certificate, const CertificateRequest& request) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  serial = (serial >> 1U) | 1U;  // positive
  if (ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) != 1) return false;
  if (request.common_name.empty()) return true;
  return X509_NAME_add_entry_by_txt(
             X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(request.common_name.data()),
             static_cast<int>(request.common_name.size()), -1, 0) == 1;
}

bool set_extensions(X509* certificate, X509* issuer, const CertificateRequest& request) {
  const bool authority = request.usage == Usage::authority;
  const bool basic =
      add_extension(certificate, issuer, NID_basic_constraints,
                    authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
      add_extension(certificate, issuer, NID_key_usage,
                    authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
      add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
      add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
  if (!basic) return false;
  if (!authority &&
      !add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth")) {
    return false;
  }
  return request.names.empty() ||
         add_extension(certificate, issuer, NID_subject_alt_name, alternative_names(request.names));
}

}  // namespace

std::expected<Pem, std::string> make_certificate(const CertificateRequest& request) {
  const KeyPtr key = new_key(request.key_type);
  const CertificatePtr certificate(X509_new());
  const CertificatePtr issuer =
      request.issuer != nullptr ? read_certificate(*request.issuer) : nullptr;
  const KeyPtr issuer_key = request.issuer != nullptr ? read_key(*request.issuer) : nullptr;
  if (!key || !certificate || (request.issuer != nullptr && (!issuer || !issuer_key))) {
    return reason();
  }
  X509* const by = issuer ? issuer.get() : certificate.get();
  const bool made =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      set_times(certificate.get(), request) && set_identity(certificate.get(), request) &&
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(by)) == 1 &&
      X509_set_pubkey(certificate.get(), key.get()) == 1 &&
      set_extensions(certificate.get(), by, request) &&
      X509_sign(certificate.get(), issuer_key ? issuer_key.get() : key.get(), EVP_sha256()) > 0;
  if (!made) return reason();
  const BioPtr certificate_out(BIO_new(BIO_s_mem()));
  const BioPtr key_out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_out.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return reason();
  }
  return Pem{.certificate = contents(certificate_out.get()), .key = contents(key_out.get())};
}

std::expected<Pem, std::string> make_local_certificate(std::chrono::system_clock::time_point now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return make_certificate({.common_name = "localhost",
                           .names = {"localhost", "127.0.0.1", "::1"},
                           .not_before = second - std::chrono::days(1),
                           .not_after = second + std::chrono::days(30)});
}

}  // namespace hushgate::tls
