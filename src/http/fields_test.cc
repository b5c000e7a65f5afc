#include "http/fields.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hushgate::http {
namespace {

const std::vector<std::pair<std::string, FieldId>> kNames = {
    {"connection", FieldId::connection},
    {"keep-alive", FieldId::keep_alive},
    {"proxy-connection", FieldId::proxy_connection},
    {"te", FieldId::te},
    {"trailer", FieldId::trailer},
    {"transfer-encoding", FieldId::transfer_encoding},
    {"upgrade", FieldId::upgrade},
    {"http2-settings", FieldId::http2_settings},
    {"content-length", FieldId::content_length},
    {"expect", FieldId::expect},
    {"host", FieldId::host},
    {"max-forwards", FieldId::max_forwards},
    {"via", FieldId::via},
    {"forwarded", FieldId::forwarded},
    {"x-forwarded-for", FieldId::x_forwarded_for},
    {"x-forwarded-proto", FieldId::x_forwarded_proto},
    {"x-forwarded-host", FieldId::x_forwarded_host},
    {"x-request-id", FieldId::x_request_id},
    {"x-client-cert-subject", FieldId::x_client_cert_subject},
    {"date", FieldId::date},
    {"server", FieldId::server},
    {"proxy-authenticate", FieldId::proxy_authenticate},
    {"proxy-authorization", FieldId::proxy_authorization},
};

TEST(Fields, EveryKnownNameIsFoundInAnyCaseAndNothingNearIt) {
  for (const auto& [name, id] : kNames) {
    EXPECT_EQ(classify_field(name), id) << name;
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 0x20 : c);
    EXPECT_EQ(classify_field(upper), id) << upper;
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string near = name;
      near[i] = '!';
      EXPECT_EQ(classify_field(near), FieldId::other) << near;
    }
    EXPECT_EQ(classify_field(name + "s"), FieldId::other);
    EXPECT_EQ(classify_field(name.substr(1)), FieldId::other);
  }
  EXPECT_EQ(classify_field(""), FieldId::other);
  EXPECT_EQ(classify_field("content_length"), FieldId::other);
}

TEST(Fields, ListElementsAreTrimmedAndEmptyOnesDelivered) {
  const auto elements = [](std::string_view value) {
    std::vector<std::string> found;
    TokenList list(value);
    while (auto element = list.next()) found.emplace_back(*element);
    return found;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(elements("a"), List({"a"}));
  EXPECT_EQ(elements(" a ,\tb\t, c d"), List({"a", "b", "c d"}));
  EXPECT_EQ(elements(""), List({""}));
  EXPECT_EQ(elements(",a,,"), List({"", "a", "", ""}));
}

TEST(Fields, ValuesMayHoldObsTextAndTabsButNoOtherControls) {
  EXPECT_TRUE(is_field_value("caf\xE9 \t \x80\xFF"));
  EXPECT_TRUE(is_field_value(""));
  EXPECT_FALSE(is_field_value(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_field_value("a\rb"));
  EXPECT_FALSE(is_field_value("a\nb"));
  EXPECT_FALSE(is_field_value("a\x01"));
  EXPECT_FALSE(is_field_value("a\x7F"));
}

FieldList via(std::initializer_list<std::string_view> values) {
  FieldList fields;
  for (const auto value : values) fields.push_back({"Via", value, FieldId::via, false});
  return fields;
}

TEST(Fields, ViaNamesTheReceiverNotTheCommentOrTheProtocol) {
  EXPECT_TRUE(via_names(via({"1.1 hush-1"}), "hush-1"));
  EXPECT_TRUE(via_names(via({"1.1 HUSH-1 (x, y)"}), "hush-1"));
  EXPECT_TRUE(via_names(via({"1.0 a, HTTP/1.1\thush-1(c)"}), "hush-1"));
  EXPECT_TRUE(via_names(via({"1.1 a", "2 b,1.1 hush-1 "}), "hush-1"));
  EXPECT_FALSE(via_names(via({"1.1 hush-12"}), "hush-1"));
  EXPECT_FALSE(via_names(via({"1.1 a (hush-1)"}), "hush-1"));
  EXPECT_FALSE(via_names(via({"hush-1"}), "hush-1"));
  EXPECT_FALSE(via_names(via({""}), "hush-1"));
  EXPECT_FALSE(via_names({}, "hush-1"));
}

TEST(Fields, TheFirstOfSeveralIsFound) {
  const FieldList fields = {{"X-A", "1", FieldId::other, false},
                            {"Via", "2", FieldId::via, false},
                            {"x-a", "3", FieldId::other, false}};
  EXPECT_EQ(find_field(fields, "X-a")->value, "1");
  EXPECT_EQ(find_field(fields, FieldId::via)->value, "2");
  EXPECT_EQ(find_field(fields, "x-b"), nullptr);
  EXPECT_EQ(find_field(fields, FieldId::host), nullptr);
}

}  // namespace
}  // namespace hushgate::http
