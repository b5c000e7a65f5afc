// Failures of OpenSSL's in an operator's words. For stream*.cc only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "tls/openssl.h"

namespace hushgate::tls {

// Why the chain that `chain` stands at does not verify. `name`: whom it was expected from; empty: a
// client. `trusted`: "the CA file /x", "the system's trusted roots".
std::string explain_verification(X509_STORE_CTX* chain, std::string_view name,
                                 std::string_view trusted);

struct ProtocolFailure {
  unsigned long error;                // OpenSSL's
  std::optional<std::uint8_t> alert;  // with which the peer has ended it
  Bytes first;            // the first bytes that came from it, if none of its records was good
  std::string_view peer;  // "the upstream", "the client"
  bool peer_is_server;
};
std::string explain_protocol(const ProtocolFailure& failure);

}  // namespace hushgate::tls
