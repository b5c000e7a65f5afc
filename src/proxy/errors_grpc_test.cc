#include "proxy/errors_grpc.h"

#include <gtest/gtest.h>

#include <array>

#include "http/parser.h"
#include "http/testing.h"
#include "proxy/errors.h"

namespace hushgate::proxy {
namespace {

TEST(GrpcErrors, ARequestIsGrpcByItsContentType) {
  for (const char* type :
       {"application/grpc", "Application/GRPC", "application/grpc+proto", "application/grpc+json",
        "application/grpc; charset=utf-8", "application/grpc;x=y"}) {
    EXPECT_TRUE(is_grpc(type)) << type;
  }
  for (const char* type : {"", "application/json", "application/grp", "application/grpc-web",
                           "application/grpc-web+proto", "application/grpcx", "text/grpc"}) {
    EXPECT_FALSE(is_grpc(type)) << type;
  }
}

TEST(GrpcErrors, TheStatusIsTheOneOfGrpcsTable) {
  struct Row {
    std::uint16_t http;
    int grpc;
  };
  constexpr std::array kRows{Row{400, 13}, Row{401, 16}, Row{403, 7},  Row{404, 12}, Row{429, 14},
                             Row{502, 14}, Row{503, 14}, Row{504, 14}, Row{408, 2},  Row{413, 2},
                             Row{431, 2},  Row{500, 2},  Row{501, 2},  Row{505, 2},  Row{508, 2}};
  for (const Row& row : kRows) EXPECT_EQ(grpc_status(row.http), row.grpc) << row.http;
}

TEST(GrpcErrors, TheMessageIsPercentEncoded) {
  std::string out;
  append_grpc_message(out, "a ~%\r\n\x7f\xc3\xbc");
  EXPECT_EQ(out, "a ~%25%0D%0A%7F%C3%BC");
}

TEST(GrpcErrors, EveryErrorIsA200ThatEndsWithItsHead) {
  for (int k = 1; k <= static_cast<int>(ErrorKind::response_timeout); ++k) {
    const auto kind = static_cast<ErrorKind>(k);
    if (facts(kind).status == 0) continue;
    std::string text;
    write_error(text, {.kind = kind,
                       .method = http::Method::post,
                       .connection = http::ConnectionField::none,
                       .form = ErrorForm::grpc,
                       .server = "gate",
                       .request_id = "abc"});
    http::ResponseHead head;
    ASSERT_TRUE(http::parse_response_head(text, head).has_value()) << text;
    const auto field = [&](std::string_view name) {
      const http::Field* found = http::find_field(head.fields, name);
      return found == nullptr ? std::string("none") : std::string(found->value);
    };
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(field("content-type"), "application/grpc");
    EXPECT_EQ(field("content-length"), "0");
    EXPECT_EQ(field("grpc-status"), std::to_string(grpc_status(facts(kind).status)));
    EXPECT_EQ(field("grpc-message"), facts(kind).message);
    EXPECT_EQ(field("x-request-id"), "abc");
    EXPECT_TRUE(field("proxy-status").starts_with("gate; error=")) << text;
    EXPECT_TRUE(text.ends_with("\r\n\r\n"));
  }
}

TEST(GrpcErrors, WhatTheStatusWouldHaveSaidIsInTheOtherFields) {
  std::string text;
  write_error(text, {.kind = ErrorKind::request_refused,
                     .method = http::Method::post,
                     .connection = http::ConnectionField::none,
                     .should_retry = ShouldRetry::yes,
                     .form = ErrorForm::grpc,
                     .server = "gate",
                     .request_id = "abc"});
  EXPECT_TRUE(text.contains("Proxy-Status: gate; error=destination_unavailable\r\n")) << text;
  EXPECT_TRUE(text.contains("x-should-retry: true\r\n"));
  EXPECT_EQ(answer_status(ErrorKind::request_refused, ErrorForm::grpc), 200);
  EXPECT_EQ(answer_status(ErrorKind::request_refused, ErrorForm::json), 503);
}

}  // namespace
}  // namespace hushgate::proxy
