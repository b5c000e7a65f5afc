// A life of the gateway as plain data: the weather, the settings, what every client and every
// upstream will do. Drawn from a seed (draw.h); the shrinker takes parts of it away. Nothing in a
// life is decided elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/limits.h"
#include "config/model.h"

namespace hushgate::swarm {

enum class BodyShape : std::uint8_t {
  none,
  length,   // Content-Length
  chunked,  // in chunks of `chunk_bytes`, the last one shorter
  eof,      // responses only: ends with the connection
};

// What is wrong with a request. Those up to `last_in_head` must never reach an upstream.
enum class Fault : std::uint8_t {
  none,
  two_lengths,         // 400
  two_equal_lengths,   // 400
  length_and_chunked,  // 400
  bare_lf,             // 400
  obs_fold,            // 400
  nul,                 // 400
  space_before_colon,  // 400
  chunked_not_last,    // 400 (chunked, gzip)
  unknown_coding,      // 501 (gzip alone)
  no_host,             // 400
  two_hosts,           // 400
  http10_chunked,      // 400
  bad_version,         // 505 (HTTP/3.0)
  garbage,             // 400: no request line at all
  last_in_head = garbage,
  bad_chunk_size,    // 400 in the middle of the body, unless a response has begun
  chunk_without_lf,  // the same
};

// How an end of a connection leaves.
enum class Leave : std::uint8_t {
  finish,  // FIN; still reads
  close,   // FIN (or what a kernel makes of it when bytes are unread), and reads no more
  reset,
  vanish,  // the cable is pulled: nothing comes, nothing arrives
};

struct Body {
  BodyShape shape = BodyShape::none;
  std::size_t bytes = 0;
  std::size_t chunk_bytes = 4'096;
  bool trailers = false;  // chunked only
};

// How an upstream answers one delivery of a request.
struct Answer {
  enum class Manner : std::uint8_t {
    proper,
    silent_end,     // leaves by `leave` after the request, without a byte
    never,          // reads, says nothing, stays
    nonsense,       // no HTTP
    ambiguous,      // a head that could be read two ways
    stale_timeout,  // 408 with Connection: close, in one piece, then FIN
    switches,       // 101 to an Upgrade (otherwise proper)
  };
  Manner manner = Manner::proper;
  // The answer begins so long after the whole request has come ...
  Duration think{};
  // ... or so many bytes of its body, if set: an early answer, full duplex if it is long.
  std::optional<std::size_t> early_at{};
  int interims = 0;  // 103s before it (and a 100 where one is expected, after `continue_after`)
  Duration continue_after{};
  bool continues = true;  // says 100 when asked to
  int status = 200;
  Body body{};
  std::size_t piece_bytes = 65'536;  // of the raw response, head included, sent at once ...
  Duration piece_gap{};              // ... and the pause behind each piece
  // After so many raw bytes of the response, if set, it leaves by `leave`.
  std::optional<std::size_t> cut_at{};
  Leave leave = Leave::close;
  std::size_t stray_bytes = 0;             // behind the response's end ...
  Duration stray_after{};                  // ... so much later
  bool says_close = false;                 // Connection: close, and closes
  bool ignores_close = false;              // stays open behind a request's Connection: close
  std::optional<Duration> closes_after{};  // an idle timeout of its own: FIN so long after the
                                           // response, unless another request has come
  std::optional<unsigned> keep_alive_hint_s{};
  std::optional<std::size_t> reads_bytes{};  // takes so many bytes per `read_gap`; 0: none, ever
  Duration read_gap{};
  std::size_t tunnel_bytes = 0;        // switches: says so many through the tunnel ...
  Duration tunnel_gap{};               // ... in pieces of piece_bytes with this pause ...
  Leave tunnel_leave = Leave::finish;  // ... and leaves
  bool tunnel_stays = false;           // ... or does not
};

// A request.
struct Ask {
  std::uint32_t id = 0;  // unique in a life
  std::string method = "GET";
  bool http10 = false;
  std::size_t upstream = 0;  // index into Plan::upstreams
  Body body{};
  Fault fault = Fault::none;
  bool expects = false;     // Expect: 100-continue
  bool upgrades = false;    // Connection: upgrade, Upgrade: echo
  bool keyed = false;       // Idempotency-Key
  bool says_close = false;  // Connection: close
  std::size_t tunnel_bytes = 0;
  std::array<Answer, 3> answers{};  // by how often it was delivered before (a third is a violation)

