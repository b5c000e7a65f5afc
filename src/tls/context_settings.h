// What both sides' contexts have in common. For tls/*_context.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tls/failure.h"
#include "tls/openssl.h"
#include "tls/server_context.h"

namespace hushgate::tls {

enum class Role : std::uint8_t { server, client };

// Versions, ciphers, groups; no renegotiation, no compression, no early data.
ContextPtr new_context(Role role, Version min_version);

// A list of protocols as ALPN writes it. Each has 1 to 255 bytes (asserted: they are ours).
std::string alpn_wire(const std::vector<std::string>& protocols);

// What is trusted was named one by one: an intermediate authority among it needs no root behind it.
void trust_as_given(SSL_CTX* context);

// OpenSSL refuses a certificate that could be loaded; its reason is taken from its error queue.
Fault unusable(const std::string& file);

}  // namespace hushgate::tls
