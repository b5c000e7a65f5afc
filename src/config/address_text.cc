#include "config/address_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "config/fault.h"

namespace hushgate::config {
namespace {

constexpr std::size_t kMaxHostBytes = 253;
constexpr std::size_t kMaxPathBytes = 2'048;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxFileBytes = 4'095;  // the kernel's PATH_MAX, less the final NUL

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_visible_ascii(char c) { return c > 0x20 && c < 0x7f; }
bool is_control(char c) { return c >= 0 && c < 0x20; }

std::string lowercase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  unsigned port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);
  if (port > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

std::unexpected<std::string> wrong(std::string_view right) {
  return std::unexpected(std::string(right));
}

// Letters, digits, '-', '_' and dots between non-empty labels. A last label of digits would be a
// broken IPv4 address.
bool is_host_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxHostBytes) return false;
  if (name.ends_with('.')) name.remove_suffix(1);
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view label = name.substr(begin, end - begin);
    const bool good = std::ranges::all_of(
        label, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
    if (label.empty() || label.size() > 63 || !good) return false;
    if (end == name.size()) return !std::ranges::all_of(label, is_digit);
    begin = end + 1;
  }
}

// Why a path cannot stand in front of others, or null. '%' is the caller's business.
const char* path_fault(std::string_view path) {
  if (path.size() > kMaxPathBytes) return "it must have at most 2048 bytes";
  if (!std::ranges::all_of(path, is_visible_ascii))
    return "it must be visible ASCII without spaces";
  if (path.find_first_of("?#\\") != std::string_view::npos) return "it must not hold ?, # or \\";
  if (path.contains("//")) return "it must not hold //";
  for (const std::string_view segment : {"/.", "/.."}) {
    if (path.ends_with(segment) || path.contains(std::string(segment) + '/')) {
      return "it must not hold the segments . and ..";
    }
  }
  return nullptr;
}

Written<void> parse_unix_url(std::string_view path, Upstream& upstream) {
  if (!path.starts_with('/') || path.starts_with("//")) {
    return wrong("a UNIX socket is written unix:/path/of/the/socket");
  }
  if (path.size() > SocketAddress::kMaxUnixPathBytes) {
    return wrong("the path of a UNIX socket has at most 107 bytes");
  }
  if (std::ranges::any_of(path, is_control)) {
    return wrong("the path of a UNIX socket must not hold control characters");
  }
  upstream.scheme = Scheme::unix_socket;
  upstream.unix_path = path;
  upstream.authority = "localhost";
  return {};
}

std::string_view prefix_of(Scheme scheme) {
  return scheme == Scheme::https ? "https://" : "http://";
}
std::uint16_t own_port(Scheme scheme) { return scheme == Scheme::https ? 443 : 80; }

// "host", "host:port", "[::1]", "[::1]:port".
Written<void> parse_authority(std::string_view authority, Scheme scheme, Upstream& upstream) {
  constexpr std::string_view kPort = "a port is a number from 1 to 65535";
  const auto wrong_v6 = [&] {
    return wrong("an IPv6 address is written in brackets: " + std::string(prefix_of(scheme)) +
                 (scheme == Scheme::https ? "[::1]:8443" : "[::1]:8080"));
  };
  if (authority.contains('@')) return wrong("a URL must not hold a user or password");
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = authority.substr(0, colon);
  upstream.port = own_port(scheme);
  if (colon != std::string_view::npos) {
    const auto port = parse_port(authority.substr(colon + 1));
    if (authority.find(':', colon + 1) != std::string_view::npos) return wrong_v6();
    if (!port || *port == 0) return wrong(kPort);
    upstream.port = *port;
  }
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  upstream.literal = IpAddress::parse(host);
  const bool is_v6 = upstream.literal && upstream.literal->family() == IpFamily::v6;
  if (bracketed != is_v6) return wrong_v6();
  if (!upstream.literal && !is_host_name(host)) {
    return wrong("after " + std::string(prefix_of(scheme)) +
                 " must come a host name or an address");
  }
  upstream.host = upstream.literal ? upstream.literal->to_string() : lowercase(host);
  upstream.authority = is_v6 ? '[' + upstream.host + ']' : upstream.host;
  if (upstream.port != own_port(scheme)) {
    upstream.authority += ':' + std::to_string(upstream.port);
  }
  return {};
}

}  // namespace

