#include "http/target.h"

#include <gtest/gtest.h>

#include <string>

namespace hushgate::http {
namespace {

TEST(Authority, AcceptsNamesAddressesAndPorts) {
  struct Case {
    std::string_view text;
    std::string_view host;
    int port;  // -1: none
  };
  for (const Case& c : {Case{"localhost", "localhost", -1}, Case{"a.b-c_d~e", "a.b-c_d~e", -1},
                        Case{"localhost:80", "localhost", 80}, Case{"127.0.0.1:0", "127.0.0.1", 0},
                        Case{"a:65535", "a", 65535}, Case{"a:00080", "a", 80}, Case{"a:", "a", -1},
                        Case{"[::1]", "[::1]", -1}, Case{"[::1]:8080", "[::1]", 8080},
                        Case{"[::ffff:1.2.3.4]:", "[::ffff:1.2.3.4]", -1}, Case{"", "", -1},
                        Case{"%41b", "%41b", -1}, Case{"a!$&'()*+;=", "a!$&'()*+;=", -1}}) {
    const auto authority = parse_authority(c.text);
    ASSERT_TRUE(authority) << c.text;
    EXPECT_EQ(authority->host, c.host);
    EXPECT_EQ(authority->port ? int{*authority->port} : -1, c.port) << c.text;
  }
}

TEST(Authority, RefusesWhatCouldBeReadAsAnotherHost) {
  for (const char* text : {"a b",
                           "user@localhost",
                           "localhost/evil",
                           "[::1",
                           "localhost:port",
                           "localhost:80:81",
                           "localhost\tevil",
                           "localhost#@evil",
                           "localhost\\evil",
                           "l\xF6"
                           "calhost",
                           "a:65536",
                           "a:99999999999",
                           "a:-1",
                           "a:+1",
                           "[::1]x",
                           "[::1]x:80",
                           "[]",
                           "[v1.a]",
                           "[fe80::1%25eth0]",
                           "[1.2.3.4]",
                           "::1",
                           "a,b",
                           "a%4",
                           "a%",
                           "a%zz",
                           "a?b",
                           "a\"",
                           "<a>",
                           "[:::1]",
                           "[0000000000000000000000000000000000000000000000000000000000000001]"}) {
    EXPECT_FALSE(parse_authority(text)) << text;
  }
  EXPECT_FALSE(parse_authority(std::string_view("local\0host", 10)));
  EXPECT_FALSE(parse_authority(std::string_view("[::1\0]", 6)));
}

RequestHead with_method(Method method) {
  RequestHead head;
  head.method = method;
  return head;
}

TEST(Target, OriginFormIsSplitAtTheFirstQuestionMark) {
  RequestHead head = with_method(Method::get);
  ASSERT_TRUE(parse_target("/a/b%2F?c=/d?e", head));
  EXPECT_EQ(head.form, TargetForm::origin);
  EXPECT_EQ(head.target, "/a/b%2F?c=/d?e");
  EXPECT_EQ(head.path, "/a/b%2F");
  EXPECT_EQ(head.query, "?c=/d?e");
  EXPECT_TRUE(head.authority.empty());
  ASSERT_TRUE(parse_target("//evil.example/x", head));
  EXPECT_EQ(head.form, TargetForm::origin);
  EXPECT_EQ(head.path, "//evil.example/x");
  EXPECT_EQ(head.query, "");
}

TEST(Target, UnusualCharactersThatClientsSendRawGoThrough) {
  for (const char* text : {"/q?a=[1]&b={2}", "/q?opt=abs|json", "/q?x=\"y\"^`", "/a\\b", "/<>",
                           "/%00", "/../..", "/%zz"}) {
    RequestHead head = with_method(Method::get);
    EXPECT_TRUE(parse_target(text, head)) << text;
  }
}

TEST(Target, ControlsSpacesFragmentsAndEightBitCharactersAreRefused) {
  for (const char* text : {"", "/a b", "/a\tb", "/a\x01", "/a\x7F", "/a#frag", "/\xC3\xA9", " /",
                           "/ ", "http://a/#x", "http://a/\xFF"}) {
    RequestHead head = with_method(Method::get);
    EXPECT_FALSE(parse_target(text, head)) << text;
  }
}

TEST(Target, AbsoluteFormGivesSchemeAuthorityAndPath) {
  struct Case {
    std::string_view text, scheme, authority, path, query;
  };
  for (const Case& c :
       {Case{"http://good.example/c/x?y", "http", "good.example", "/c/x", "?y"},
        Case{"HTTPS://[::1]:8443/", "HTTPS", "[::1]:8443", "/", ""},
        Case{"http://a", "http", "a", "/", ""}, Case{"http://a?q=/", "http", "a", "/", "?q=/"},
        Case{"http://a:/x", "http", "a:", "/x", ""}, Case{"http://a//b", "http", "a", "//b", ""}}) {
    RequestHead head = with_method(Method::get);
    ASSERT_TRUE(parse_target(c.text, head)) << c.text;
    EXPECT_EQ(head.form, TargetForm::absolute);
    EXPECT_EQ(head.scheme, c.scheme);
    EXPECT_EQ(head.authority, c.authority);
    EXPECT_EQ(head.path, c.path);
    EXPECT_EQ(head.query, c.query);
  }
}

TEST(Target, OtherSchemesUserinfoAndEmptyHostsAreRefused) {
  for (const char* text :
       {"ftp://a/", "localhost:80", "localhost", "http:/a", "http:a", "http://", "http:///x",
        "http://user@a/", "http://user:pw@a/", "http://a:x/", "http://a b/", "http://:80/",
        "ws://a/", "://a/", "http//a", "http://a\\b/", "javascript:1"}) {
    RequestHead head = with_method(Method::get);
    EXPECT_FALSE(parse_target(text, head)) << text;
  }
}

TEST(Target, AsteriskIsForOptionsOnly) {
  RequestHead head = with_method(Method::options);
  ASSERT_TRUE(parse_target("*", head));
  EXPECT_EQ(head.form, TargetForm::asterisk);
  EXPECT_EQ(head.path, "*");
  for (const Method method : {Method::get, Method::head, Method::trace, Method::post, Method::put,
                              Method::connect, Method::other}) {
    RequestHead other = with_method(method);
    EXPECT_FALSE(parse_target("*", other));
  }
  EXPECT_FALSE(parse_target("*x", head));
}

TEST(Target, OptionsOfAnAbsoluteFormWithoutPathIsAsterisk) {
  RequestHead head = with_method(Method::options);
  ASSERT_TRUE(parse_target("http://a:8001", head));
  EXPECT_EQ(head.form, TargetForm::asterisk);
  EXPECT_EQ(head.path, "*");
  EXPECT_EQ(head.authority, "a:8001");
  RequestHead with_query = with_method(Method::options);
  ASSERT_TRUE(parse_target("http://a?x", with_query));
  EXPECT_EQ(with_query.form, TargetForm::absolute);
  EXPECT_EQ(with_query.path, "/");
  RequestHead with_slash = with_method(Method::options);
  ASSERT_TRUE(parse_target("http://a/", with_slash));
  EXPECT_EQ(with_slash.form, TargetForm::absolute);
}

TEST(Target, ConnectTakesAnAuthorityWithAPortAndNothingElse) {
  RequestHead head = with_method(Method::connect);
  ASSERT_TRUE(parse_target("a.example:443", head));
  EXPECT_EQ(head.form, TargetForm::authority);
  EXPECT_EQ(head.authority, "a.example:443");
  EXPECT_EQ(head.path, "");
  for (const char* text :
       {"a.example", "a.example:", ":443", "/x", "http://a:443", "u@a:443", "*"}) {
    RequestHead other = with_method(Method::connect);
    EXPECT_FALSE(parse_target(text, other)) << text;
  }
}

}  // namespace
}  // namespace hushgate::http
