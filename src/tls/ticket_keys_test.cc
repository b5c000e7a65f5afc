#include "tls/ticket_keys.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tls/openssl.h"

namespace hushgate::tls {
namespace {

using Opened = TicketKeys::Opened;

// A ticket's outside, and what it is sealed with.
struct Sealed {
  std::array<unsigned char, TicketKeys::kNameBytes> name{};
  std::array<unsigned char, 16> iv{};
};

class Mac {
 public:
  EVP_MAC_CTX* get() { return context_.get(); }

 private:
  Owned<EVP_MAC, EVP_MAC_free> mac_{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  Owned<EVP_MAC_CTX, EVP_MAC_CTX_free> context_{EVP_MAC_CTX_new(mac_.get())};
};

Sealed seal(TicketKeys& keys) {
  Sealed sealed;
  Mac mac;
  const Owned<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> cipher(EVP_CIPHER_CTX_new());
  EXPECT_TRUE(keys.seal(sealed.name.data(), sealed.iv.data(), cipher.get(), mac.get()));
  return sealed;
}

Opened open(TicketKeys& keys, const Sealed& sealed) {
  Mac mac;
  const Owned<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> cipher(EVP_CIPHER_CTX_new());
  return keys.open(sealed.name.data(), sealed.iv.data(), cipher.get(), mac.get());
}

TEST(TlsTicketKeys, AKeyServesItsPeriodAndIsThenOldUntilItIsForgotten) {
  Time now{};
  TicketKeys keys([&] { return now; });
  const Sealed first = seal(keys);
  EXPECT_EQ(open(keys, first), Opened::current);
  now += kTicketKeyPeriod - Duration(1);
  EXPECT_EQ(open(keys, first), Opened::current);
  EXPECT_EQ(seal(keys).name, first.name);
  now += Duration(1);
  EXPECT_EQ(open(keys, first), Opened::old);
  const Sealed second = seal(keys);
  EXPECT_NE(second.name, first.name);
  EXPECT_EQ(open(keys, first), Opened::old);
  EXPECT_EQ(open(keys, second), Opened::current);
  now += kTicketKeyPeriod * 2 - Duration(1);
  EXPECT_EQ(open(keys, first), Opened::old);
  now += Duration(1);
  EXPECT_EQ(open(keys, first), Opened::unknown);
  EXPECT_EQ(open(keys, second), Opened::old);
}

TEST(TlsTicketKeys, OnlySoManyAreKept) {
  Time now{};
  TicketKeys keys([&] { return now; });
  std::vector<Sealed> sealed;
  for (std::size_t i = 0; i < kTicketKeysKept; ++i) {
    sealed.push_back(seal(keys));
    now += kTicketKeyPeriod;
  }
  now -= kTicketKeyPeriod;
  for (std::size_t i = 0; i + 1 < kTicketKeysKept; ++i) {
    EXPECT_EQ(open(keys, sealed[i]), Opened::old) << i;
  }
  EXPECT_EQ(open(keys, sealed.back()), Opened::current);
}

TEST(TlsTicketKeys, AForeignNameIsUnknown) {
  TicketKeys keys;
  TicketKeys others;
  EXPECT_EQ(open(keys, seal(others)), Opened::unknown);
  Sealed sealed = seal(keys);
  sealed.name.back() ^= 1U;
  EXPECT_EQ(open(keys, sealed), Opened::unknown);
}

TEST(TlsTicketKeys, ThreadsMaySealAndOpenTogether) {
  std::atomic<std::int64_t> periods{0};
  TicketKeys keys([&] { return Time{} + kTicketKeyPeriod * periods.load(); });
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const Sealed sealed = seal(keys);
        if (n % 50 == 0) ++periods;
        if (open(keys, sealed) != Opened::unknown) ++opened;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(opened, 700);
}

}  // namespace
}  // namespace hushgate::tls
