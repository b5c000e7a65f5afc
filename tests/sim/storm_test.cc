// Many clients and an upstream that misbehaves, in bad weather; a seed that fails prints itself and
// replays exactly. What the peers saw is held against the invariants of CONTRACT section 6.
#include <map>
#include <random>

#include "http/parser.h"
#include "http/scanner.h"
#include "proxy/body.h"
#include "tests/sim/tls_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

// Reads messages of one direction, however they were cut.
class Reader {
 public:
  explicit Reader(http::ScanRole role)
      : role_(role), scanner_(role, http::ScanBounds::of(Limits{})) {}

  std::string head;
  std::string body;

  // Takes from `bytes`; true when a message has ended, which is then in `head` and `body`.
  bool read(std::string& bytes) {
    if (!in_body_ && !begin(bytes)) return false;
    while (!bytes.empty() && !reader_.ended()) {
      const proxy::BodyReader::Piece piece = reader_.read(as_bytes(bytes));
      EXPECT_EQ(piece.error, ErrorKind::none);
      body += as_text(piece.data);
      bytes.erase(0, piece.consumed);
    }
    if (!reader_.ended()) return false;
    in_body_ = false;
    scanner_.reset();
    return true;
  }

 private:
  bool begin(std::string& bytes) {
    const http::Scan scan = scanner_.scan(bytes);
    EXPECT_NE(scan.event, http::ScanEvent::refused) << bytes;
    if (scan.event != http::ScanEvent::complete) return false;
    head = scan.head(bytes);
    body.clear();
    in_body_ = true;
    Result<http::Framing> framing;
    if (role_ == http::ScanRole::request) {
      http::RequestHead parsed;
      EXPECT_TRUE(http::parse_request_head(head, parsed).has_value()) << head;
      framing = http::request_framing(parsed);
    } else {
      http::ResponseHead parsed;
      EXPECT_TRUE(http::parse_response_head(head, parsed).has_value()) << head;
      framing = http::response_framing(http::Method::get, parsed);
    }
    EXPECT_TRUE(framing.has_value());
    reader_.begin(*framing, {65'536, 128});
    bytes.erase(0, scan.length);
    return true;
  }

  http::ScanRole role_;
  http::HeadScanner scanner_;
  proxy::BodyReader reader_;
  bool in_body_ = false;
};

struct Request {
  bool safe = true;
  std::string body;                     // as the client sends it
  std::string answer;                   // as the upstream last sent it, whole
  std::map<const Party*, int> reached;  // connections that its head came to
  std::string got;                      // as the client was told that it is complete
  int status = 0;
};

// What the upstream does with a request.
struct Manners {
  unsigned stale_percent =
      0;  // closes a reused connection that a request has come to, without a byte
  unsigned cut_percent = 0;  // ... any connection, without a byte or in the middle of the response
};

class Storm {
 public:
  Storm(std::uint64_t seed, Manners manners, proxy::SetupPtr setup = make_setup({}),
        const Speech& speech = {})
      : manners_(manners),
        random_(seed),
        world_(std::move(setup), speech, 10'000,
               {.seed = seed,
                .latency_max = Ms{3},
                .short_takes_percent = 30,
                .short_writes_percent = 20}) {
    world_.upstream.on_bytes = [this](Party& party) { serve(party); };
  }

  void run(std::size_t clients, unsigned leave_percent) {
    for (std::size_t i = 0; i < clients; ++i) {
      world_.run_for(Ms{below(20)});
      Party& client = world_.open();
      scripts_.push_back(std::make_unique<Script>(Script{&client, below(5) + 1}));
      client.on_bytes = [this, script = scripts_.back().get()](Party&) { hear(*script); };
      ask(*scripts_.back());
      if (below(100) >= leave_percent) continue;
      const bool rude = below(2) == 0;
      world_.network.at(world_.now() + Ms{below(60)},
                        [&client, rude] { rude ? client.reset() : client.close(); });
    }
    world_.run_for(seconds(90));
    check();
  }

  World& world() { return world_; }
  std::size_t complete() const {
    std::size_t n = 0;
    for (const auto& [id, request] : requests_) n += request.status == 200 ? 1 : 0;
    return n;
  }
  std::size_t failed_safe() const {
    std::size_t n = 0;
    for (const auto& [id, request] : requests_) n += request.safe && request.status >= 500 ? 1 : 0;
    return n;
  }

 private:
  struct Script {
    Party* party;
    std::uint64_t left;  // requests
    std::string id{};    // of the one that is open
    std::string bytes{};
    Reader reader{http::ScanRole::response};
  };
  struct Served {
    std::string bytes;
    Reader reader{http::ScanRole::request};
    int requests = 0;
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  std::string payload() {
    const std::uint64_t kind = below(10);
    const std::size_t length = kind < 6 ? below(100) : (kind < 9 ? below(20'000) : below(400'000));
    return std::string(length, static_cast<char>('a' + below(26)));
  }

  static std::string chunked(std::string_view body, std::size_t step) {
    std::string text;
    for (std::size_t at = 0; at < body.size(); at += step) {
      const std::string_view piece = body.substr(at, step);
      char line[http::kMaxChunkHeaderBytes];
      text.append(line, http::write_chunk_header(piece.size(), line));
      text.append(piece).append("\r\n");
    }
    return text + "0\r\n\r\n";
  }

  std::string framed(const std::string& first_lines, const std::string& body) {
    if (below(2) == 0) {
      return first_lines + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    return first_lines + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, below(5'000) + 1);
  }

  void ask(Script& script) {
    if (script.left-- == 0) {
      script.party->finish();
      return;
    }
    script.id = "/r" + std::to_string(requests_.size()) + "x";
    Request& request = requests_[script.id];
    request.safe = below(3) > 0;
    if (request.safe) {
      script.party->send("GET " + script.id + " HTTP/1.1\r\nHost: a\r\n\r\n");
      return;
    }
    request.body = payload();
    script.party->send(framed("POST " + script.id + " HTTP/1.1\r\nHost: a\r\n", request.body));
  }

  void hear(Script& script) {
    script.bytes += std::exchange(script.party->got, {});
    while (script.left != ~std::uint64_t{0} && script.reader.read(script.bytes)) {
      Request& request = requests_.at(script.id);
      request.status = std::stoi(script.reader.head.substr(9, 3));
      request.got = script.reader.body;
      if (script.reader.head.find("Connection: close") != std::string::npos) script.left = 0;
      ask(script);
    }
  }

  void serve(Party& party) {
    Served& served = served_[&party];
    served.bytes += std::exchange(party.got, {});
    while (served.reader.read(served.bytes)) {
      const std::size_t from = served.reader.head.find("/r");
      const std::string id =
          served.reader.head.substr(from, served.reader.head.find(' ', from) - from);
      Request& request = requests_.at(id);
      ++request.reached[&party];
      if (!request.safe) EXPECT_EQ(served.requests, 0) << id << " on a used connection";
      EXPECT_EQ(served.reader.body, request.body) << id;
      answer(party, request, id, ++served.requests);
    }
  }

  void answer(Party& party, Request& request, const std::string& id, int ordinal) {
    if (ordinal > 1 && below(100) < manners_.stale_percent) return leave(party);
    request.answer = id + ":" + payload();
    std::string text = framed("HTTP/1.1 200 OK\r\n", request.answer);
    const bool cut = below(100) < manners_.cut_percent;
    if (cut) text.resize(below(text.size()));
    world_.network.at(world_.now() + Ms{below(30)}, [this, &party, cut, text = std::move(text)] {
      party.send(text);
      if (cut) leave(party);
    });
  }

  void leave(Party& party) { below(2) == 0 ? party.reset() : party.close(); }

  void check() {
    for (const auto& [id, request] : requests_) {
      EXPECT_LE(request.reached.size(), request.safe ? 2U : 1U) << id;  // I3, I4
      for (const auto& [party, times] : request.reached) EXPECT_EQ(times, 1) << id;
      if (request.status == 200) EXPECT_EQ(request.got, request.answer) << id;  // I5, I6
    }
    EXPECT_EQ(world_.gateway->session_count(), 0U);  // I11
  }

  Manners manners_;
  std::mt19937_64 random_;
  World world_;
  std::map<std::string, Request> requests_;
  std::vector<std::unique_ptr<Script>> scripts_;
  std::map<const Party*, Served> served_;
};

TEST(Storm, StaleConnectionsCostNobodyAnything) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm storm(seed, {.stale_percent = 40});
    storm.run(30, 0);
    EXPECT_EQ(storm.failed_safe(), 0U);  // I13
    EXPECT_GT(storm.complete(), 30U);
  }
}

TEST(Storm, WhateverUpstreamsAndClientsDoNothingIsMixedUpOrSentTwice) {
  for (std::uint64_t seed = 100; seed <= 112; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm storm(seed, {.stale_percent = 20, .cut_percent = 20});
    storm.run(30, 30);
    EXPECT_GT(storm.complete(), 10U);
  }
}

// OpenSSL draws from randomness of its own, so the bytes below TLS are other ones each time.
TEST(Storm, NorIsAnythingOverTls) {
  for (std::uint64_t seed = 200; seed <= 208; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto spoken = std::make_shared<Spoken>();
    if (seed % 3 == 1) spoken->client = nullptr;
    if (seed % 3 == 2) spoken->upstream = nullptr;
    proxy::TlsSetup tls = Gate{}.make();
    if (!spoken->client) tls.listeners.clear();
    if (!spoken->upstream) tls.upstreams.clear();
    const unsigned spare = seed % 2 == 0 ? 2 : 0;
    const auto change = [spare](config::Config& config) { config.upstreams.front().spare = spare; };
    const bool stale_only = seed < 203;
    const Manners manners{.stale_percent = 30, .cut_percent = stale_only ? 0U : 20U};
    Storm storm(seed, manners, make_setup(change, tls), speech_of(spoken));
    storm.run(30, stale_only ? 0 : 30);
    EXPECT_GT(storm.complete(), 10U);
    if (stale_only) EXPECT_EQ(storm.failed_safe(), 0U);
  }
}

}  // namespace
}  // namespace hushgate::sim
