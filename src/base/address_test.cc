#include "base/address.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

namespace hushgate {
namespace {

std::optional<IpPort> round_trip(const IpPort& address) {
  sockaddr_storage storage;
  EXPECT_GT(to_sockaddr(address, storage), 0U);
  return from_sockaddr(reinterpret_cast<const sockaddr&>(storage));
}

TEST(IpAddress, ParsesAndFormatsCanonically) {
  for (const auto& [text, formatted] : std::initializer_list<std::pair<const char*, const char*>>{
           {"127.0.0.1", "127.0.0.1"},
           {"0.0.0.0", "0.0.0.0"},
           {"255.255.255.255", "255.255.255.255"},
           {"::", "::"},
           {"::1", "::1"},
           {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
           {"::ffff:10.1.2.3", "::ffff:10.1.2.3"},
           {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
       }) {
    const auto ip = IpAddress::parse(text);
    ASSERT_TRUE(ip) << text;
    EXPECT_EQ(ip->to_string(), formatted);
  }
}

TEST(IpAddress, RefusesWhatIsNotExactlyAnAddress) {
  for (const std::string_view text :
       {"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", " 1.2.3.4", "1.2.3.4 ", "[::1]",
        "::1%eth0", ":::", "localhost", "12345::", "1:2:3:4:5:6:7:8:9"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
  EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
  EXPECT_FALSE(IpAddress::parse(std::string(200, '1')));
}

TEST(IpAddress, AMappedAddressUnmapsAndOthersStay) {
  EXPECT_EQ(IpAddress::parse("::ffff:10.0.0.1")->unmapped(), IpAddress::v4(10, 0, 0, 1));
  EXPECT_EQ(IpAddress::parse("::fffe:10.0.0.1")->unmapped(), IpAddress::parse("::fffe:10.0.0.1"));
  EXPECT_EQ(IpAddress::v4(1, 2, 3, 4).unmapped(), IpAddress::v4(1, 2, 3, 4));
}

TEST(IpAddress, KnowsAnyAndLoopback) {
  EXPECT_TRUE(IpAddress().is_any());
  EXPECT_TRUE(IpAddress::parse("::")->is_any());
  EXPECT_FALSE(IpAddress::parse("::1")->is_any());
  EXPECT_TRUE(IpAddress::parse("::1")->is_loopback());
  EXPECT_TRUE(IpAddress::parse("127.9.9.9")->is_loopback());
  EXPECT_FALSE(IpAddress::parse("128.0.0.1")->is_loopback());
  EXPECT_FALSE(IpAddress::parse("1::1")->is_loopback());
}

TEST(IpPort, ParsesAndFormatsWithBracketsForIpv6Only) {
  EXPECT_EQ(IpPort::parse("127.0.0.1:80")->to_string(), "127.0.0.1:80");
  EXPECT_EQ(IpPort::parse("[::1]:65535")->to_string(), "[::1]:65535");
  EXPECT_EQ(IpPort::parse("[::1]:0")->port, 0);
  for (const std::string_view text :
       {"", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:080", "127.0.0.1:+80",
        "127.0.0.1: 80", "::1:80", "[127.0.0.1]:80", "[::1]80", "[]:80", "127.0.0.1:99999999999"}) {
    EXPECT_FALSE(IpPort::parse(text)) << text;
  }
}

TEST(IpPort, SurvivesSockaddr) {
  EXPECT_EQ(round_trip({IpAddress::v4(1, 2, 3, 4), 4711, 0}),
            (IpPort{IpAddress::v4(1, 2, 3, 4), 4711, 0}));
  const IpPort local{*IpAddress::parse("fe80::1"), 80, 3};
  EXPECT_EQ(round_trip(local), local);
  sockaddr unknown{};
  unknown.sa_family = AF_UNIX;
  EXPECT_FALSE(from_sockaddr(unknown));
}

TEST(SocketAddress, IsAnIpPortOrAPath) {
  const SocketAddress ip = IpPort{IpAddress::v4(127, 0, 0, 1), 80, 0};
  EXPECT_NE(ip.ip(), nullptr);
  EXPECT_EQ(ip.unix_path(), nullptr);
  EXPECT_EQ(ip.to_string(), "127.0.0.1:80");
  const SocketAddress path = SocketAddress::unix_socket("/run/x.sock");
  EXPECT_EQ(path.ip(), nullptr);
  EXPECT_EQ(*path.unix_path(), "/run/x.sock");
  EXPECT_EQ(path.to_string(), "unix:/run/x.sock");
}

TEST(SocketAddress, FillsSockaddrUnToItsLastByte) {
  const std::string longest = "/" + std::string(SocketAddress::kMaxUnixPathBytes - 1, 'x');
  sockaddr_storage storage;
  const auto size = to_sockaddr(SocketAddress::unix_socket(longest), storage);
  EXPECT_EQ(size, sizeof(sockaddr_un));
  sockaddr_un un;
  std::memcpy(&un, &storage, sizeof un);
  EXPECT_EQ(un.sun_family, AF_UNIX);
  EXPECT_EQ(std::string(un.sun_path), longest);
}

TEST(Cidr, ParsesBlocksAndSingleAddresses) {
  EXPECT_EQ(Cidr::parse("10.0.0.0/8")->to_string(), "10.0.0.0/8");
  EXPECT_EQ(Cidr::parse("10.1.2.3/8")->to_string(), "10.0.0.0/8");
  EXPECT_EQ(Cidr::parse("10.255.255.255/13")->to_string(), "10.248.0.0/13");
  EXPECT_EQ(Cidr::parse("10.1.2.3")->to_string(), "10.1.2.3/32");
  EXPECT_EQ(Cidr::parse("fd00::/8")->to_string(), "fd00::/8");
  EXPECT_EQ(Cidr::parse("::1")->to_string(), "::1/128");
  EXPECT_EQ(Cidr::parse("::ffff:10.0.0.0/104")->to_string(), "10.0.0.0/8");
  EXPECT_EQ(Cidr::parse("0.0.0.0/0")->to_string(), "0.0.0.0/0");
  for (const std::string_view text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1",
                                      "10.0.0.0/08", "10.0.0.0/8/8", "ten/8"}) {
    EXPECT_FALSE(Cidr::parse(text)) << text;
  }
}

TEST(Cidr, ContainsByPrefixAndNeverAcrossFamilies) {
  const auto contains = [](const char* block, const char* ip) {
    return Cidr::parse(block)->contains(*IpAddress::parse(ip));
  };
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.0.1"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.0.0.1"));
  EXPECT_TRUE(contains("192.168.4.0/22", "192.168.7.255"));
  EXPECT_FALSE(contains("192.168.4.0/22", "192.168.8.0"));
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.7"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
  EXPECT_FALSE(contains("::/0", "203.0.113.7"));
  EXPECT_TRUE(contains("fd00::/9", "fd7f::1"));
  EXPECT_FALSE(contains("fd00::/9", "fd80::1"));
  EXPECT_TRUE(contains("::1", "::1"));
  EXPECT_FALSE(contains("::1", "::2"));
}

}  // namespace
}  // namespace hushgate
