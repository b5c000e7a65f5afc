// Certificates made on the spot: for trying things out on one machine, and for tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace hushgate::tls {

enum class KeyType : std::uint8_t { ec_p256, rsa_2048 };
enum class Usage : std::uint8_t { leaf, authority };

// With its key, as PEM.
struct Pem {
  std::string certificate;
  std::string key;
};

struct CertificateRequest {
  std::string common_name;           // empty: no subject
  std::vector<std::string> names{};  // alternative names; IP addresses as such
  KeyType key_type = KeyType::ec_p256;
  Usage usage = Usage::leaf;
  std::chrono::sys_seconds not_before{};
  std::chrono::sys_seconds not_after{};
  const Pem* issuer = nullptr;  // null: signed by itself
};

// The error is OpenSSL's reason.
std::expected<Pem, std::string> make_certificate(const CertificateRequest& request);

// For localhost, 127.0.0.1 and ::1; good from a day before `now` (clocks differ) for 30 days.
std::expected<Pem, std::string> make_local_certificate(std::chrono::system_clock::time_point now);

}  // namespace hushgate::tls
