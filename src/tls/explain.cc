#include "tls/explain.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tls/certificate.h"

namespace hushgate::tls {
namespace {

constexpr std::size_t kMaxNamesShown = 8;

std::string subject_of(const X509* certificate) {
  const std::string subject = one_line(X509_get_subject_name(certificate));
  return subject.empty() ? "no subject" : subject;
}

std::string issuer_of(const X509* certificate) {
  return one_line(X509_get_issuer_name(certificate));
}

std::string names_shown(const X509* certificate) {
  const std::vector<std::string> names = all_names(certificate);
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamesShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMaxNamesShown)
    text += fmt::format(" and {} more", names.size() - kMaxNamesShown);
  return text;
}

// A certificate of the peer's chain, with its place in it.
std::string which(const X509* certificate, int depth, std::string_view name) {
  if (depth > 0) {
    return fmt::format("the certificate of an issuer, {},", subject_of(certificate));
  }
  return name.empty() ? "the client's certificate" : fmt::format("the certificate of {}", name);
}

std::string mismatch(const X509* certificate, std::string_view name) {
  const std::string names = names_shown(certificate);
  if (names.empty()) {
    return fmt::format("the certificate names no host ({}), so it is not for {}",
                       subject_of(certificate), name);
  }
  return fmt::format("the certificate is for {}, not for {}", names, name);
}

std::string_view alert_name(std::uint8_t alert) {
  struct Name {
    std::uint8_t alert;
    std::string_view name;
  };
  static constexpr std::array kNames{
      Name{SSL3_AD_CLOSE_NOTIFY, "close_notify"},
      Name{SSL3_AD_UNEXPECTED_MESSAGE, "unexpected_message"},
      Name{SSL3_AD_BAD_RECORD_MAC, "bad_record_mac"},
      Name{TLS1_AD_RECORD_OVERFLOW, "record_overflow"},
      Name{SSL3_AD_HANDSHAKE_FAILURE, "handshake_failure"},
      Name{SSL3_AD_BAD_CERTIFICATE, "bad_certificate"},
      Name{SSL3_AD_UNSUPPORTED_CERTIFICATE, "unsupported_certificate"},
      Name{SSL3_AD_CERTIFICATE_REVOKED, "certificate_revoked"},
      Name{SSL3_AD_CERTIFICATE_EXPIRED, "certificate_expired"},
      Name{SSL3_AD_CERTIFICATE_UNKNOWN, "certificate_unknown"},
      Name{SSL3_AD_ILLEGAL_PARAMETER, "illegal_parameter"},
      Name{TLS1_AD_UNKNOWN_CA, "unknown_ca"},
      Name{TLS1_AD_ACCESS_DENIED, "access_denied"},
      Name{TLS1_AD_DECODE_ERROR, "decode_error"},
      Name{TLS1_AD_DECRYPT_ERROR, "decrypt_error"},
      Name{TLS1_AD_PROTOCOL_VERSION, "protocol_version"},
      Name{TLS1_AD_INSUFFICIENT_SECURITY, "insufficient_security"},
      Name{TLS1_AD_INTERNAL_ERROR, "internal_error"},
      Name{TLS1_AD_INAPPROPRIATE_FALLBACK, "inappropriate_fallback"},
      Name{TLS1_AD_USER_CANCELLED, "user_canceled"},
      Name{TLS1_AD_NO_RENEGOTIATION, "no_renegotiation"},
      Name{TLS13_AD_MISSING_EXTENSION, "missing_extension"},
      Name{TLS1_AD_UNSUPPORTED_EXTENSION, "unsupported_extension"},
      Name{TLS1_AD_UNRECOGNIZED_NAME, "unrecognized_name"},
      Name{TLS13_AD_CERTIFICATE_REQUIRED, "certificate_required"},
      Name{TLS1_AD_NO_APPLICATION_PROTOCOL, "no_application_protocol"},
  };
  const auto* const found = std::ranges::find(kNames, alert, &Name::alert);
  return found != kNames.end() ? found->name : "unknown";
}

std::string explain_alert(const ProtocolFailure& failure) {
  const std::string alert = fmt::format("({} alert)", alert_name(*failure.alert));
  switch (*failure.alert) {
    case TLS1_AD_PROTOCOL_VERSION:
      return fmt::format("{} speaks no TLS version that is accepted here {}", failure.peer, alert);
    case SSL3_AD_HANDSHAKE_FAILURE:
    case TLS1_AD_INSUFFICIENT_SECURITY:
      return fmt::format("no common cipher, or {} lacks something else that it wants {}",
                         failure.peer, alert);
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return fmt::format("{} wants a client certificate {}", failure.peer, alert);
    case TLS1_AD_NO_APPLICATION_PROTOCOL:
      return fmt::format("no common application protocol {}", alert);
    case TLS1_AD_UNRECOGNIZED_NAME:
      return fmt::format("{} does not know the server name {}", failure.peer, alert);
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_REVOKED:
    case SSL3_AD_CERTIFICATE_EXPIRED:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_UNKNOWN_CA:
      return fmt::format("{} does not accept our certificate {}", failure.peer, alert);
    default: return fmt::format("{} has ended the connection {}", failure.peer, alert);
  }
}

// The first bytes of something that is no TLS record.
std::optional<std::string> explain_first(Bytes first) {
  if (first.empty()) return std::nullopt;
  static constexpr std::array<std::string_view, 10> kHttp{
      "HTTP/",   "GET ",     "POST ",  "PUT ",     "HEAD ",
      "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "PRI "};
  for (const std::string_view start : kHttp) {
    if (as_text(first).starts_with(start)) {
      return "it does not speak TLS (its first bytes look like HTTP)";
    }
  }
  const auto type = std::to_integer<unsigned>(first[0]);
  if (type >= SSL3_RT_CHANGE_CIPHER_SPEC && type <= SSL3_RT_APPLICATION_DATA) return std::nullopt;
  std::string hex;
  for (const std::byte byte : first.first(std::min<std::size_t>(first.size(), 5))) {
    hex += fmt::format("{}{:02x}", hex.empty() ? "" : " ", std::to_integer<unsigned>(byte));
  }
  return fmt::format("it does not speak TLS (its first bytes are {})", hex);
}

// The version that a ServerHello, at the start of a connection, has chosen.
std::string_view offered_version(Bytes first) {
  constexpr std::size_t kVersionAt = 9;
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(first[i]); };
  if (first.size() < kVersionAt + 2 || at(0) != SSL3_RT_HANDSHAKE || at(kVersionAt) != 3) return {};
  static constexpr std::array<std::string_view, 4> kVersions{"SSL 3.0", "TLS 1.0", "TLS 1.1",
                                                             "TLS 1.2"};
  const unsigned minor = at(kVersionAt + 1);
  return minor < kVersions.size() ? kVersions[minor] : std::string_view{};
}

}  // namespace

