#include <gtest/gtest.h>

#include <string>

#include "http/rewrite.h"

namespace hushgate::http {
namespace {

TEST(Trailers, FramingRoutingAndStateNeverPass) {
  for (const char* name : {"Content-Length",
                           "Transfer-Encoding",
                           "Host",
                           "Trailer",
                           "TE",
                           "Connection",
                           "Keep-Alive",
                           "Upgrade",
                           "HTTP2-Settings",
                           "Proxy-Connection",
                           "Proxy-Authorization",
                           "Content-Type",
                           "Content-Encoding",
                           "Content-Range",
                           "Set-Cookie",
                           "Cookie",
                           "Authorization",
                           "WWW-Authenticate",
                           "Max-Forwards",
                           "Expect",
                           "Range",
                           "If-Match",
                           "If-None-Match",
                           "If-Modified-Since",
                           "If-Range",
                           "Cache-Control",
                           "Age",
                           "Expires",
                           "Date",
                           "Location",
                           "Retry-After",
                           "Vary",
                           "Warning",
                           "Pragma",
                           "Via",
                           "Forwarded",
                           "X-Forwarded-For",
                           "X-Request-Id",
                           "SET-COOKIE"}) {
    EXPECT_FALSE(may_be_trailer(name)) << name;
  }
  for (const char* name :
       {"Grpc-Status", "Server-Timing", "ETag", "Digest", "X-T", "Content-Digest", "x", "if",
        "X-Checksum-Sha256-Of-The-Whole-Body", "proxy"}) {
    EXPECT_TRUE(may_be_trailer(name)) << name;
  }
}

TEST(Trailers, WhatMayPassIsWrittenInOrder) {
  const FieldList fields = {{"X-T", "1", FieldId::other, false},
                            {"Set-Cookie", "a=1", FieldId::other, false},
                            {"Content-Length", "3", FieldId::content_length, false},
                            {"x-u", "", FieldId::other, false}};
  std::string out;
  write_trailers(out, fields);
  EXPECT_EQ(out, "X-T: 1\r\nx-u: \r\n\r\n");
  out.clear();
  write_last_chunk(out, fields);
  EXPECT_EQ(out, "0\r\nX-T: 1\r\nx-u: \r\n\r\n");
  out.clear();
  write_last_chunk(out, {});
  EXPECT_EQ(out, "0\r\n\r\n");
}

}  // namespace
}  // namespace hushgate::http
