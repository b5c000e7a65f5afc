// Addresses as binary values: an IP address, one with a port, a block of them, and where a socket
// may lead. Text is parsed strictly (no names, no leading zeros, no zones) and formatted as RFC
// 5952 wants it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

struct sockaddr;
struct sockaddr_storage;

namespace hushgate {

enum class IpFamily : std::uint8_t { v4, v6 };

// 17 bytes, no allocation. Equality is bitwise: ::ffff:10.0.0.1 and 10.0.0.1 differ until
// `unmapped`.
class IpAddress {
 public:
  static constexpr std::size_t kMaxTextBytes = 45;  // ABCD:...:255.255.255.255

  constexpr IpAddress() = default;  // 0.0.0.0
  static constexpr IpAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    IpAddress ip;
    ip.bytes_ = {a, b, c, d};
    return ip;
  }
  static constexpr IpAddress v6(const std::array<std::uint8_t, 16>& network_order) {
    IpAddress ip;
    ip.bytes_ = network_order;
    ip.family_ = IpFamily::v6;
    return ip;
  }
  // "127.0.0.1" or "::1", without brackets.
  static std::optional<IpAddress> parse(std::string_view text);

  constexpr IpFamily family() const { return family_; }
  // 4 or 16 bytes in network order.
  constexpr std::span<const std::uint8_t> bytes() const {
    return {bytes_.data(), family_ == IpFamily::v4 ? 4U : 16U};
  }

  // The IPv4 address inside ::ffff:0:0/96 (a dual-stack listener sees IPv4 peers so), else the
  // address itself.
  IpAddress unmapped() const;
  bool is_any() const;       // 0.0.0.0 or ::
  bool is_loopback() const;  // 127.0.0.0/8 or ::1

  // Writes at most kMaxTextBytes (no terminator), returns how many. `out` must have room for them.
  std::size_t format(std::span<char> out) const;
  std::string to_string() const;

  friend constexpr bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  IpFamily family_ = IpFamily::v4;
};

// An IP address with a port: a peer, a listener, an endpoint. 24 bytes.
struct IpPort {
  IpAddress ip{};
  std::uint16_t port = 0;  // host order
  std::uint32_t scope_id =
      0;  // of link-local IPv6 addresses that came from the kernel or the resolver

  static constexpr std::size_t kMaxTextBytes = IpAddress::kMaxTextBytes + 8;  // [..]:65535

  // "127.0.0.1:80" or "[::1]:80".
  static std::optional<IpPort> parse(std::string_view text);

  std::size_t format(std::span<char> out) const;  // as IpAddress::format, at most kMaxTextBytes
  std::string to_string() const;

  friend constexpr bool operator==(const IpPort&, const IpPort&) = default;
};
static_assert(sizeof(IpPort) == 24);

// Where a socket leads: an IP address and port, or the path of a UNIX socket.
class SocketAddress {
 public:
  static constexpr std::size_t kMaxUnixPathBytes =
      107;  // sockaddr_un::sun_path less its terminator

  SocketAddress() = default;                       // 0.0.0.0:0
  SocketAddress(const IpPort& ip) : value_(ip) {}  // NOLINT: an IpPort is a SocketAddress
  // `path` is 1 to kMaxUnixPathBytes bytes without NUL.
  static SocketAddress unix_socket(std::string path);

  const IpPort* ip() const { return std::get_if<IpPort>(&value_); }  // null: a UNIX socket
  const std::string* unix_path() const {                             // null: IP
    const Path* path = std::get_if<Path>(&value_);
    return path == nullptr ? nullptr : path->get();
  }

  std::string to_string() const;  // "127.0.0.1:80", "[::1]:80", "unix:/run/x"

  friend bool operator==(const SocketAddress& a, const SocketAddress& b);

 private:
  // Shared: an address is copied for every connection, and a string in it would make each larger.
  using Path = std::shared_ptr<const std::string>;

  std::variant<IpPort, Path> value_;
};
static_assert(sizeof(SocketAddress) == 32);

// A block of addresses: "10.0.0.0/8", "fd00::/8", or one address.
struct Cidr {
  IpAddress network;  // bits behind the prefix are zero
  std::uint8_t prefix_bits = 32;

  // Bits set behind the prefix are cleared; a block inside ::ffff:0:0/96 becomes one of IPv4.
  static std::optional<Cidr> parse(std::string_view text);

  bool contains(const IpAddress& ip) const;  // an IPv4-mapped address is looked at as IPv4
  std::string to_string() const;             // always with its prefix length

  friend bool operator==(const Cidr&, const Cidr&) = default;
};

// For the io floor: fills `out` (wholly) and returns the length that the kernel wants with it.
std::uint32_t to_sockaddr(const IpPort& address, sockaddr_storage& out);
std::uint32_t to_sockaddr(const SocketAddress& address, sockaddr_storage& out);

// From accept(2), getsockname(2) or the resolver; nothing for families other than AF_INET and
// AF_INET6.
std::optional<IpPort> from_sockaddr(const sockaddr& address);

}  // namespace hushgate
