#include "tls/ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"
#include "tls/openssl.h"

namespace hushgate::tls {
namespace {

constexpr int kIvBytes = 16;  // of AES-CBC

template <std::size_t kSize>
bool fill_random(std::array<unsigned char, kSize>& out) {
  return RAND_bytes(out.data(), static_cast<int>(out.size())) == 1;
}

bool start_mac(EVP_MAC_CTX* mac, const std::array<unsigned char, 32>& key) {
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_end()};
  return EVP_MAC_init(mac, key.data(), key.size(), parameters.data()) == 1;
}

}  // namespace

TicketKeys::Key::~Key() {
  OPENSSL_cleanse(aes.data(), aes.size());
  OPENSSL_cleanse(hmac.data(), hmac.size());
}

void TicketKeys::FreeCipher::operator()(evp_cipher_st* cipher) const noexcept {
  EVP_CIPHER_free(cipher);
}

TicketKeys::TicketKeys(std::function<Time()> clock)
    : clock_(std::move(clock)), cipher_(EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr)) {
  HG_ASSERT(cipher_ != nullptr);
}

TicketKeys::~TicketKeys() = default;

// With the lock held: a key that is due, at the front. False: there is none.
bool TicketKeys::rotate(Time now) {
  if (count_ > 0 && now - keys_.front().made < kTicketKeyPeriod) return true;
  Key fresh{.made = now};
  if (!fill_random(fresh.name) || !fill_random(fresh.aes) || !fill_random(fresh.hmac)) {
    return count_ > 0;
  }
  std::rotate(keys_.begin(), keys_.end() - 1, keys_.end());
  keys_.front() = fresh;
  count_ = std::min(count_ + 1, keys_.size());
  return true;
}

bool TicketKeys::seal(unsigned char* name, unsigned char* iv, evp_cipher_ctx_st* cipher,
                      evp_mac_ctx_st* mac) {
  Key key;
  {
    const std::lock_guard lock(mutex_);
    if (!rotate(clock_())) return false;
    key = keys_.front();
  }
  std::ranges::copy(key.name, name);
  return RAND_bytes(iv, kIvBytes) == 1 &&
         EVP_EncryptInit_ex2(cipher, cipher_.get(), key.aes.data(), iv, nullptr) == 1 &&
         start_mac(mac, key.hmac);
}

TicketKeys::Opened TicketKeys::open(const unsigned char* name, const unsigned char* iv,
                                    evp_cipher_ctx_st* cipher, evp_mac_ctx_st* mac) {
  std::optional<Key> key;
  bool newest = false;
  {
    const Time now = clock_();
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < count_ && !key; ++i) {
      const bool good = now - keys_[i].made < kTicketKeyPeriod * kTicketKeysKept;
      if (good && std::equal(keys_[i].name.begin(), keys_[i].name.end(), name)) key = keys_[i];
      newest = i == 0 && now - keys_[i].made < kTicketKeyPeriod;
    }
  }
  if (!key || EVP_DecryptInit_ex2(cipher, cipher_.get(), key->aes.data(), iv, nullptr) != 1 ||
      !start_mac(mac, key->hmac)) {
    return Opened::unknown;
  }
  return newest ? Opened::current : Opened::old;
}

}  // namespace hushgate::tls
