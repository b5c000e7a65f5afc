// The table itself.
#include <array>
#include <type_traits>
#include <utility>

#include "config/schema.h"

namespace hushgate::config {
namespace {

constexpr std::uint64_t kMaxMs = 2'147'483'647;
constexpr std::uint64_t kMaxCount = 2'147'483'647;
constexpr std::uint64_t kMaxBytes = 1ULL << 53U;  // what every JSON tool holds exactly
constexpr std::uint64_t kMaxHeadBytes = 16U << 20U;
constexpr std::uint64_t kMaxStreams = 1'000;

constexpr std::array<std::string_view, 3> kBackends{"auto", "epoll", "uring"};
constexpr std::array<std::string_view, 3> kHalfCloses{"auto", "cancel", "serve"};
constexpr std::array<std::string_view, 4> kProtocols{"auto", "http1", "http2", "h2c"};
constexpr std::array<std::string_view, 2> kHostPolicies{"upstream", "client"};
constexpr std::array<std::string_view, 2> kTlsVersions{"1.2", "1.3"};
constexpr std::array<std::string_view, 3> kClientCertificates{"off", "optional", "required"};

template <typename T>
struct Store {
  static std::optional<std::uint64_t> get(const T& value) {
    if constexpr (std::is_same_v<T, Ms>)
      return static_cast<std::uint64_t>(value.count());
    else
      return static_cast<std::uint64_t>(value);
  }
  static T make(std::uint64_t value) {
    if constexpr (std::is_same_v<T, Ms>)
      return Ms{static_cast<std::int64_t>(value)};
    else
      return static_cast<T>(value);
  }
};

template <typename T>
struct Store<std::optional<T>> {
  static std::optional<std::uint64_t> get(const std::optional<T>& value) {
    return value ? Store<T>::get(*value) : std::nullopt;
  }
  static std::optional<T> make(std::uint64_t value) { return Store<T>::make(value); }
};

// in<Config, &Config::limits, &Limits::grace>: the member at the end of that path.
template <typename Owner, auto... Path>
constexpr Field<Owner> in{
    .get =
        [](const Owner& owner) {
          const auto& member = (owner.*....*Path);
          return Store<std::remove_cvref_t<decltype(member)>>::get(member);
        },
    .set =
        [](Owner& owner, std::uint64_t value) {
          auto& member = (owner.*....*Path);
          member = Store<std::remove_cvref_t<decltype(member)>>::make(value);
        },
};

template <typename Owner, auto... Path>
constexpr TextField<Owner> text_in{
    .get = [](const Owner& owner) -> const std::string& { return (owner.*....*Path); },
    .set = [](Owner& owner, std::string value) { (owner.*....*Path) = std::move(value); },
};

template <auto Member>
constexpr auto limit = in<Config, &Config::limits, Member>;

constexpr Key group(std::string_view path, std::string_view meaning) {
  return {.path = path, .kind = Kind::group, .meaning = meaning};
}
constexpr Key of_kind(Kind kind, std::string_view path, std::string_view meaning) {
  return {.path = path, .kind = kind, .meaning = meaning};
}
constexpr Key choice(std::string_view path, std::span<const std::string_view> choices, auto field,
                     std::string_view meaning) {
  return {
      .path = path, .kind = Kind::choice, .choices = choices, .meaning = meaning, .field = field};
}
constexpr Key number(Kind kind, std::string_view path, std::uint64_t min, std::uint64_t max,
                     std::string_view unit, auto field, std::string_view meaning) {
  return {.path = path,
          .kind = kind,
          .min = min,
          .max = max,
          .unit = unit,
          .meaning = meaning,
          .field = field};
}
constexpr Key ms(std::string_view path, auto field, std::string_view meaning) {
  return number(Kind::number, path, 1, kMaxMs, "milliseconds", field, meaning);
}
constexpr Key bytes(std::string_view path, std::uint64_t min, std::uint64_t max, auto field,
                    std::string_view meaning) {
  return number(Kind::number, path, min, max, "bytes", field, meaning);
}

// Looser than what is read: `hushgate check` says what is wrong with an address.
constexpr std::string_view kListenPattern = "^[^/]*:[0-9]{1,5}$";
constexpr std::string_view kBlockPattern = "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$";
constexpr std::string_view kAddressPattern = "^[0-9A-Fa-f:.]+$";
constexpr std::string_view kUrlPattern =
    "^([Hh][Tt][Tt][Pp][Ss]?://[^/?#@ ]+(/[^?# ]*)?|[Uu][Nn][Ii][Xx]:/([^/].*)?)$";
constexpr std::string_view kPathPattern = "^/[^ ?#%\\\\]*$";
constexpr std::string_view kFilePattern = "^[^\\x00-\\x1f]+$";
constexpr std::string_view kHostPattern = "^[0-9A-Za-z_.:-]*[A-Za-z_.:-][0-9A-Za-z_.:-]*$";
constexpr std::string_view kNamePattern = "^[A-Za-z0-9_.-]{1,64}$";

constexpr Key text(Kind kind, std::string_view path, std::string_view pattern,
                   std::string_view absent, std::string_view meaning) {
  return {.path = path, .kind = kind, .meaning = meaning, .pattern = pattern, .absent = absent};
}
constexpr Key file(std::string_view path, std::string_view absent, auto field,
                   std::string_view meaning) {
  return {.path = path,
          .kind = Kind::file,
          .meaning = meaning,
          .field = field,
          .pattern = kFilePattern,
          .absent = absent};
}
constexpr Key at_start(Key key) {
  key.effect = Effect::restart;
  return key;
}

constexpr std::array kSchema{
    at_start(text(
        Kind::texts, "listen", kListenPattern, "must be given",
        "where clients connect: \"127.0.0.1:8787\", \"[::1]:8787\", \":8787\" for every address")),
    at_start(text(Kind::text, "listen[].address", kListenPattern, "must be given",
                  "as the string that may stand in its place")),
    group("listen[].tls", "TLS towards the clients of this listener; absent: cleartext"),
    Key{.path = "listen[].tls.certificates",
        .kind = Kind::objects,
        .meaning = "what clients are shown, by the name that they ask for; the first to all others",
        .absent = "must be given"},
    file("listen[].tls.certificates[].certificate", "must be given",
         text_in<ServerCertificate, &ServerCertificate::certificate>,
         "a file of PEM: the certificate, and behind it the intermediate ones"),
    file("listen[].tls.certificates[].key", "must be given",
         text_in<ServerCertificate, &ServerCertificate::key>, "a file of PEM: its private key"),
    choice("listen[].tls.minVersion", kTlsVersions, in<ListenTls, &ListenTls::min_version>,
           "the lowest version of TLS that is spoken"),
    choice("listen[].tls.clientCertificates", kClientCertificates,
           in<ListenTls, &ListenTls::client_certificates>,
           "whether clients are asked for a certificate: optional serves those without one too"),
    file("listen[].tls.clientCa", "needed unless clientCertificates is off",
         text_in<ListenTls, &ListenTls::client_ca>,
         "a file of PEM: the authorities that clients' certificates must come from"),
    Key{.path = "listen[].http2",
        .kind = Kind::boolean,
        .meaning = "whether clients may speak HTTP/2 here, besides HTTP/1.1",
        .field = in<ListenAddress, &ListenAddress::http2>},
    of_kind(Kind::refused, "listen[].proxyProtocol",
            "the PROXY protocol of a load balancer in front"),
    at_start(text(Kind::text, "admin", kListenPattern, "no admin listener",
                  "where GET /healthz is answered; absent: nowhere")),
    at_start(number(Kind::number_or_auto, "workers", 1, kMaxWorkers, "threads",
                    in<Config, &Config::workers>, "event loops; auto is one per core")),

    group("io", "how the kernel is asked"),
    at_start(choice("io.backend", kBackends, in<Config, &Config::backend>,
                    "the kernel interface of the event loop; auto is io_uring where it works and "
                    "this version was tried with the kernel, else epoll")),

    group("log", "what is written to standard error"),
    Key{.path = "log.access",
        .kind = Kind::boolean,
        .meaning = "a line for each exchange",
        .field = in<Config, &Config::access_log>,
        .absent = "true"},

    group("client", "the side of the clients"),
    choice("client.halfClose", kHalfCloses, in<Config, &Config::client, &Client::half_close>,
           "what a FIN after a whole request means: auto serves it if it came at once and takes a "
           "later one for a client that left"),
    text(Kind::texts, "client.trustedProxies", kBlockPattern, "nobody is believed",
         "addresses and blocks (10.0.0.0/8) whose X-Forwarded-* and X-Request-Id are believed"),

    group("upstream", "defaults for each of upstreams"),
    choice("upstream.protocol", kProtocols, in<Upstream, &Upstream::protocol>,
           "what is spoken to it: auto is what an https upstream chooses, HTTP/1.1 to any other; "
           "http2 is for https, h2c for http and unix"),
    ms("upstream.idleTimeoutMs", in<Upstream, &Upstream::idle_timeout>,
       "how long a pooled connection may idle; stay below the upstream's own timeout"),
    number(Kind::number, "upstream.maxIdle", 0, kMaxCount, "connections",
           in<Upstream, &Upstream::max_idle>,
           "pooled connections per worker and endpoint; 0 keeps none"),
    ms("upstream.closeWaitMs", in<Upstream, &Upstream::close_wait>,
       "how long the upstream may take to close after an unsafe exchange, so that it and not we "
       "hold the port in TIME_WAIT"),
    choice("upstream.host", kHostPolicies, in<Upstream, &Upstream::host_policy>,
           "whose Host is sent: the upstream's own or the client's"),
    text(Kind::texts, "upstream.sourceAddresses", kAddressPattern, "the kernel chooses",
         "local addresses over which connections are spread; none: the kernel chooses"),
    number(Kind::number_or_off, "upstream.spare", 1, kMaxSpare, "connections",
           in<Upstream, &Upstream::spare>,
           "connections made ahead of need, per worker and endpoint, so that a request which must "
           "have a new one does not wait for it; 0: none are"),

    group("upstream.tls", "TLS to an upstream whose url begins with https://"),
    file("upstream.tls.ca", "the system's roots",
         text_in<Upstream, &Upstream::tls, &UpstreamTls::ca>,
         "a file of PEM: the authorities that its certificate must come from"),
    file("upstream.tls.certificate", "none is shown",
         text_in<Upstream, &Upstream::tls, &UpstreamTls::certificate>,
         "a file of PEM: what hushgate shows an upstream that asks for a certificate"),
    file("upstream.tls.key", "none", text_in<Upstream, &Upstream::tls, &UpstreamTls::key>,
         "a file of PEM: the private key of certificate"),
    Key{.path = "upstream.tls.serverName",
        .kind = Kind::host,
        .meaning = "the name that is asked for (SNI) and that its certificate must be for",
        .field = text_in<Upstream, &Upstream::tls, &UpstreamTls::server_name>,
        .pattern = kHostPattern,
        .absent = "the host of url"},
    choice("upstream.tls.minVersion", kTlsVersions,
           in<Upstream, &Upstream::tls, &UpstreamTls::min_version>,
           "the lowest version of TLS that is spoken"),
    Key{.path = "upstream.tls.dangerouslySkipVerification",
        .kind = Kind::boolean,
        .meaning = "whether any certificate is taken, whoever shows it",
        .field = in<Upstream, &Upstream::tls, &UpstreamTls::verification>},

    Key{.path = "upstreams",
        .kind = Kind::group,
        .meaning = "the upstreams by name: a URL, or an object with url and keys of upstream",
        .pattern = kNamePattern,
        .absent = "must be given"},
    text(Kind::text, "upstreams.*.url", kUrlPattern, "must be given",
         "http://host[:port][/prefix], https://host[:port][/prefix] or unix:/path"),

    Key{.path = "routes",
        .kind = Kind::objects,
        .meaning = "which path goes to which upstream; the longest matching path wins, on segment "
                   "borders",
        .absent = "one route, /, to the only upstream"},
    text(Kind::text, "routes[].path", kPathPattern, "must be given",
         "covers this path and all below it"),
    text(Kind::text, "routes[].upstream", kNamePattern, "must be given", "a name of upstreams"),
    Key{.path = "routes[].connect",
        .kind = Kind::boolean,
        .meaning = "whether CONNECT is allowed; only on the path /",
        .field = in<Route, &Route::connect>,
        .absent = "false"},
    ms("routes[].upstreamTimeoutMs", in<Route, &Route::upstream_timeout>,
       "in place of limits.upstreamTimeoutMs"),
    number(Kind::number_or_off, "routes[].minUploadBytesPerSecond", 1, kMaxBytes,
           "bytes per second", in<Route, &Route::min_upload_bytes_per_second>,
           "in place of limits.minUploadBytesPerSecond"),
    number(Kind::number_or_off, "routes[].maxBodyBytes", 1, kMaxBytes, "bytes",
           in<Route, &Route::max_body_bytes>, "in place of limits.maxBodyBytes"),

    group("limits", "every bound of time and size"),
    ms("limits.idleTimeoutMs", limit<&Limits::idle_timeout>,
       "how long a client connection may be silent between requests"),
    ms("limits.requestTimeoutMs", limit<&Limits::request_timeout>,
       "how long a client may take to send a request, from its first byte"),
    number(Kind::number_or_off, "limits.minUploadBytesPerSecond", 1, kMaxBytes, "bytes per second",
           limit<&Limits::min_upload_bytes_per_second>,
           "a body that comes at this pace lengthens requestTimeoutMs; 0: nothing does"),
    ms("limits.sendTimeoutMs", limit<&Limits::send_timeout>,
       "a client must take minSendBytes of a waiting response in each such window"),
    bytes("limits.minSendBytes", 1, kMaxBytes, limit<&Limits::min_send_bytes>, "see sendTimeoutMs"),
    bytes("limits.lingerBytes", 0, kMaxBytes, limit<&Limits::linger_bytes>,
          "unread bytes that are still taken after a last response, so that it arrives"),
    ms("limits.upstreamTimeoutMs", limit<&Limits::upstream_timeout>,
       "how long an upstream may be silent while it owes something; never a total"),
    ms("limits.connectTimeoutMs", limit<&Limits::connect_timeout>,
       "one address: connect and TLS handshake"),
    ms("limits.connectTotalMs", limit<&Limits::connect_total>, "all of connecting, retries apart"),
    number(Kind::number, "limits.upstreamRetries", 0, 100, "retries",
           limit<&Limits::upstream_retries>, "of connecting; 0: none"),
    ms("limits.retryBackoffMs", limit<&Limits::retry_backoff>,
       "the first retry waits up to this, then twice it"),
    bytes("limits.maxRequestLineBytes", 16, kMaxHeadBytes, limit<&Limits::max_request_line_bytes>,
          "longer: 414"),
    bytes("limits.maxHeaderBytes", 64, kMaxHeadBytes, limit<&Limits::max_header_bytes>,
          "a head as a whole, trailers too; more: 431"),
    number(Kind::number, "limits.maxHeaders", 1, 65'535, "fields", limit<&Limits::max_headers>,
           "fields of a head; more: 431"),
    number(Kind::number_or_off, "limits.maxBodyBytes", 1, kMaxBytes, "bytes",
           limit<&Limits::max_body_bytes>, "of a request; more: 413; 0: no bound"),
    at_start(bytes("limits.maxBufferedBytes", 1'024, 1U << 30U, limit<&Limits::max_buffered_bytes>,
                   "held per direction of an exchange; at the bound the sender is not read")),
    number(Kind::number, "limits.maxStreams", 1, kMaxStreams, "streams",
           limit<&Limits::max_streams>, "of an HTTP/2 connection of a client, at a time"),
    number(Kind::number_or_auto, "limits.maxConnections", 1, kMaxCount, "connections",
           limit<&Limits::max_connections>, "of clients; auto is 0.4 x the descriptor limit"),
    at_start(number(Kind::number, "limits.backlog", 1, kMaxCount, "connections",
                    limit<&Limits::backlog>, "that the kernel may queue per listener")),
    ms("limits.graceMs", limit<&Limits::grace>, "how long a stop waits for running exchanges"),
    number(Kind::number_or_off, "limits.tunnelIdleTimeoutMs", 1, kMaxMs, "milliseconds",
           limit<&Limits::tunnel_idle_timeout>, "silence that ends a tunnel; 0: none does"),
};

}  // namespace

std::span<const Key> schema() { return kSchema; }

}  // namespace hushgate::config
