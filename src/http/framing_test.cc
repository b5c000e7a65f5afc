#include "http/framing.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "http/head.h"

namespace hushgate::http {
namespace {

using Values = std::vector<std::string_view>;
using Statuses = std::vector<std::uint16_t>;

FramingInputs inputs(const Values& transfer_encodings, const Values& content_lengths) {
  FramingInputs made;
  for (const auto value : transfer_encodings) made.add_transfer_encoding(value);
  for (const auto value : content_lengths) made.add_content_length(value);
  return made;
}

Result<Framing> request(const Values& te, const Values& cl, Method method = Method::post,
                        Version version = Version::http11) {
  return request_framing(method, version, inputs(te, cl));
}

void expect_error(const Result<Framing>& framing, ErrorKind kind) {
  ASSERT_FALSE(framing);
  EXPECT_EQ(framing.error().kind, kind);
}

TEST(Framing, ARequestWithoutFieldsHasNoBody) {
  EXPECT_EQ(request({}, {}), (Framing{FramingKind::none, 0}));
}

TEST(Framing, ContentLengthIsTakenExactly) {
  EXPECT_EQ(request({}, {"0"}), (Framing{FramingKind::length, 0}));
  EXPECT_EQ(request({}, {"0005"}), (Framing{FramingKind::length, 5}));
  EXPECT_EQ(request({}, {"5368709120"}), (Framing{FramingKind::length, 5'368'709'120}));
  EXPECT_EQ(request({}, {"9223372036854775806"}),
            (Framing{FramingKind::length, kMaxContentLength - 1}));
  EXPECT_EQ(request({}, {"9223372036854775807"}),
            (Framing{FramingKind::length, kMaxContentLength}));
  expect_error(request({}, {"9223372036854775808"}), ErrorKind::bad_request);
}

TEST(Framing, ContentLengthThatIsNoNumberIsRefused) {
  for (const char* value : {"+5", "-5", "0x5", "5.0", "5e0", "5 0", "5,", "", "five", "0_5", "5, 5",
                            "18446744073709551621", "340282366920938463463374607431768211461",
                            "\xEF\xBC\x95", "\"5\""}) {
    expect_error(request({}, {value}), ErrorKind::bad_request);
  }
}

TEST(Framing, TwoContentLengthsAreRefusedEvenWhenEqual) {
  expect_error(request({}, {"5", "5"}), ErrorKind::bad_request);
  expect_error(request({}, {"5", "6"}), ErrorKind::bad_request);
  expect_error(request({}, {"x", "5", "5"}), ErrorKind::bad_request);
}

TEST(Framing, ContentLengthWithTransferEncodingIsRefused) {
  expect_error(request({"chunked"}, {"5"}), ErrorKind::bad_request);
  expect_error(request({"chunked"}, {"0"}), ErrorKind::bad_request);
  expect_error(request({"gzip, chunked"}, {"5"}), ErrorKind::bad_request);
  expect_error(request({"x"}, {"5"}), ErrorKind::bad_request);
  expect_error(request({""}, {"5"}), ErrorKind::bad_request);
  expect_error(request({"\"chunked\""}, {"5"}), ErrorKind::bad_request);
  expect_error(request({"chunked"}, {"bad"}), ErrorKind::bad_request);
}

TEST(Framing, ChunkedIsComparedWithoutCase) {
  for (const char* value : {"chunked", "CHUNKED", "Chunked", "cHuNkEd"}) {
    EXPECT_EQ(request({value}, {}), (Framing{FramingKind::chunked, 0}));
  }
}

TEST(Framing, ChunkedRepeatedParametrisedOrNotLastIsRefused) {
  for (const Values& values :
       {Values{"chunked, chunked"}, Values{"chunked", "chunked"}, Values{"chunked", "Chunked"},
        Values{"chunked, identity"}, Values{"chunked", "identity"}, Values{"chunked", "x"},
        Values{"CHUNKED, gzip"}, Values{"chunked;q=1"}, Values{"chunked ; a=b"}, Values{"chunked;"},
        Values{"gzip, chunked, chunked"}, Values{"gzip, chunked", "gzip"},
        Values{"gzip, CHUNKED;q=1"}, Values{"x, chunked", "chunked"}}) {
    expect_error(request(values, {}), ErrorKind::bad_request);
  }
}

TEST(Framing, MalformedTransferEncodingsAreRefused) {
  for (const char* value : {"", ",", ",chunked", "chunked,", "chunked,,", "\"chunked\"", "chun ked",
                            "chunked chunked", "x y",
                            "ch\xFC"
                            "nked",
                            "gzip,,chunked", ";q=1", "@"}) {
    expect_error(request({value}, {}), ErrorKind::bad_request);
  }
}

TEST(Framing, AnUnknownTransferCodingIsNotImplemented) {
  for (const Values& values :
       {Values{"gzip"}, Values{"x"}, Values{"gzip, chunked"}, Values{"identity, chunked"},
        Values{"x", "chunked"}, Values{"identity"}, Values{"xchunked"}, Values{"chunked-x"},
        Values{"gzip;level=9, chunked"}, Values{"deflate", "gzip, chunked"}}) {
    expect_error(request(values, {}), ErrorKind::unknown_transfer_coding);
  }
}

TEST(Framing, Http10WithTransferEncodingIsRefused) {
  expect_error(request({"chunked"}, {}, Method::post, Version::http10), ErrorKind::bad_request);
  expect_error(request({"gzip"}, {}, Method::post, Version::http10), ErrorKind::bad_request);
  expect_error(request({"chunked"}, {"15"}, Method::post, Version::http10), ErrorKind::bad_request);
  EXPECT_EQ(request({}, {"5"}, Method::post, Version::http10), (Framing{FramingKind::length, 5}));
}

TEST(Framing, TraceAndConnectHaveNoBody) {
  for (const Method method : {Method::trace, Method::connect}) {
    expect_error(request({}, {"5"}, method), ErrorKind::bad_request);
    expect_error(request({"chunked"}, {}, method), ErrorKind::bad_request);
    EXPECT_TRUE(request({}, {"0"}, method));
    EXPECT_TRUE(request({}, {}, method));
  }
}

TEST(Framing, EveryOtherMethodMayHaveABody) {
  for (const Method method : {Method::get, Method::head, Method::options, Method::post, Method::put,
                              Method::patch, Method::delete_, Method::other}) {
    EXPECT_EQ(request({}, {"5"}, method), (Framing{FramingKind::length, 5}));
    EXPECT_EQ(request({"chunked"}, {}, method), (Framing{FramingKind::chunked, 0}));
  }
}

Result<Framing> response(std::uint16_t status, const Values& te, const Values& cl,
                         Method method = Method::get, Version version = Version::http11) {
  return response_framing(method, status, version, inputs(te, cl));
}

TEST(Framing, AResponseIsFramedByItsFieldsOrByTheEndOfTheConnection) {
  EXPECT_EQ(response(200, {}, {"5"}), (Framing{FramingKind::length, 5}));
  EXPECT_EQ(response(200, {"Chunked"}, {}), (Framing{FramingKind::chunked, 0}));
  EXPECT_EQ(response(200, {}, {}), (Framing{FramingKind::until_eof, 0}));
  EXPECT_EQ(response(599, {}, {"0"}), (Framing{FramingKind::length, 0}));
  EXPECT_EQ(response(200, {}, {}, Method::get, Version::http10),
            (Framing{FramingKind::until_eof, 0}));
  EXPECT_EQ(response(200, {}, {"5"}, Method::get, Version::http10),
            (Framing{FramingKind::length, 5}));
}

TEST(Framing, SomeResponsesNeverHaveABodyWhateverTheirFieldsSay) {
  for (const std::uint16_t status : Statuses{100, 102, 103, 199, 204, 304}) {
    EXPECT_EQ(response(status, {}, {"7"}), (Framing{FramingKind::none, 0})) << status;
    EXPECT_EQ(response(status, {"chunked"}, {}), (Framing{FramingKind::none, 0})) << status;
    EXPECT_EQ(response(status, {}, {}), (Framing{FramingKind::none, 0})) << status;
  }
  for (const std::uint16_t status : Statuses{200, 404, 500}) {
    EXPECT_EQ(response(status, {}, {"500"}, Method::head), (Framing{FramingKind::none, 0}));
    EXPECT_EQ(response(status, {"chunked"}, {}, Method::head), (Framing{FramingKind::none, 0}));
    EXPECT_EQ(response(status, {}, {}, Method::head), (Framing{FramingKind::none, 0}));
  }
}

TEST(Framing, SwitchingProtocolsAndConnectedAreTunnels) {
  EXPECT_EQ(response(101, {}, {}), (Framing{FramingKind::tunnel, 0}));
  EXPECT_EQ(response(200, {}, {}, Method::connect), (Framing{FramingKind::tunnel, 0}));
  EXPECT_EQ(response(204, {}, {"5"}, Method::connect), (Framing{FramingKind::tunnel, 0}));
  EXPECT_EQ(response(299, {"chunked"}, {}, Method::connect), (Framing{FramingKind::tunnel, 0}));
  EXPECT_EQ(response(407, {}, {"5"}, Method::connect), (Framing{FramingKind::length, 5}));
  EXPECT_EQ(response(300, {}, {}, Method::connect), (Framing{FramingKind::until_eof, 0}));
}

TEST(Framing, AResponseThatCouldBeReadTwoWaysIsAnErrorWhateverItsStatus) {
  for (const std::uint16_t status : Statuses{200, 204, 304, 100, 500}) {
    expect_error(response(status, {}, {"5", "5"}), ErrorKind::http_protocol_error);
    expect_error(response(status, {}, {"5, 5"}), ErrorKind::http_protocol_error);
    expect_error(response(status, {"chunked"}, {"5"}), ErrorKind::http_protocol_error);
    expect_error(response(status, {"chunked, x"}, {}), ErrorKind::http_protocol_error);
    expect_error(response(status, {"x"}, {}), ErrorKind::http_protocol_error);
    expect_error(response(status, {"gzip, chunked"}, {}), ErrorKind::http_protocol_error);
    expect_error(response(status, {"chunked"}, {}, Method::get, Version::http10),
                 ErrorKind::http_protocol_error);
    for (const char* value : {"+5", "-5", "0x5", "abc", "", "18446744073709551621"}) {
      expect_error(response(status, {}, {value}), ErrorKind::http_protocol_error);
    }
  }
}

TEST(Framing, SafeBodylessNeedsASafeMethodNoBodyAndNoUpgrade) {
  RequestHead head;
  const Framing none{};
  for (const Method method : {Method::get, Method::head, Method::options, Method::trace}) {
    head.method = method;
    EXPECT_TRUE(is_safe_bodyless(head, none));
    EXPECT_TRUE(is_safe_bodyless(head, {FramingKind::length, 0}));
    EXPECT_FALSE(is_safe_bodyless(head, {FramingKind::length, 1}));
    EXPECT_FALSE(is_safe_bodyless(head, {FramingKind::chunked, 0}));
    head.wants_upgrade = true;
    EXPECT_FALSE(is_safe_bodyless(head, none));
    head.wants_upgrade = false;
  }
  for (const Method method : {Method::post, Method::put, Method::patch, Method::delete_,
                              Method::connect, Method::other}) {
    head.method = method;
    EXPECT_FALSE(is_safe_bodyless(head, none));
  }
}

}  // namespace
}  // namespace hushgate::http
