#include "tls/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

#include "base/assert.h"

namespace hushgate::tls {

std::string sha1_base64(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  HG_ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha1(), nullptr) == 1);
  std::array<unsigned char, 4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1> base64;
  const int size = EVP_EncodeBlock(base64.data(), digest.data(), SHA_DIGEST_LENGTH);
  return {reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(size)};
}

}  // namespace hushgate::tls
