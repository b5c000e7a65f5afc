// The keys that session tickets are sealed with (RFC 5077, RFC 8446 section 4.6.1): made here, kept
// in memory only, shared by all workers and all listeners, and kept when certificates are reloaded.
// (A ticket opens under the client-certificate policy that it was made under and no other: that is
// in the session id context, see ServerContext.)
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "base/clock.h"

struct evp_cipher_st;
struct evp_cipher_ctx_st;
struct evp_mac_ctx_st;

namespace hushgate::tls {

// How long new tickets are sealed with one key; the keys before it still open theirs, so a ticket
// is good for kTicketKeysKept - 1 to kTicketKeysKept periods.
inline constexpr Duration kTicketKeyPeriod = std::chrono::hours(1);
inline constexpr std::size_t kTicketKeysKept = 3;
// What clients are told, and how long a ticket is accepted at most.
inline constexpr std::chrono::seconds kTicketLifetime = std::chrono::hours(2);

// Thread-safe. A handshake that seals or opens a ticket holds the lock for a copy of one key.
class TicketKeys {
 public:
  // `clock`: for tests.
  explicit TicketKeys(std::function<Time()> clock = Clock::now);
  ~TicketKeys();
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  static constexpr std::size_t kNameBytes = 16;

  // Sets up `cipher` and `mac` for a new ticket, and fills the key's name and the IV. False: no
  // randomness; the handshake fails then.
  bool seal(unsigned char* name, unsigned char* iv, evp_cipher_ctx_st* cipher, evp_mac_ctx_st* mac);

  enum class Opened : unsigned char {
    unknown,  // not our key, or one of long ago: a full handshake
    current,
    old,  // good, and a new ticket is wanted
  };
  Opened open(const unsigned char* name, const unsigned char* iv, evp_cipher_ctx_st* cipher,
              evp_mac_ctx_st* mac);

 private:
  struct Key {
    Time made{};
    std::array<unsigned char, kNameBytes> name{};
    std::array<unsigned char, 32> aes{};
    std::array<unsigned char, 32> hmac{};
    ~Key();
  };
  struct FreeCipher {
    void operator()(evp_cipher_st* cipher) const noexcept;
  };

  bool rotate(Time now);

  const std::function<Time()> clock_;
  const std::unique_ptr<evp_cipher_st, FreeCipher> cipher_;  // fetched once
  std::mutex mutex_;                                         // guards what follows
  std::array<Key, kTicketKeysKept> keys_;                    // newest first
  std::size_t count_ = 0;
};

}  // namespace hushgate::tls
