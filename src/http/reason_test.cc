#include "http/reason.h"

#include <gtest/gtest.h>

#include "http/text.h"

namespace hushgate::http {
namespace {

TEST(Reason, IsKnownForTheUsualAndEmptyForAllOthers) {
  EXPECT_EQ(reason_of(101), "Switching Protocols");
  EXPECT_EQ(reason_of(200), "OK");
  EXPECT_EQ(reason_of(304), "Not Modified");
  EXPECT_EQ(reason_of(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason_of(504), "Gateway Timeout");
  for (const unsigned status : {0U, 99U, 104U, 299U, 306U, 418U, 499U, 599U, 600U, 999U}) {
    EXPECT_EQ(reason_of(static_cast<std::uint16_t>(status)), "") << status;
  }
}

TEST(Reason, IsNeverMoreThanAShortText) {
  for (std::uint16_t status = 0; status < 1000; ++status) {
    EXPECT_LE(reason_of(status).size(), 40U) << status;
    for (const char c : reason_of(status)) EXPECT_TRUE(is_tchar(c) || c == ' ') << status;
  }
}

}  // namespace
}  // namespace hushgate::http