std::string explain_verification(X509_STORE_CTX* chain, std::string_view name,
                                 std::string_view trusted) {
  const int error = X509_STORE_CTX_get_error(chain);
  const int depth = X509_STORE_CTX_get_error_depth(chain);
  const X509* const at = X509_STORE_CTX_get_current_cert(chain);
  if (at == nullptr) return X509_verify_cert_error_string(error);
  const std::string subject = subject_of(at);
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{} has expired ({}, notAfter {})", which(at, depth, name), subject,
                         to_text(to_time(X509_get0_notAfter(at))));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("{} is not valid yet ({}, notBefore {})", which(at, depth, name), subject,
                         to_text(to_time(X509_get0_notBefore(at))));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return mismatch(at, name);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return fmt::format("self-signed certificate ({}), not in {}", subject, trusted);
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return fmt::format("the chain ends at the root {}, which is not in {}", subject, trusted);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return fmt::format(
          "unable to get local issuer certificate: the chain ends at {}, issued by {}, which is "
          "not "
          "in {}{}",
          subject, issuer_of(at), trusted,
          depth == 0 ? "; an intermediate certificate may be missing" : "");
    default:
      return fmt::format("{} does not verify: {} ({})", which(at, depth, name),
                         X509_verify_cert_error_string(error), subject);
  }
}

std::string explain_protocol(const ProtocolFailure& failure) {
  if (failure.alert) return explain_alert(failure);
  if (const auto text = explain_first(failure.first)) return *text;
  switch (ERR_GET_REASON(failure.error)) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_SSL_VERSION: {
      const std::string_view version = failure.peer_is_server ? offered_version(failure.first) : "";
      if (!version.empty()) return fmt::format("{} offers only {}", failure.peer, version);
      return fmt::format("{} offers no TLS version that is accepted here", failure.peer);
    }
    case SSL_R_NO_SHARED_CIPHER: return "no common cipher";
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SHARED_GROUPS: return "no common key exchange group";
    case SSL_R_NO_APPLICATION_PROTOCOL: return "no common application protocol";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return fmt::format("{} gave no certificate", failure.peer);
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
      return "a record was damaged on its way (bad MAC)";
    default: break;
  }
  const char* const reason = ERR_reason_error_string(failure.error);
  return fmt::format("{} broke the protocol: {}", failure.peer,
                     reason != nullptr ? reason : "no reason is known");
}

}  // namespace hushgate::tls
