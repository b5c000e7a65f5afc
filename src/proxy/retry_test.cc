#include "proxy/retry.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

namespace hushgate::proxy {
namespace {

using enum ErrorKind;

constexpr int kKinds = static_cast<int>(response_timeout) + 1;

// What may work a moment later although nothing was changed: names, refusals, unreachable networks,
// handshakes that were cut. A certificate is the same a moment later.
bool is_transient(ErrorKind kind) {
  return kind == dns_error || kind == connection_refused || kind == connection_failed ||
         kind == tls_protocol_error;
}

TEST(Retry, EveryKindByWhatWasSubmittedAndHowManyRoundsHaveFailed) {
  for (int k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<ErrorKind>(k);
    for (const bool replayable : {false, true}) {
      for (std::uint32_t retries = 0; retries <= 3; ++retries) {
        for (std::uint32_t rounds = 0; rounds <= 4; ++rounds) {
          const Again unsent = try_again({kind, Submitted::nothing, replayable, rounds, retries});
          const Again expected =
              is_transient(kind) && rounds <= retries ? Again::after_backoff : Again::no;
          EXPECT_EQ(unsent, expected) << "kind " << k << ", round " << rounds << " of " << retries;
          const Again sent = try_again({kind, Submitted::something, replayable, rounds, retries});
          const bool replay = replayable && kind == connection_terminated;
          EXPECT_EQ(sent, replay ? Again::at_once : Again::no) << "kind " << k;
        }
      }
    }
  }
}

TEST(Retry, ATimeoutIsNeverRetried) {
  for (const ErrorKind kind :
       {dns_timeout, connection_timeout, response_timeout, request_timeout}) {
    for (const Submitted submitted : {Submitted::nothing, Submitted::something}) {
      EXPECT_EQ(try_again({kind, submitted, true, 1, 5}), Again::no);
    }
  }
}

TEST(Retry, AnUnsafeRequestOfWhichAnythingWasSubmittedIsNeverSentAgain) {
  for (int k = 0; k < kKinds; ++k) {
    EXPECT_EQ(try_again({static_cast<ErrorKind>(k), Submitted::something, false, 0, 99}),
              Again::no);
  }
}

TEST(Retry, TwoRetriesAreThreeRounds) {
  const auto round = [](std::uint32_t failed) {
    return try_again({connection_refused, Submitted::nothing, false, failed, 2});
  };
  EXPECT_EQ(round(1), Again::after_backoff);
  EXPECT_EQ(round(2), Again::after_backoff);
  EXPECT_EQ(round(3), Again::no);
}

TEST(Retry, WhatWasRefusedIsSentAgainAtOnceThenAfterABackoffWhileAllOfItIsHeld) {
  const auto refused = [](std::uint32_t refusals, std::uint32_t retries, bool held) {
    return try_again({request_refused, Submitted::refused, false, refusals, retries, held});
  };
  for (std::uint32_t retries = 0; retries <= 4; ++retries) {
    for (std::uint32_t refusals = 1; refusals <= 6; ++refusals) {
      const Again some = refusals == 1 ? Again::at_once : Again::after_backoff;
      EXPECT_EQ(refused(refusals, retries, true), refusals <= retries ? some : Again::no)
          << refusals << " of " << retries;
      EXPECT_EQ(refused(refusals, retries, false), Again::no);
    }
  }
}

TEST(Backoff, TheJitterIsFullAndItsCeilingDoubles) {
  struct Row {
    std::uint32_t rounds;
    Ms ceiling;
  };
  constexpr std::array kRows{Row{1, Ms{250}},       Row{2, Ms{500}},    Row{3, Ms{1'000}},
                             Row{7, Ms{16'000}},    Row{8, Ms{30'000}}, Row{9, Ms{30'000}},
                             Row{1'000, Ms{30'000}}};
  for (const Row& row : kRows) {
    const auto steps = static_cast<std::uint64_t>(Duration(row.ceiling).count()) + 1;
    EXPECT_EQ(backoff(Ms{250}, row.rounds, 0), Duration::zero());
    EXPECT_EQ(backoff(Ms{250}, row.rounds, steps), Duration::zero());
    EXPECT_EQ(backoff(Ms{250}, row.rounds, steps - 1), Duration(row.ceiling)) << row.rounds;
  }
}

TEST(Backoff, StaysWithinItsBoundsForAnyRandomBits) {
  std::mt19937_64 random(7);
  for (std::uint32_t rounds = 1; rounds <= 40; ++rounds) {
    for (int i = 0; i < 200; ++i) {
      const Duration wait = backoff(Ms{250}, rounds, random());
      EXPECT_GE(wait, Duration::zero());
      EXPECT_LE(wait, Duration(Ms{30'000}));
    }
    EXPECT_LE(backoff(Ms{250}, rounds, std::numeric_limits<std::uint64_t>::max()),
              Duration(Ms{30'000}));
  }
}

TEST(Backoff, TheLargestConfigurableBaseDoesNotOverflow) {
  const Ms most{2'147'483'647};
  for (const std::uint32_t rounds : {1U, 2U, 17U, 18U, 4'000'000'000U}) {
    const Duration wait = backoff(most, rounds, std::numeric_limits<std::uint64_t>::max());
    EXPECT_GE(wait, Duration::zero());
    EXPECT_LE(wait, Duration(Ms{30'000}));
  }
}

}  // namespace
}  // namespace hushgate::proxy
