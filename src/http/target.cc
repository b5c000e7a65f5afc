#include "http/target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hushgate::http {

namespace {

// unreserved and sub-delims without the comma (RFC 3986 section 2); '%' is looked at apart.
constexpr std::array<bool, 256> kRegName = detail::make_set(
    "!$&'()*+;=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

bool is_hex(char c) {
  const char lower = to_lower(c);
  return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

bool is_reg_name(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kRegName[static_cast<unsigned char>(text[i])]) continue;
    if (text[i] != '%' || text.size() - i < 3) return false;
    if (!is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
    i += 2;
  }
  return true;
}

bool is_ipv6(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN + 1> copy{};
  if (text.size() >= copy.size()) return false;
  if (text.find('\0') != std::string_view::npos) return false;
  std::memcpy(copy.data(), text.data(), text.size());
  in6_addr address{};
  return inet_pton(AF_INET6, copy.data(), &address) == 1;
}

// Visible ASCII without '#': what a target may hold at all. Everything narrower is left to the
// route.
bool is_target(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7F || c == '#') return false;
  }
  return !text.empty();
}

void split_query(std::string_view text, RequestHead& head) {
  const std::size_t mark = text.find('?');
  head.path = text.substr(0, mark);
  head.query = mark == std::string_view::npos ? std::string_view{} : text.substr(mark);
}

Result<void> parse_absolute(std::string_view text, RequestHead& head) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return fail(ErrorKind::bad_request);
  const std::string_view scheme = text.substr(0, colon);
  if (!equals_lower(scheme, "http") && !equals_lower(scheme, "https")) {
    return fail(ErrorKind::bad_request);
  }
  std::string_view rest = text.substr(colon + 1);
  if (!rest.starts_with("//")) return fail(ErrorKind::bad_request);
  rest.remove_prefix(2);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const auto authority = parse_authority(rest.substr(0, end));
  // RFC 9110 section 4.2.1: an http URI with an empty host is invalid.
  if (!authority || authority->host.empty()) return fail(ErrorKind::bad_request);
  head.form = TargetForm::absolute;
  head.scheme = scheme;
  head.authority = rest.substr(0, end);
  split_query(rest.substr(end), head);
  if (!head.path.empty()) return {};
  if (head.method == Method::options && head.query.empty()) {
    head.form = TargetForm::asterisk;  // RFC 9112 section 3.2.4
    head.path = "*";
  } else {
    head.path = "/";
  }
  return {};
}

}  // namespace

std::optional<Authority> parse_authority(std::string_view text) {
  Authority authority;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) return std::nullopt;
    authority.host = text.substr(0, close + 1);
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':') return std::nullopt;
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    authority.host = text.substr(0, colon);
    port = text.substr(colon);
    if (!is_reg_name(authority.host)) return std::nullopt;
  }
  if (port.size() <= 1) return authority;
  const auto number = parse_decimal(port.substr(1), 65'535);
  if (!number) return std::nullopt;
  authority.port = static_cast<std::uint16_t>(*number);
  return authority;
}

Result<void> parse_target(std::string_view text, RequestHead& head) {
  if (!is_target(text)) return fail(ErrorKind::bad_request);
  head.target = text;
  if (head.method == Method::connect) {
    const auto authority = parse_authority(text);
    if (!authority || authority->host.empty() || !authority->port) {
      return fail(ErrorKind::bad_request);
    }
    head.form = TargetForm::authority;
    head.authority = text;
    return {};
  }
  if (text.front() == '/') {
    head.form = TargetForm::origin;
    split_query(text, head);
    return {};
  }
  if (text == "*") {
    if (head.method != Method::options) return fail(ErrorKind::bad_request);
    head.form = TargetForm::asterisk;
    head.path = text;
    return {};
  }
  return parse_absolute(text, head);
}

}  // namespace hushgate::http