Written<ListenAddress> parse_listen(std::string_view text) {
  constexpr std::string_view kRight =
      "it must be an address with a port: 127.0.0.1:8787, [::1]:8787, or :8787 for every address";
  if (text.starts_with("unix:") || text.starts_with('/')) {
    return wrong("listening on UNIX sockets is not supported by this version");
  }
  if (text.contains("://")) return wrong(kRight);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(kRight);
  const std::string_view host = text.substr(0, colon);
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return wrong("its port must be a number from 0 (the kernel chooses) to 65535");
  ListenAddress listen{.text = std::string(text), .address = {.port = *port}};
  if (host.empty() || host == "*") {
    listen.family = ListenFamily::any;
    return listen;
  }
  if (lowercase(host) == "localhost") {
    listen.address.ip = IpAddress::v4(127, 0, 0, 1);
    return listen;
  }
  const auto address = IpPort::parse(std::string(host) + ":0");
  if (!address) return wrong(kRight);
  listen.address.ip = address->ip;
  return listen;
}

Written<Cidr> parse_cidr(std::string_view text) {
  const auto block = Cidr::parse(text);
  if (!block) return wrong("it must be an address or a block of addresses: 10.0.0.0/8, fd00::/8");
  const auto address = IpAddress::parse(text.substr(0, text.find('/')));
  if (!address || address->unmapped() != block->network) {
    return wrong("it has bits behind its prefix; write " + block->to_string());
  }
  return *block;
}

Written<IpAddress> parse_source_address(std::string_view text) {
  const auto address = IpAddress::parse(text);
  if (!address) return wrong("it must be an address of this machine: 10.0.0.5 or fd00::5");
  if (address->is_any()) return wrong("it must be one address of this machine, not all of them");
  return *address;
}

Written<void> parse_upstream_url(std::string_view text, Upstream& upstream) {
  upstream.url = text;
  const std::size_t colon = text.find(':');
  const std::string scheme = lowercase(text.substr(0, colon));
  if (scheme == "unix" && colon != std::string_view::npos) {
    return parse_unix_url(text.substr(colon + 1), upstream);
  }
  const Scheme meant = scheme == "https" ? Scheme::https : Scheme::http;
  const std::string_view begin = prefix_of(meant);
  if (lowercase(text.substr(0, begin.size())) != begin) {
    return wrong("it must begin with http://, https:// or unix:, as in http://127.0.0.1:3000");
  }
  if (text.find_first_of("?#") != std::string_view::npos) {
    return wrong("a URL here has no query and no fragment");
  }
  const std::string_view rest = text.substr(begin.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (auto authority = parse_authority(rest.substr(0, slash), meant, upstream); !authority) {
    return authority;
  }
  std::string_view path = rest.substr(slash);
  if (const char* fault = path_fault(path))
    return wrong("about the path of this URL: " + std::string(fault));
  if (path.ends_with('/')) path.remove_suffix(1);
  upstream.prefix = path;
  upstream.scheme = meant;
  return {};
}

std::string shown_url(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return quoted(text);
  const std::size_t scheme = text.find("://");
  const std::string_view kept = text.substr(0, scheme < at ? scheme + 3 : 0);
  return quoted(std::string(kept) + "..." + std::string(text.substr(at)));
}

Written<std::string> parse_route_path(std::string_view text) {
  if (!text.starts_with('/')) return wrong("it must begin with /");
  if (const char* fault = path_fault(text)) return wrong(fault);
  if (text.contains('%')) return wrong("it must be written without % escapes");
  return std::string(text);
}

Written<std::string> parse_upstream_name(std::string_view text) {
  const bool good = std::ranges::all_of(
      text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
  if (text.empty() || text.size() > kMaxNameBytes || !good) {
    return wrong("a name has 1 to 64 letters, digits, '-', '_' and '.'");
  }
  return std::string(text);
}

Written<std::string> parse_server_name(std::string_view text) {
  if (const auto address = IpAddress::parse(text)) return address->to_string();
  if (!is_host_name(text)) return wrong("it must be a host name, or an address without brackets");
  if (text.ends_with('.')) text.remove_suffix(1);
  return lowercase(text);
}

Written<std::string> parse_file_path(std::string_view text, std::string_view folder) {
  if (text.empty()) return wrong("it must be the path of a file");
  if (std::ranges::any_of(text, is_control)) {
    return wrong("the path of a file must not hold control characters");
  }
  std::string path;
  if (!folder.empty() && !text.starts_with('/')) {
    path = folder;
    if (!path.ends_with('/')) path += '/';
  }
  path += text;
  if (path.size() > kMaxFileBytes) return wrong("the path of a file has at most 4095 bytes");
  return path;
}

}  // namespace hushgate::config
