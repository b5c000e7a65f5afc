#include "http/head.h"

#include <gtest/gtest.h>

namespace hushgate::http {
namespace {

TEST(Head, MethodsAreKnownByTheirExactText) {
  EXPECT_EQ(method_of("GET"), Method::get);
  EXPECT_EQ(method_of("HEAD"), Method::head);
  EXPECT_EQ(method_of("OPTIONS"), Method::options);
  EXPECT_EQ(method_of("TRACE"), Method::trace);
  EXPECT_EQ(method_of("POST"), Method::post);
  EXPECT_EQ(method_of("PUT"), Method::put);
  EXPECT_EQ(method_of("PATCH"), Method::patch);
  EXPECT_EQ(method_of("DELETE"), Method::delete_);
  EXPECT_EQ(method_of("CONNECT"), Method::connect);
  for (const char* other : {"", "get", "Get", "PURGE", "QUERY", "GETX", "GE", "DELET", "HEAP"}) {
    EXPECT_EQ(method_of(other), Method::other) << other;
  }
}

TEST(Head, ClearForgetsEverythingButTheCapacity) {
  RequestHead request;
  request.method = Method::post;
  request.path = "/x";
  request.authority = "a";
  request.wants_upgrade = request.expect_continue = request.te_trailers = true;
  request.max_forwards = 3;
  request.connection.close = true;
  request.framing.coding = Coding::chunked;
  request.fields.resize(20);
  const auto* const data = request.fields.data();
  request.clear();
  EXPECT_EQ(request.method, Method::other);
  EXPECT_TRUE(request.path.empty() && request.authority.empty() && request.fields.empty());
  EXPECT_FALSE(request.wants_upgrade || request.expect_continue || request.te_trailers);
  EXPECT_EQ(request.max_forwards, std::nullopt);
  EXPECT_EQ(request.connection, ConnectionOptions{});
  EXPECT_EQ(request.framing, FramingInputs{});
  EXPECT_GE(request.fields.capacity(), 20u);
  EXPECT_EQ(request.fields.data(), data);

  ResponseHead response;
  response.status = 200;
  response.keep_alive_timeout_s = 5;
  response.clear();
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.keep_alive_timeout_s, std::nullopt);
}

TEST(Head, InterimIsEvery1xxBut101) {
  const auto interim = [](std::uint16_t status) {
    ResponseHead head;
    head.status = status;
    return head.interim();
  };
  EXPECT_TRUE(interim(100) && interim(102) && interim(103) && interim(199));
  EXPECT_FALSE(interim(101) || interim(200) || interim(204) || interim(599));
}

TEST(Head, AnUpstreamsFaultIsNamedAsSuch) {
  EXPECT_EQ(as_upstream(ErrorKind::bad_request), ErrorKind::http_protocol_error);
  EXPECT_EQ(as_upstream(ErrorKind::unknown_transfer_coding), ErrorKind::http_protocol_error);
  EXPECT_EQ(as_upstream(ErrorKind::version_not_supported), ErrorKind::http_protocol_error);
  EXPECT_EQ(as_upstream(ErrorKind::head_too_large), ErrorKind::upstream_head_too_large);
  EXPECT_EQ(as_upstream(ErrorKind::response_timeout), ErrorKind::response_timeout);
}

}  // namespace
}  // namespace hushgate::http
