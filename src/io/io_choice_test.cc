#include "io/io_choice.h"

#include <gtest/gtest.h>

#include "io/uring.h"

namespace hushgate::io {
namespace {

TEST(IoChoice, EpollIsTakenWhenItIsWishedFor) {
  const auto choice = choose_backend(BackendWish::epoll);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->kind, BackendChoice::Kind::epoll);
  EXPECT_TRUE(choice->reason.starts_with("epoll; ")) << choice->reason;
}

TEST(IoChoice, TheWishForUringIsFulfilledOrRefused) {
  const auto choice = choose_backend(BackendWish::uring);
  EXPECT_EQ(choice.has_value(), uring_unavailable().empty());
  if (choice) EXPECT_EQ(choice->kind, BackendChoice::Kind::uring);
  if (!choice) EXPECT_NE(choice.error().find(uring_unavailable()), std::string::npos);
}

TEST(IoChoice, WithoutAWishItAlwaysFindsOneAndSaysWhy) {
  const auto choice = choose_backend(BackendWish::automatic);
  ASSERT_TRUE(choice.has_value());
  const auto backend = make_backend(choice->kind, 65'536);
  ASSERT_TRUE(backend.has_value());
  EXPECT_TRUE(choice->reason.starts_with((*backend)->name())) << choice->reason;
}

TEST(IoChoice, OnlyASeriesOnWhichTheSuiteWasRunIsKnown) {
  EXPECT_TRUE(kernel_series_known("6.18"));
  EXPECT_TRUE(kernel_series_known("6.18.3"));
  EXPECT_TRUE(kernel_series_known("6.18-rc2"));
  EXPECT_TRUE(kernel_series_known("6.18.44-cloud-amd64"));
  EXPECT_FALSE(kernel_series_known("6.1.0-18-amd64"));
  EXPECT_FALSE(kernel_series_known("6.180.1"));
  EXPECT_FALSE(kernel_series_known("16.18.1"));
  EXPECT_FALSE(kernel_series_known(""));
  EXPECT_FALSE(kernel_series_known("6"));
}

TEST(IoChoice, EveryRefusalSaysWhatWouldBeRight) {
  for (const int error : {ENOSYS, EPERM, EINVAL}) {
    const std::string why = explain_uring_error(error);
    EXPECT_TRUE(why.find("needed") != std::string::npos || why.find("must be") != std::string::npos)
        << why;
  }
}

}  // namespace
}  // namespace hushgate::io