  bool safe_bodyless() const {
    const bool safe = method == "GET" || method == "HEAD" || method == "OPTIONS";
    return safe && !upgrades &&
           (body.shape == BodyShape::none || (body.shape == BodyShape::length && body.bytes == 0));
  }
};

// One thing that a client does, in order; the next one begins when it has ended.
struct Step {
  enum class Kind : std::uint8_t {
    send,   // the next `bytes` of its stream (its asks' raw bytes one behind the other, then,
            // after an upgrade, the tunnel's); ends when its socket has taken them
    pause,  // `time`
    await,  // until `bytes` final responses in all have ended (a 101 counts at its head), or
            // the connection has
    await_continue,  // until a 1xx or a final head has come, at most `time`
    read_rate,       // from now on it takes at most `bytes` per `time`; 0 bytes: nothing
    read_all,        // from now on it takes what comes
    leave,           // by `leave`; nothing follows
  };
  Kind kind;
  std::size_t bytes = 0;
  Duration time{};
  Leave leave = Leave::close;
};

// Without a leave at its end, a client stays for as long as it is let, and reads.
struct ClientPlan {
  Duration start{};
  std::vector<Ask> asks;
  std::vector<Step> steps;
};

// What an upstream's name or address does to who connects.
enum class Reach : std::uint8_t {
  listens,
  refuses,
  black_hole,     // no answer
  never_accepts,  // its backlog fills
};

struct UpstreamPlan {
  bool named = false;  // by a name that resolves to its addresses, else by its first address
  std::vector<Reach> addresses;  // at least one
  int backlog = 1'000;
  // An idle connection is closed so long after it was opened or last answered, unless set
  // otherwise in the answer.
  std::optional<Duration> idle_timeout{};
  Ms pool_idle{4'000};
  unsigned max_idle = 512;
  Ms close_wait{1'000};
};

// Of the names of all named upstreams: the answer to the n-th question of each.
struct NamePlan {
  Duration takes{};
  bool fails = false;
  std::size_t rotate = 0;     // the addresses begin with this one
  std::size_t leave_out = 0;  // so many are missing (one stays)
};

struct Weather {
  Duration latency_min = std::chrono::microseconds(100);
  Duration latency_max = Ms{2};
  std::size_t max_segment_bytes = 9'000;
  std::size_t client_window_bytes = 65'536;
  std::size_t upstream_window_bytes = 65'536;
  std::size_t send_buffer_bytes = 65'536;
  unsigned short_takes_percent = 25;
  unsigned short_writes_percent = 10;
  // Now and then the worker is kept from running for up to so long.
  Duration worker_stall{};
  unsigned worker_stall_percent = 0;
  unsigned link_stall_percent = 0;  // of connections, once
  Duration link_stall{};
};

inline constexpr Duration kNotAtAll{-1};  // of an ordeal that the shrinker has taken away

// What happens to the gateway.
struct Ordeal {
  enum class Kind : std::uint8_t {
    stop,
    cut,      // a second signal; behind a stop
    reload,   // the limits change, and the upstream `which` if it is one
    restart,  // the upstream `which` leaves all its connections by `leave`, and is away for `away`
  };
  Kind kind;
  Duration at{};
  std::size_t which = ~std::size_t{0};
  // reload: the new ones. (The grace, and what is held, stay as they are.)
  Limits limits{};
  config::HalfClose half_close = config::HalfClose::auto_;
  Ms pool_idle{};
  // restart
  Leave leave = Leave::close;
  Duration away{};
};

// More than any life needs.
inline constexpr std::uint32_t kManyClients = 10'000;
inline constexpr std::uint16_t kManyPorts = 28'232;
inline constexpr std::size_t kManyDescriptors = 1'000'000;

struct Plan {
  std::uint64_t seed = 0;
  Weather weather;
  Limits limits;
  config::HalfClose half_close = config::HalfClose::auto_;
  std::vector<UpstreamPlan> upstreams;  // at least one
  std::vector<NamePlan> names;
  std::vector<ClientPlan> clients;
  std::vector<Ordeal> ordeals;  // in the order of their times
  std::uint32_t max_clients = kManyClients;
  std::uint16_t ports = kManyPorts;            // local ports per destination
  std::size_t descriptors = kManyDescriptors;  // of the gateway

  bool lacks_clients() const { return max_clients < kManyClients; }
  bool lacks_ports() const { return ports < kManyPorts; }
  bool lacks_descriptors() const { return descriptors < kManyDescriptors; }
};

// "/u1/r17": where an ask goes and who it is.
std::string path_of(const Ask& ask);
// The ask's id in a target, if there is one.
std::optional<std::uint32_t> id_of(std::string_view target);
// What a client sends for it, tunnel bytes apart. `head_bytes` of them are its head.
struct RawAsk {
  std::string bytes;
  std::size_t head_bytes;
};
RawAsk raw_of(const Ask& ask);
// The Idempotency-Key of a keyed ask.
std::string key_of(const Ask& ask);
// The trailer of a chunked body with one.
inline constexpr std::string_view kTrailer = "X-Trailer: yes\r\n";
// A body (or a tunnel's bytes) by its key: never the same for two.
char body_byte(std::uint64_t key, std::uint64_t offset);
std::string body_piece(std::uint64_t key, std::uint64_t offset, std::size_t bytes);
bool is_body_piece(std::uint64_t key, std::uint64_t offset, std::string_view bytes);
// Keys: of an ask's body, of the n-th answer to it, of both directions of its tunnel.
inline std::uint64_t request_key(const Ask& ask) { return ask.id * 16ULL + 15; }
inline std::uint64_t answer_key(std::uint32_t id, unsigned n) { return id * 16ULL + n; }
inline std::uint64_t tunnel_up_key(const Ask& ask) { return ask.id * 16ULL + 14; }
inline std::uint64_t tunnel_down_key(const Ask& ask) { return ask.id * 16ULL + 13; }
// X-Answer of an upstream's n-th answer to an ask; of its stray bytes, where they are an answer.
struct AnswerName {
  std::uint32_t id = 0;
  unsigned number = 0;
  friend bool operator==(const AnswerName&, const AnswerName&) = default;
};
std::string answer_name(const AnswerName& name);
std::optional<AnswerName> answer_named(std::string_view text);
inline constexpr std::string_view kStrayName = "stray";
// The status of an answer that is HTTP.
int status_of(const Answer& answer);
// Whether the client of this ask gets the answer's body; else there is none.
bool has_body(const Ask& ask, const Answer& answer);
// The body of `body` with its framing (no head).
std::string framed(const Body& body, std::uint64_t key);
// How much payload lies in the first `raw` bytes of a framed body.
std::size_t payload_within(const Body& body, std::size_t raw);

}  // namespace hushgate::swarm
