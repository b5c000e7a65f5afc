// What to do about each error, and what each counter counts.
#include <array>

#include "proxy/errors_doc.h"

namespace hushgate::proxy {
namespace {

using enum ErrorKind;

constexpr std::array kHelp{
    ErrorHelp{none, "", "", ""},
    ErrorHelp{bad_request,
              "The message breaks the grammar, or two readers could take it for two different "
              "messages (Content-Length beside Transfer-Encoding, a bare LF, two Hosts).",
              "", "Correct the client. Nothing was forwarded."},
    ErrorHelp{bad_path,
              "The path holds escapes or dot segments that lead to another route once decoded.", "",
              "Correct the client, or look for somebody who probes. Nothing was forwarded."},
    ErrorHelp{request_timeout,
              "The head or the body did not arrive within its budget; bytes that trickle do not "
              "lengthen it.",
              "`limits.requestTimeoutMs`, `limits.idleTimeoutMs` (a head), "
              "`limits.minUploadBytesPerSecond`",
              "A few are squatters and slow networks. Many, from uploads: raise "
              "`requestTimeoutMs`, or lower `minUploadBytesPerSecond` on the route."},
    ErrorHelp{body_too_large, "Content-Length, or what has arrived of a chunked body, is too much.",
              "`limits.maxBodyBytes`, or the route's own",
              "Raise it on the route that takes uploads."},
    ErrorHelp{target_too_long, "The first line is too long.", "`limits.maxRequestLineBytes`",
              "Usually a query that should be a body."},
    ErrorHelp{head_too_large, "The head, or its number of fields, is too large; trailers too.",
              "`limits.maxHeaderBytes`, `limits.maxHeaders`",
              "Usually cookies that have grown. Raise the limit only if the upstream takes such "
              "heads."},
    ErrorHelp{unknown_transfer_coding, "Transfer-Encoding names something besides chunked.", "",
              "Use Content-Encoding for compressed bodies."},
    ErrorHelp{method_not_allowed, "CONNECT on a route that does not allow it.",
              "`routes[].connect`", "Allow it on the route `/`, if it is meant."},
    ErrorHelp{version_not_supported, "The version in the first line is neither 1.0 nor 1.x.", "",
              "Look at the client; HTTP/2 without an Upgrade begins so."},
    ErrorHelp{
        client_gone,
        "The client reset its connection, or closed it before the exchange was over. The "
        "upstream attempt was closed at once.",
        "`client.halfClose`",
        "Normal where users stop streams. Many at one age: the client's own timeout. Behind a "
        "client that half-closes on purpose: set `client.halfClose` to `serve`."},
    ErrorHelp{client_stalled,
              "Response bytes waited, and the client acknowledged too few of them. Cut visibly.",
              "`limits.sendTimeoutMs`, `limits.minSendBytes`",
              "A client that reads too slowly, or not at all. Lower `minSendBytes` for very slow "
              "networks."},
    ErrorHelp{no_route, "No path of `routes` covers this one.", "`routes[].path`",
              "Add a route, or one for `/`. Mind that `/v1/` does not cover `/v1`."},
    ErrorHelp{proxy_loop,
              "The request carries this process's own Via: an upstream leads back here.",
              "`upstreams`", "Correct the upstream's URL."},
    ErrorHelp{
        shedding,
        "No room for a new client, or no descriptor for an upstream connection, although idle "
        "ones were closed.",
        "`limits.maxConnections`, the descriptor limit (nofile)",
        "Raise nofile, then `maxConnections`; see docs/operating.md. Nothing was forwarded."},
    ErrorHelp{stopping, "The exchange still ran when a stop's grace was over. Cut visibly.",
              "`limits.graceMs`", "Give a stop as long as the longest stream that matters."},
    ErrorHelp{internal_fault, "hushgate could not do what it must.", "",
              "Report it with the log lines around it."},
    ErrorHelp{dns_error, "The resolver said that there is no such name, or failed.",
              "`limits.upstreamRetries`",
              "`getent ahosts NAME` as the same user. Nothing was sent; it was retried with "
              "backoff."},
    ErrorHelp{dns_timeout, "The resolver gave no answer in time.", "`limits.connectTotalMs`",
              "Look at the resolver. Nothing was sent."},
    ErrorHelp{connection_refused, "Nobody listens at the address, on none of the name's addresses.",
              "`limits.upstreamRetries`, `limits.retryBackoffMs`",
              "Is the upstream running, on this port, on this address? Nothing was sent; it was "
              "retried with backoff."},
    ErrorHelp{
        connection_failed, "connect(2) failed; errno in the log says how.",
        "`limits.upstreamRetries`, `limits.retryBackoffMs`",
        "113 and 101: no way to that host or network. 2 and 13 of a UNIX socket: no such file, "
        "no permission. Nothing was sent."},
    ErrorHelp{
        connection_timeout, "No answer to connect from any address in time.",
        "`limits.connectTimeoutMs`, `limits.connectTotalMs`",
        "Usually a firewall that drops, or an upstream whose accept queue is full. Nothing was "
        "sent; a timeout is not retried."},
    ErrorHelp{tls_certificate_error,
              "The upstream's certificate has expired, is for another name, or is signed by nobody "
              "who is trusted; the log line `upstream_tls_failed` says which, and whose.",
              "`upstream.tls.ca`, `upstream.tls.serverName`",
              "Correct the certificate, or name the CA that signed it. Nothing was sent; it is not "
              "retried."},
    ErrorHelp{
        tls_protocol_error,
        "No TLS, no common version or cipher, an alert, or the connection ended during the "
        "handshake; the log line `upstream_tls_failed` says which.",
        "`upstream.tls.minVersion`, `upstream.tls.certificate`",
        "`openssl s_client -connect HOST:PORT -servername NAME` as the same user. Nothing was "
        "sent; it was retried with backoff."},
    ErrorHelp{
        ports_exhausted,
        "All local ports towards the upstream's addresses were in use, also after waiting.",
        "`limits.connectTimeoutMs` (the wait), `upstream.sourceAddresses`, "
        "net.ipv4.ip_local_port_range",
        "`ss -tan dst ADDRESS | awk '{print $1}' | sort | uniq -c` shows who holds them. Widen "
        "the range or add source addresses. Nothing was sent."},
    ErrorHelp{connection_terminated,
              "EOF or a reset after bytes of the request were submitted. A safe request without a "
              "body was already repeated if no byte of a response had come. Behind the head of a "
              "response the client sees a visible cut instead of a 502.",
              "",
              "The upstream crashed, restarts, or has a timeout of its own below the answer's "
              "time: look at its log at that moment. An unsafe request may have acted."},
    ErrorHelp{http_protocol_error,
              "What came is no HTTP/1.1, or could be read in two ways, or more than 32 interim "
              "responses came.",
              "",
              "Ask the upstream without hushgate: `curl -v --http1.1`. TLS spoken on that port "
              "looks like this too: then its url begins with https."},
    ErrorHelp{upstream_head_too_large, "The head of the response is too large.",
              "`limits.maxHeaderBytes`, `limits.maxHeaders`",
              "Raise the limit, or look at the cookies that the upstream sets."},
    ErrorHelp{request_refused,
              "On HTTP/2, the upstream reset the stream with REFUSED_STREAM, or its GOAWAY left it "
              "out: it did not process it. That was so again after every repetition, or more of "
              "the body had come than is held (`limits.maxBufferedBytes`).",
              "`limits.upstreamRetries`, `limits.retryBackoffMs`",
              "The upstream is stopping or overloaded; the log lines `upstream_refused` say which. "
              "Nothing has acted, so the client may repeat it."},
    ErrorHelp{
        response_timeout,
        "The upstream owed something (a head, the next piece of body, room for the request's "
        "bytes) and was silent. Behind a head of a response the client sees a visible cut "
        "instead of a 504.",
        "`limits.upstreamTimeoutMs`, or the route's own",
        "If it was thinking, raise the route's `upstreamTimeoutMs`. An unsafe request may have "
        "acted."},
};

constexpr bool in_order_of_kinds() {
  for (std::size_t i = 0; i < kHelp.size(); ++i) {
    if (kHelp[i].kind != static_cast<ErrorKind>(i)) return false;
  }
  return kHelp.size() == static_cast<std::size_t>(response_timeout) + 1;
}
static_assert(in_order_of_kinds());

using stats::Counter;

constexpr std::array kCounters{
    CounterHelp{Counter::clients_accepted, "connections of clients that were let in"},
    CounterHelp{Counter::clients_shed, "clients closed for want of room, with a 503 or while idle"},
    CounterHelp{Counter::accept_pauses, "times that accepting stood still for want of room"},
    CounterHelp{Counter::requests, "requests whose head was complete"},
    CounterHelp{Counter::exchanges_failed, "exchanges that ended with an error of the table above"},
    CounterHelp{Counter::clients_gone, "exchanges that the client cancelled"},
    CounterHelp{Counter::swept_idle, "idle connections closed by `limits.idleTimeoutMs`"},
    CounterHelp{Counter::swept_head, "heads that took too long (408)"},
    CounterHelp{Counter::swept_receiving, "bodies that took too long (408, or closed)"},
    CounterHelp{Counter::swept_sending, "responses cut by `limits.sendTimeoutMs`"},
    CounterHelp{Counter::swept_tunnel,
                "tunnels ended by `limits.tunnelIdleTimeoutMs` or a blocked side"},
    CounterHelp{Counter::swept_closing, "connections whose linger ran out"},
    CounterHelp{Counter::upstream_silent, "exchanges ended by `limits.upstreamTimeoutMs`"},
    CounterHelp{Counter::connects, "connects to upstreams that were begun"},
    CounterHelp{Counter::connects_failed, "connects to one address that failed"},
    CounterHelp{Counter::connect_retries, "rounds of connecting repeated after a backoff"},
    CounterHelp{Counter::reuses, "requests sent on a pooled connection"},
    CounterHelp{Counter::replays, "safe requests sent again because a pooled connection was stale"},
    CounterHelp{Counter::upstream_refusals,
                "requests that an upstream proved unprocessed (HTTP/2); most were sent again"},
    CounterHelp{
        Counter::fates_unknown,
        "unsafe requests that failed after something of them was sent: they may have acted"},
    CounterHelp{Counter::pool_expired, "pooled connections closed by `upstream.idleTimeoutMs`"},
    CounterHelp{Counter::pool_closed_early, "pooled connections that the upstream closed first"},
    CounterHelp{Counter::pool_stray_bytes,
                "pooled connections thrown away because bytes came unasked"},
    CounterHelp{Counter::pool_shed, "pooled connections closed for room or ports"},
    CounterHelp{Counter::port_waits, "connects that waited for a local port"},
    CounterHelp{Counter::ports_exhausted, "... in vain (503)"},
    CounterHelp{Counter::close_wait_reset,
                "connections reset because the upstream did not close in `upstream.closeWaitMs`"},
    CounterHelp{Counter::spares_made, "upstream connections made ahead of need (`upstream.spare`)"},
    CounterHelp{Counter::spares_used, "of these, those that a request went out on"},
    CounterHelp{Counter::links_opened, "HTTP/2 connections to upstreams, which requests share"},
    CounterHelp{Counter::link_streams, "streams opened on them"},
    CounterHelp{Counter::links_drained, "such connections that the upstream ended with GOAWAY"},
    CounterHelp{Counter::pings_unanswered,
                "such connections given up because a PING was not answered in its time"},
    CounterHelp{Counter::h2_clients, "connections of clients that spoke HTTP/2"},
    CounterHelp{Counter::h2_streams, "streams that such clients have opened"},
    CounterHelp{Counter::h2_floods,
                "such connections that were ended because of a flood of frames"},
    CounterHelp{Counter::tls_accepts_full, "full TLS handshakes with clients"},
    CounterHelp{Counter::tls_accepts_resumed, "TLS handshakes with clients that resumed a session"},
    CounterHelp{Counter::tls_accepts_failed, "TLS handshakes that a client or its bytes ended"},
    CounterHelp{Counter::tls_connects_full, "full TLS handshakes with upstreams"},
    CounterHelp{Counter::tls_connects_resumed,
                "TLS handshakes with upstreams that resumed a session"},
    CounterHelp{Counter::tls_connects_failed, "TLS handshakes with upstreams that failed"},
    CounterHelp{
        Counter::tls_floods_ended,
        "TLS connections ended because the peer wanted to renegotiate, or changed keys again "
        "and again"},
};

constexpr bool in_order_of_counters() {
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    if (kCounters[i].counter != static_cast<Counter>(i)) return false;
  }
  return kCounters.size() == stats::kCounters;
}
static_assert(in_order_of_counters());

}  // namespace

const ErrorHelp& help(ErrorKind kind) { return kHelp[static_cast<std::size_t>(kind)]; }

const CounterHelp& help(stats::Counter counter) {
  return kCounters[static_cast<std::size_t>(counter)];
}

}  // namespace hushgate::proxy
