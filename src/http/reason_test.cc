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
  for (const std::uint16_t status : {0, 99, 104, 299, 306, 418, 499, 599, 600, 999}) {
    EXPECT_EQ(reason_of(status), "") << status;
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
