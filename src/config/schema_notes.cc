// What the documentation says about keys beyond their meaning.
#include <algorithm>
#include <array>

#include "config/schema.h"

namespace hushgate::config {
namespace {

struct Note {
  std::string_view path;
  std::string_view text;
};

constexpr std::array kNotes{
    Note{"listen",
         "1 to 64 addresses; one string or one object may stand for a list of one. Port 0 lets the "
         "kernel choose. localhost means 127.0.0.1. Only a file can give an object."},
    Note{"listen[].tls",
         "It may come, change and go by a reload: connections that are accepted then have it so. "
         "The "
         "files behind its paths are read again by a reload too."},
    Note{"listen[].tls.certificates",
         "1 to 256. One is chosen by the names inside it, wildcards too; a client that asks for "
         "no name, or for one that none has, is shown the first."},
    Note{"listen[].tls.certificates[].key", "It may be in the same file."},
    Note{"listen[].tls.clientCertificates",
         "A client whose certificate is not good is refused, with optional too."},
    Note{"admin",
         "There is no login: bind it to 127.0.0.1, or see to it that only monitoring gets there."},
    Note{"workers",
         "Each has its own connections and pools, so that a request never crosses threads."},
    Note{"client.halfClose",
         "At once is within 100 ms of the request's last byte. cancel takes every FIN for a client "
         "that left, serve none."},
    Note{"client.trustedProxies",
         "At most 1 024. X-Forwarded-For of a trusted client is appended to, of any other it is "
         "replaced."},
    Note{"upstream", "Each of upstreams may hold the same keys; its own value wins."},
    Note{"listen[].http2",
         "With tls it is offered by ALPN; without, a connection that begins as HTTP/2 does (prior "
         "knowledge) is taken for it. It may change by a reload."},
    Note{"upstream.protocol",
         "HTTP/2 shares one connection per worker among all requests, and opens more only when the "
         "upstream's limit of streams is reached. http2 fails where the upstream does not choose "
         "h2; h2c needs an upstream that expects HTTP/2 from the first byte."},
    Note{"upstream.idleTimeoutMs",
         "Node closes after 5 s, gunicorn after 2 s, uvicorn after 5 s, nginx after 75 s. An "
         "upstream's Keep-Alive: timeout=N shortens it to N - 1 s; so does one that is seen to "
         "close earlier. Only safe requests without a body use the pool. An "
         "HTTP/2 connection without a stream is closed after it too."},
    Note{"upstream.maxIdle", "More are closed, the one that has idled longest first."},
    Note{"upstream.closeWaitMs",
         "The client does not wait for it. When it runs out the connection is reset, which leaves "
         "no TIME_WAIT either."},
    Note{"upstream.host",
         "With upstream, the client's Host is sent in X-Forwarded-Host, as it is with client."},
    Note{"upstream.sourceAddresses",
         "At most 256, in turn. Each has a range of ports of its own towards one upstream."},
    Note{
        "upstream.spare",
        "Each is at most 2 s old and was never used before. What it saves is the time of a connect "
        "and a TLS handshake; what it costs is a connection now and then that nobody uses. Where "
        "HTTP/2 "
        "is spoken there are none."},
    Note{"upstream.tls",
         "A fault in an upstream whose url is not https. As defaults it is passed over there."},
    Note{"upstream.tls.ca",
         "It takes the place of the system's roots. An upstream that needs those where upstream "
         "has a ca of its own names their file."},
    Note{"upstream.tls.certificate", "Only together with key."},
    Note{"upstream.tls.key", "It may be in the same file."},
    Note{"upstream.tls.serverName", "An address is not asked for, only verified."},
    Note{"upstream.tls.dangerouslySkipVerification",
         "Whoever stands in between can then read and change everything, and nobody notices. Each "
         "start warns of it. Where a certificate is one of your own, give its authority as ca."},
    Note{"upstreams", "1 to 1 024. A name has 1 to 64 letters, digits, '-', '_' and '.'."},
    Note{"upstreams.*.url",
         "The path is put in front of every request's path. The port is 80, with https 443, unless "
         "given."},
    Note{
        "routes",
        "At most 4 096. What no route covers is answered 404. Needed with more than one upstream."},
    Note{"routes[].path",
         "/v1/ covers what is below it, /v1 also /v1 itself. No dot segments, no escapes."},
    Note{"limits.idleTimeoutMs",
         "Also the time from the accept to the first byte. When it runs out the connection is "
         "closed without a word. Behind a load balancer it should be longer than the load "
         "balancer's idle timeout. It never runs while a request is served."},
    Note{"limits.requestTimeoutMs",
         "Nothing that arrives restarts it. A head alone has the least of this, idleTimeoutMs and "
         "60 s. It stands still while the upstream takes no bytes. When it runs out: 408."},
    Note{"limits.minUploadBytesPerSecond",
         "Each such number of received body bytes adds a second; trickles add next to nothing."},
    Note{"log.access", "Everything else is logged all the same."},
    Note{"limits.sendTimeoutMs",
         "It runs only while response bytes wait for the client; a silent stream never meets it. "
         "What counts is what the client acknowledged. When it runs out the response is cut "
         "visibly."},
    Note{"limits.minSendBytes", "For a tunnel too, in a direction that is blocked."},
    Note{"limits.lingerBytes",
         "Beyond it the connection is closed at once. A request that was answered early is read to "
         "its end if no more than this is left, so that its connection is kept."},
    Note{"limits.upstreamTimeoutMs",
         "It runs from the request's last byte to the response's head, between two pieces of its "
         "body, and while the upstream takes none of the bytes offered. When it runs out: 504, or "
         "a visible cut if the response has begun. Set it to the longest pause that a model may "
         "make."},
    Note{"limits.connectTimeoutMs",
         "Also the longest wait for a free local port. When it runs out: 504; for a port 503."},
    Note{"limits.connectTotalMs", "Resolving the name counts in. When it runs out: 504."},
    Note{"limits.upstreamRetries",
         "A retry happens only where nothing of the request was sent (name, connect), never after "
         "a timeout."},
    Note{"limits.retryBackoffMs",
         "The wait is random between 0 and that bound, which is at most 30 s."},
    Note{"limits.maxHeaderBytes", "An upstream's head that is larger: 502."},
    Note{"limits.maxHeaders", "Of an upstream's head: 502."},
    Note{"limits.maxStreams",
         "Clients are told; a stream beyond it is refused unprocessed. Each may hold "
         "maxBufferedBytes in each direction."},
    Note{"limits.maxConnections",
         "Over all workers. Each client needs up to two descriptors. At the bound the oldest idle "
         "client is closed for a new one; if there is none, accepting pauses 100 ms and then "
         "answers 503."},
    Note{"limits.backlog", "The kernel caps it at net.core.somaxconn."},
    Note{"limits.graceMs",
         "What still runs then is cut. A supervisor's own kill timeout must be longer (systemd: "
         "TimeoutStopSec, Kubernetes: terminationGracePeriodSeconds)."},
    Note{"limits.tunnelIdleTimeoutMs",
         "With 0 a silent WebSocket lives until a peer ends it or TCP keep-alive finds it "
         "dead."},
};

constexpr auto kPaths = [] {
  std::array<std::string_view, kNotes.size()> paths;
  std::ranges::transform(kNotes, paths.begin(), &Note::path);
  return paths;
}();

}  // namespace

std::string_view note(std::string_view path) {
  const auto* const found = std::ranges::find(kNotes, path, &Note::path);
  return found == kNotes.end() ? std::string_view{} : found->text;
}

std::span<const std::string_view> noted_paths() { return kPaths; }

}  // namespace hushgate::config
