#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/assert.h"

namespace hushgate {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const IpAddress& ip) {
  return ip.family() == IpFamily::v6 && std::ranges::equal(ip.bytes().first(12), kMappedPrefix);
}

// Digits only, no leading zero, at most `max`.
std::optional<unsigned> parse_number(std::string_view text, unsigned max) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

// Whether the first `bits` bits are the same.
bool same_prefix(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::ranges::equal(a.first(whole), b.first(whole))) return false;
  if (bits % 8 == 0) return true;
  return ((a[whole] ^ b[whole]) >> (8 - bits % 8)) == 0;
}

IpAddress masked(const IpAddress& ip, unsigned bits) {
  std::array<std::uint8_t, 16> bytes{};
  std::ranges::copy(ip.bytes(), bytes.begin());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t first_bit = i * 8;
    if (first_bit >= bits) {
      bytes[i] = 0;
    } else if (bits - first_bit < 8) {
      bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xff00U >> (bits - first_bit)));
    }
  }
  if (ip.family() == IpFamily::v6) return IpAddress::v6(bytes);
  return IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

std::size_t format_v4(std::span<const std::uint8_t, 4> bytes, std::span<char> out) {
  constexpr std::size_t kLongest = 15;
  HG_ASSERT(out.size() >= kLongest);
  char* at = out.data();
  for (const std::uint8_t byte : bytes) {
    if (at != out.data()) *at++ = '.';
    at = std::to_chars(at, out.data() + out.size(), byte).ptr;
  }
  return static_cast<std::size_t>(at - out.data());
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  std::array<char, kMaxTextBytes + 1> terminated{};
  if (text.empty() || text.size() > kMaxTextBytes) return std::nullopt;
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  std::ranges::copy(text, terminated.begin());
  IpAddress ip;
  if (inet_pton(AF_INET, terminated.data(), ip.bytes_.data()) == 1) return ip;
  ip = IpAddress{};
  if (inet_pton(AF_INET6, terminated.data(), ip.bytes_.data()) != 1) return std::nullopt;
  ip.family_ = IpFamily::v6;
  return ip;
}

IpAddress IpAddress::unmapped() const {
  if (!is_mapped(*this)) return *this;
  return v4(bytes_[12], bytes_[13], bytes_[14], bytes_[15]);
}

bool IpAddress::is_any() const {
  return std::ranges::all_of(bytes(), [](std::uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_loopback() const {
  if (family_ == IpFamily::v4) return bytes_[0] == 127;
  return bytes_[15] == 1 && std::ranges::all_of(bytes().first(15), [](auto b) { return b == 0; });
}

std::size_t IpAddress::format(std::span<char> out) const {
  if (family_ == IpFamily::v4) return format_v4(std::span(bytes_).first<4>(), out);
  std::array<char, INET6_ADDRSTRLEN> text{};
  HG_ASSERT(inet_ntop(AF_INET6, bytes_.data(), text.data(), text.size()) != nullptr);
  const std::size_t size = std::strlen(text.data());
  HG_ASSERT(size <= out.size());
  std::copy_n(text.data(), size, out.data());
  return size;
}

std::string IpAddress::to_string() const {
  std::array<char, kMaxTextBytes> text{};
  return {text.data(), format(text)};
}

std::optional<IpPort> IpPort::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_number(text.substr(colon + 1), 65'535);
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto ip = IpAddress::parse(host);
  if (!port || !ip || bracketed != (ip->family() == IpFamily::v6)) return std::nullopt;
  return IpPort{.ip = *ip, .port = static_cast<std::uint16_t>(*port)};
}

std::size_t IpPort::format(std::span<char> out) const {
  const bool bracketed = ip.family() == IpFamily::v6;
  std::size_t size = 0;
  HG_ASSERT(out.size() >= 2);
  if (bracketed) out[size++] = '[';
  size += ip.format(out.subspan(size));
  HG_ASSERT(out.size() - size >= 2);
  if (bracketed) out[size++] = ']';
  out[size++] = ':';
  const auto [end, error] = std::to_chars(out.data() + size, out.data() + out.size(), port);
  HG_ASSERT(error == std::errc{});
  return static_cast<std::size_t>(end - out.data());
}

std::string IpPort::to_string() const {
  std::array<char, kMaxTextBytes> text{};
  return {text.data(), format(text)};
}

SocketAddress SocketAddress::unix_socket(std::string path) {
  HG_ASSERT(!path.empty() && path.size() <= kMaxUnixPathBytes);
  SocketAddress address;
  address.value_ = std::make_shared<const std::string>(std::move(path));
  return address;
}

bool operator==(const SocketAddress& a, const SocketAddress& b) {
  const std::string* path = a.unix_path();
  if (path == nullptr) return b.ip() != nullptr && *a.ip() == *b.ip();
  return b.unix_path() != nullptr && *path == *b.unix_path();
}

std::string SocketAddress::to_string() const {
  if (const IpPort* address = ip()) return address->to_string();
  return "unix:" + *unix_path();
}

std::optional<Cidr> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto ip = IpAddress::parse(text.substr(0, slash));
  if (!ip) return std::nullopt;
  unsigned bits = ip->family() == IpFamily::v4 ? 32 : 128;
  if (slash != std::string_view::npos) {
    const auto given = parse_number(text.substr(slash + 1), bits);
    if (!given) return std::nullopt;
    bits = *given;
  }
  if (is_mapped(*ip) && bits >= 96) {
    return Cidr{masked(ip->unmapped(), bits - 96), static_cast<std::uint8_t>(bits - 96)};
  }
  return Cidr{masked(*ip, bits), static_cast<std::uint8_t>(bits)};
}

bool Cidr::contains(const IpAddress& ip) const {
  const IpAddress plain = ip.unmapped();
  return plain.family() == network.family() &&
         same_prefix(plain.bytes(), network.bytes(), prefix_bits);
}

std::string Cidr::to_string() const {
  return network.to_string() + '/' + std::to_string(prefix_bits);
}

std::uint32_t to_sockaddr(const IpPort& address, sockaddr_storage& out) {
  out = sockaddr_storage{};
  if (address.ip.family() == IpFamily::v4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.ip.bytes().data(), sizeof in.sin_addr);
    std::memcpy(&out, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(address.port);
  in.sin6_scope_id = address.scope_id;
  std::memcpy(&in.sin6_addr, address.ip.bytes().data(), sizeof in.sin6_addr);
  std::memcpy(&out, &in, sizeof in);
  return sizeof in;
}

std::uint32_t to_sockaddr(const SocketAddress& address, sockaddr_storage& out) {
  if (const IpPort* ip = address.ip()) return to_sockaddr(*ip, out);
  const std::string& path = *address.unix_path();
  sockaddr_un un{};
  static_assert(sizeof un.sun_path == SocketAddress::kMaxUnixPathBytes + 1);
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), path.size());
  out = sockaddr_storage{};
  std::memcpy(&out, &un, sizeof un);
  return static_cast<std::uint32_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
}

std::optional<IpPort> from_sockaddr(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::array<std::uint8_t, 4> ip{};
    std::memcpy(ip.data(), &in.sin_addr, ip.size());
    return IpPort{IpAddress::v4(ip[0], ip[1], ip[2], ip[3]), ntohs(in.sin_port), 0};
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    std::array<std::uint8_t, 16> ip{};
    std::memcpy(ip.data(), &in.sin6_addr, ip.size());
    return IpPort{IpAddress::v6(ip), ntohs(in.sin6_port), in.sin6_scope_id};
  }
  return std::nullopt;
}

}  // namespace hushgate
