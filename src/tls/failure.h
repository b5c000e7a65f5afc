// Why TLS has failed, in words that an operator can act on.
#pragma once

#include <cstdint>
#include <string>

namespace hushgate::tls {

enum class FailureKind : std::uint8_t {
  none,
  certificate,  // the peer's did not verify; never repeated
  protocol,     // the peer speaks no TLS, another TLS than we want, broke it, or refused (alert)
  cut,          // the connection ended without close_notify: a FIN or a reset too early
  transport,    // there was no connection: what connect(2) or keep-alive said
};

struct Failure {
  FailureKind kind = FailureKind::none;
  // A clause: "the certificate of api.example.com has expired (CN=..., notAfter
  // 2024-01-01T00:00:00Z)". At most kMaxMessageBytes; of a peer's bytes, printable ASCII only.
  std::string message;

  static constexpr std::size_t kMaxMessageBytes = 1'024;
};

// A file of the configuration that cannot be used: what is wrong with it, and what would be right.
struct Fault {
  std::string file;
  std::string wrong;
  std::string right;
};

}  // namespace hushgate::tls
