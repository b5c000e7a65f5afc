// What a gateway is told, as plain values that were validated: `load` makes them, everything else
// only reads them. A Config never changes; a reload makes a new one, and exchanges that run keep
// the one they began with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/limits.h"

namespace hushgate::config {

inline constexpr std::size_t kMaxListeners = 64;
inline constexpr std::size_t kMaxUpstreams = 1'024;
inline constexpr std::size_t kMaxRoutes = 4'096;
inline constexpr std::size_t kMaxCidrs = 1'024;
inline constexpr std::size_t kMaxSourceAddresses = 256;
inline constexpr std::size_t kMaxCertificates = 256;  // of a listener
inline constexpr unsigned kMaxWorkers = 1'024;
inline constexpr unsigned kMaxSpare = 64;

// Whether each exchange is a line of the log.
enum class AccessLog : std::uint8_t { off, on };

enum class IoBackend : std::uint8_t { auto_, epoll, uring };

// What a client's FIN means when it comes after a complete request (CONTRACT section 1).
enum class HalfClose : std::uint8_t {
  auto_,   // within kHalfCloseWindow of the request's last byte: a half-close; later: gone
  cancel,  // always gone
  serve,   // always a half-close
};

enum class Scheme : std::uint8_t { http, unix_socket, https };

// What is spoken to an upstream.
enum class Protocol : std::uint8_t {
  auto_,  // https: what its handshake chooses (ALPN); else HTTP/1.1
  http1,
  http2,  // https only: HTTP/2, or the handshake has failed
  h2c,    // http and unix only: HTTP/2 from the first byte
};

// Whether a listener answers HTTP/2 too, besides HTTP/1.1.
enum class Http2 : std::uint8_t { off, on };

// Which Host an upstream sees.
enum class HostPolicy : std::uint8_t {
  upstream,  // Upstream::authority, and the client's in X-Forwarded-Host
  client,    // the client's
};

enum class Connect : std::uint8_t { refused, allowed };

// The lowest version of TLS that is spoken. The highest is 1.3.
enum class TlsVersion : std::uint8_t { tls12, tls13 };

enum class ClientCertificates : std::uint8_t {
  off,       // none is asked for
  optional,  // one is asked for; a client without one is served, one with a bad one is not
  required,  // who has no good one is not served
};

// Whether an upstream's certificate must be good and for its name.
enum class Verification : std::uint8_t { required, skipped };

// Two files of PEM. Paths of files are absolute, or relative to the working directory; that the
// files exist and are right is src/tls's to find out.
struct ServerCertificate {
  std::string certificate{};  // with the intermediate ones behind it
  std::string key{};          // may be the same file

  friend bool operator==(const ServerCertificate&, const ServerCertificate&) = default;
};

struct ListenTls {
  std::vector<ServerCertificate> certificates{};  // 1 to kMaxCertificates; the first: by default
  TlsVersion min_version = TlsVersion::tls12;
  ClientCertificates client_certificates = ClientCertificates::off;
  std::string client_ca{};  // a file; empty exactly if client_certificates is off

  friend bool operator==(const ListenTls&, const ListenTls&) = default;
};

// How many addresses a listener stands for.
enum class ListenFamily : std::uint8_t {
  one,  // exactly `address`
  any,  // ":port" and "*:port": [::] taking IPv4 too; 0.0.0.0 where the machine has no IPv6
};

struct ListenAddress {
  std::string text{};  // as written, for messages
  IpPort address{};    // port 0: the kernel chooses. `any`: 0.0.0.0 and the port
  ListenFamily family = ListenFamily::one;
  std::optional<ListenTls> tls{};  // none: cleartext. The admin listener never has it
  Http2 http2 = Http2::on;         // with TLS: by ALPN; without: by its preface

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

struct Client {
  HalfClose half_close = HalfClose::auto_;
  std::vector<Cidr> trusted_proxies{};  // whose X-Forwarded-* and X-Request-Id are believed

  friend bool operator==(const Client&, const Client&) = default;
};

struct UpstreamTls {
  std::string ca{};           // a file; empty: the system's roots
  std::string certificate{};  // a file, shown to the upstream; empty: none is
  std::string key{};          // a file; empty exactly if `certificate` is
  std::string server_name{};  // a host name or an address; empty: the url's host (see peer_name)
  TlsVersion min_version = TlsVersion::tls12;
  Verification verification = Verification::required;  // skipped: `ca` is empty

  friend bool operator==(const UpstreamTls&, const UpstreamTls&) = default;
};

struct Upstream {
  std::string name{};  // 1 to 64 of [A-Za-z0-9_.-]; unique
  std::string url{};   // as written, for messages

  Scheme scheme = Scheme::http;
  std::string host{};  // not unix: a name, or an address without brackets. Empty for unix
  std::optional<IpAddress> literal{};  // `host`, where it is an address: nothing to resolve
  std::uint16_t port = 80;             // not unix
  std::string unix_path{};             // unix: the socket's path
  std::string prefix{};     // goes before every path: empty, or "/a/b" without a slash at its end
  std::string authority{};  // for Host, without the scheme's own port: "name", "name:8080",
                            // "[::1]:8080"; "localhost" for unix

  Protocol protocol = Protocol::auto_;
  Ms idle_timeout{4'000};   // of a pooled connection
  unsigned max_idle = 512;  // pooled connections per worker and endpoint; 0: none are kept
  Ms close_wait{1'000};     // for the upstream's FIN after an unsafe exchange
  HostPolicy host_policy = HostPolicy::upstream;
  std::vector<IpAddress> source_addresses{};  // spread over these; empty: the kernel chooses
  unsigned spare = 0;  // connections made ahead of need per worker and endpoint; 0: none are
  UpstreamTls tls{};   // https; of any other scheme it is as here

  friend bool operator==(const Upstream&, const Upstream&) = default;
};

// What the certificate of an https upstream must be for: a host name without a dot at its end, or
// an address without brackets. Names go into SNI, addresses do not (RFC 6066 section 3).
inline std::string_view peer_name(const Upstream& upstream) {
  std::string_view name = upstream.tls.server_name;
  if (name.empty()) name = upstream.host;
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

struct Route {
  std::string path{};  // begins with '/'; no dot segments, empty segments, '%', '\\', '?', '#'
  std::size_t upstream = 0;            // index into Config::upstreams
  Connect connect = Connect::refused;  // may CONNECT come here; only on "/"

  // In place of the same field of Limits. route::Table resolves them (route::RouteLimits).
  std::optional<Ms> upstream_timeout{};
  std::optional<std::uint64_t> min_upload_bytes_per_second{};  // 0 = off
  std::optional<std::uint64_t> max_body_bytes{};               // 0 = off

  friend bool operator==(const Route&, const Route&) = default;
};

struct Config {
  std::vector<ListenAddress> listen{};   // at least one
  std::optional<ListenAddress> admin{};  // none: no admin listener
  unsigned workers = 0;                  // 0: one per core this process may use
  IoBackend backend = IoBackend::auto_;
  AccessLog access_log = AccessLog::on;
  Client client{};
  std::vector<Upstream> upstreams{};  // at least one, in the file's order
  std::vector<Route> routes{};        // at least one, in the file's order
  Limits limits{};

  friend bool operator==(const Config&, const Config&) = default;
};

}  // namespace hushgate::config
