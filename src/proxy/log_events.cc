#include "proxy/log_events.h"

#include <array>

namespace hushgate::proxy {
namespace {

constexpr LogLevel kInfo = LogLevel::info;
constexpr LogLevel kWarning = LogLevel::warning;
constexpr LogLevel kError = LogLevel::error;

constexpr std::array kEvents{
    LogEvent{"exchange", kInfo,
             "request_id client client_http method path status request_bytes response_bytes "
             "receiving_ms serving_ms sending_ms total_ms first_byte_ms upstream attempts endpoint "
             "refusals connect_rounds_failed connection ordinal upstream_http end side errno "
             "resolver fate",
             "A request and its response are over: one line each, however they ended.", "",
             "Look at `end` first: `complete`, or a type of the table above; then at `side`."},
    LogEvent{"swept", kInfo, "client phase clock age_ms",
             "A client used up its turn, and its connection was ended.",
             "by `clock`: idle `limits.idleTimeoutMs`; head and receive `limits.requestTimeoutMs`; "
             "send `limits.sendTimeoutMs`; tunnel `limits.tunnelIdleTimeoutMs`",
             "idle is normal. head and receive are squatters or slow networks, send a client that "
             "does not read."},
    LogEvent{"replay", kInfo, "request_id upstream endpoint ordinal",
             "A safe request without a body met a stale pooled connection and was sent again on a "
             "new one. The client does not notice.",
             "`upstream.idleTimeoutMs`",
             "A few are normal. Many: set `upstream.idleTimeoutMs` below the upstream's own idle "
             "timeout."},
    LogEvent{
        "upstream_refused", kInfo, "request_id upstream endpoint ordinal detail",
        "On HTTP/2, the upstream proved that it did not process this request: REFUSED_STREAM, or a "
        "GOAWAY that left it out. It is sent again if all of it is still held; else, or after so "
        "many times, the client gets 503 request_refused.",
        "`limits.upstreamRetries`, `limits.retryBackoffMs`",
        "A few are normal when an upstream restarts. Many: it is overloaded, or allows fewer "
        "streams than it says."},
    LogEvent{
        "connect_retry", kWarning, "request_id upstream endpoint error wait_ms errno resolver",
        "No connection could be made; it is tried again after a wait. Nothing was sent.",
        "`limits.upstreamRetries`, `limits.retryBackoffMs`",
        "Is the upstream up? If the last try fails too, the exchange line says what the client "
        "got."},
    LogEvent{
        "upstream_tls_failed", kWarning, "upstream endpoint detail",
        "The TLS handshake with an upstream failed, and nothing was sent; or TLS failed behind it "
        "(in TLS 1.3 our certificate is refused so late). The sentence names the certificate, the "
        "name, the version or the alert.",
        "`upstream.tls.ca`, `upstream.tls.serverName`, `upstream.tls.minVersion`",
        "Correct what it names; docs/operating.md has the sentences."},
    LogEvent{
        "client_tls_failed", kInfo, "client detail",
        "A client's TLS handshake failed, or its TLS was cut while it had asked for nothing.",
        "`listen[].tls`",
        "Scanners and old clients are normal. Many of one kind: do they trust the certificate?"},
    LogEvent{
        "upstream_closes_early", kInfo, "upstream idle_ms pool_idle_ms",
        "The upstream was twice seen to close idle connections at this age, so the pool lets go "
        "earlier, for ten minutes.",
        "`upstream.idleTimeoutMs`",
        "Set `upstream.idleTimeoutMs` to what `pool_idle_ms` says, or raise the upstream's "
        "timeout."},
    LogEvent{
        "upstream_stray_bytes", kWarning, "upstream endpoint bytes",
        "Bytes came on an idle pooled connection; it was thrown away, so that they are nobody's "
        "response.",
        "", "The upstream sends more than its Content-Length, or answers twice: correct it."},
    LogEvent{
        "upstream_ping_unanswered", kWarning, "upstream endpoint open_streams",
        "A connection that requests share (HTTP/2) had been silent and did not answer a PING. New "
        "requests go elsewhere; those that it carries have their own budgets.",
        "`limits.connectTimeoutMs`",
        "The upstream, or something on the way, forgets connections, or is too busy to answer."},
    LogEvent{
        "upstream_http2_ended", kWarning, "upstream endpoint streams detail",
        "A connection that requests share (HTTP/2) has ended otherwise than in order.",
        "`upstream.protocol`",
        "If it carried nothing: is HTTP/2 spoken there? If not, `upstream.protocol` is `http1`."},
    LogEvent{
        "h2_client_ended", kInfo, "detail",
        "A client's HTTP/2 connection has ended otherwise than in order: what it broke, or how "
        "it was lost.",
        "", ""},
    LogEvent{"h2_flood", kWarning, "client kind",
             "A client's HTTP/2 connection was ended (GOAWAY ENHANCE_YOUR_CALM): it sent too many "
             "frames that cost it nothing, of the kind that is named.",
             "", "Somebody attacks, or a client is broken; the address says who."},
    LogEvent{"accept_paused", kWarning, "listener clients",
             "There was no room for a client and none could be made; accepting stands still for "
             "100 ms.",
             "`limits.maxConnections`, nofile", "Raise nofile, then `maxConnections`."},
    LogEvent{"turned_away", kWarning, "client",
             "There was still no room, or a stop had begun: the client got 503 "
             "connection_limit_reached.",
             "`limits.maxConnections`, nofile", "Raise nofile, then `maxConnections`."},
    LogEvent{"shed", kWarning, "client phase",
             "An idle client was closed to make room for another.",
             "`limits.maxConnections`, nofile",
             "Raise nofile, then `maxConnections`; or lower `limits.idleTimeoutMs`."},
    LogEvent{"configuration", kWarning, "detail", "A warning about the settings, with its place.",
             "the one that it names", "`hushgate check -c FILE` says the same, and more."},
    LogEvent{"certificate", kWarning, "detail",
             "A certificate has expired, or does within 14 days.", "the one that it names",
             "Replace the file; it is read again by itself."},
    LogEvent{"tls_reloaded", kInfo, "detail",
             "Files of certificates, keys or CAs have changed and were read again.", "", ""},
    LogEvent{"watching", kInfo, "detail",
             "`--watch`: the file is read again when it has changed, as by SIGHUP.", "", ""},
    LogEvent{"watching_by_looks", kWarning, "detail",
             "Its directory cannot tell of changes, so the file is looked at once a second.",
             "fs.inotify.max_user_instances", "Raise that, if a second is too long."},
    LogEvent{"file_changed", kInfo, "detail",
             "The watched file has other contents; a reload follows.", "", ""},
    LogEvent{"reloaded", kInfo, "changes changed",
             "All workers have the new settings; running exchanges keep the old ones.", "", ""},
    LogEvent{"needs_restart", kWarning, "key old new detail",
             "A key that holds from the next start on has changed; the rest was applied.",
             "docs/configuration.md says \"Restart.\" of such a key", "Restart when it suits."},
    LogEvent{"reload_fault", kError, "detail", "One fault of the new file, with its place.",
             "the one that it names", "Correct it and send SIGHUP again."},
    LogEvent{"reload_failed", kError, "faults detail",
             "The new file has faults; the settings in force stay.", "",
             "See the reload_fault lines before it."},
    LogEvent{"reload_ignored", kInfo, "detail",
             "SIGHUP came, but there is no file (warning), or a stop has begun (info).", "",
             "Start with `-c FILE`."},
    LogEvent{"io_backend", kInfo, "detail", "Which kernel interface is used.", "`io.backend`", ""},
    LogEvent{"stopping", kInfo, "detail",
             "SIGTERM or SIGINT came: nothing new is accepted, what has begun may end.",
             "`limits.graceMs`", ""},
    LogEvent{"waiting_for", kInfo, "client phase method path upstream age_ms",
             "On a terminal, once a second during a stop: what it waits for.", "`limits.graceMs`",
             "Ctrl-C again cuts it."},
    LogEvent{"cut", kInfo, "detail", "A second signal came: whatever is left is cut.", "", ""},
    LogEvent{"worker_stopped", kInfo, "",
             "The last line of each worker, with its counters (below); those at 0 are left out.",
             "", ""},
};

constexpr std::array kFields{
    LogField{"request_id", "as in X-Request-Id and in the body of an error"},
    LogField{"client", "address and port of the peer; a load balancer's, where one is in front"},
    LogField{"client_http", "`2` where the client speaks HTTP/2; else left out"},
    LogField{"method", "of the request"},
    LogField{"path", "of the request, without the query"},
    LogField{"status", "what the client got; 0: nothing"},
    LogField{"request_bytes", "of the request's body, as received"},
    LogField{"response_bytes", "of the response's body, as received from the upstream"},
    LogField{"receiving_ms", "time that was the client's turn to send"},
    LogField{"serving_ms", "time that was the upstream's turn; connecting counts in"},
    LogField{"sending_ms", "time that was the client's turn to take"},
    LogField{"total_ms", "from the first byte of the head to the end"},
    LogField{"first_byte_ms", "from the first byte of the head to the response's head"},
    LogField{"upstream", "its name in `upstreams`"},
    LogField{"attempts", "connections on which bytes of the request were submitted"},
    LogField{"endpoint", "the address of the last attempt, or of the connect that failed"},
    LogField{"refusals", "of the attempts, those that the upstream proved unprocessed (HTTP/2)"},
    LogField{"connect_rounds_failed", "rounds of connecting that failed"},
    LogField{"connection", "`new`, `pooled`, or `shared` with other requests (HTTP/2)"},
    LogField{"ordinal", "which request on its upstream connection; 1 on a new one"},
    LogField{"upstream_http", "`2` where the upstream speaks HTTP/2; else left out"},
    LogField{"end", "`complete`, or a type of the table above"},
    LogField{"side", "whose doing: client, upstream, hushgate"},
    LogField{"errno", "of the system call that failed"},
    LogField{"resolver", "what getaddrinfo(3) said, for dns_error"},
    LogField{"fate",
             "`unknown`: an unsafe request that failed after something of it was sent: it may have "
             "acted"},
    LogField{"error", "a type of the table above"},
    LogField{"phase", "what the client's connection was in (docs/phases.md)"},
    LogField{"clock", "which budget ran out"},
    LogField{"age_ms", "how long the turn, or the exchange, has lasted"},
    LogField{"wait_ms", "until the next try"},
    LogField{"kind",
             "of frames: resets, made_resets, settings, pings, priorities, empty_frames, "
             "window_updates"},
    LogField{"idle_ms", "how long the connection had been idle"},
    LogField{"pool_idle_ms", "how long the pool keeps connections now"},
    LogField{"bytes", "how many came"},
    LogField{"open_streams", "requests that are under way on the connection"},
    LogField{"streams", "requests that the connection has carried"},
    LogField{"listener", "the address on which accepting stands still"},
    LogField{"clients", "client connections of this process"},
    LogField{"changes", "how many keys have changed"},
    LogField{"changed", "which, from what to what"},
    LogField{"key", "the key"},
    LogField{"old", "its value in force"},
    LogField{"new", "its value in the file"},
    LogField{"faults", "how many"},
    LogField{"detail", "a sentence for people"},
};

}  // namespace

std::span<const LogEvent> log_events() { return kEvents; }
std::span<const LogField> log_fields() { return kFields; }

}  // namespace hushgate::proxy
