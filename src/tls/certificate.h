// Certificates as they come from files. Used by the contexts.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "tls/failure.h"
#include "tls/openssl.h"

namespace hushgate::tls {

// A PEM file with the certificate first and its chain behind it, and a PEM file with the key; they
// may be the same. With the texts given nothing is read, and the names only stand in faults.
struct CertificateSource {
  std::string certificate_file;
  std::string key_file;
  std::string certificate_pem{};
  std::string key_pem{};
};

// What one says of itself.
struct CertificateInfo {
  std::string file;
  std::string subject;             // RFC 2253
  std::vector<std::string> names;  // of DNS, lower case, wildcards as they are written
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;  // one that has passed is no fault; whoever serves it warns
};

struct LoadedCertificate {
  CertificateInfo info;
  CertificatePtr certificate;
  ChainPtr chain;  // without the certificate; may be empty
  KeyPtr key;
};

std::expected<LoadedCertificate, Fault> load_certificate(const CertificateSource& source);
// All of a file of trusted certificates, at least one.
std::expected<ChainPtr, Fault> load_authorities(const std::string& file);

// "CN=example.org,O=Example": RFC 2253, what is no printable ASCII escaped, at most 256 bytes.
std::string one_line(const X509_NAME* name);
std::chrono::sys_seconds to_time(const ASN1_TIME* time);
std::string to_text(std::chrono::sys_seconds time);  // "2024-01-01T00:00:00Z"
// The names that it is for: those of DNS in lower case (CN if it has no alternative names at all).
std::vector<std::string> dns_names(const X509* certificate);
// The same and its IP addresses, for people.
std::vector<std::string> all_names(const X509* certificate);

}  // namespace hushgate::tls
