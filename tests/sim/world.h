// The whole gateway on the simulated network, with scripted clients and upstreams. One way takes
// kLatency, always, and nothing but the script's own doing takes time, so that every point in time
// is exact.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/sim.h"
#include "io/sim_peer.h"
#include "proxy/gateway.h"
#include "tests/sim/wire.h"

namespace hushgate::sim {

inline constexpr Ms kLatency{1};
inline constexpr IpAddress kGate = IpAddress::v4(10, 0, 0, 9);
inline constexpr IpAddress kClients = IpAddress::v4(10, 0, 0, 2);
inline constexpr IpAddress kUpstream = IpAddress::v4(10, 0, 1, 1);
inline constexpr std::uint16_t kUpstreamPort = 3000;

// One end of a connection, as its script sees it.
class Party {
 public:
  Party(io::SimNetwork& network, std::unique_ptr<Wire> wire)
      : network_(network), wire_(std::move(wire)) {
    wire_->on_change = [this] { look(); };
  }
  Party(const Party&) = delete;

  std::string got;
  bool reads = true;  // takes what comes; else its window fills
  Time opened{}, first_byte{}, last_byte{}, finished{}, was_reset{};
  std::function<void(Party&)> on_bytes;

  // Takes as much as the send buffer has room for; the rest follows as there is room.
  void send(std::string_view bytes) {
    waiting_ += bytes;
    push();
  }
  bool all_sent() const { return waiting_.empty(); }
  void finish() { wire_->finish(); }
  void reset() { wire_->reset(); }
  void close() { wire_->close(); }
  void read(std::size_t at_most) {
    const std::string bytes = wire_->receive(at_most);
    if (bytes.empty()) return;
    if (got.empty()) first_byte = network_.now();
    last_byte = network_.now();
    got += bytes;
    if (on_bytes) on_bytes(*this);
  }
  void read_on() {
    reads = true;
    look();
  }

  Wire& wire() { return *wire_; }

  bool saw_finish() const { return finished != Time{}; }
  bool saw_reset() const { return was_reset != Time{}; }
  bool saw_end() const { return saw_finish() || saw_reset(); }
  Time ended() const { return saw_finish() ? finished : was_reset; }
  bool has(std::string_view text) const { return got.find(text) != std::string::npos; }
  std::size_t count(std::string_view text) const {
    std::size_t n = 0;
    for (std::size_t at = got.find(text); at != std::string::npos; at = got.find(text, at + 1)) ++n;
    return n;
  }
  // Of the first response.
  int status() const { return got.size() < 12 ? 0 : std::stoi(got.substr(9, 3)); }
  std::string body() const {
    const std::size_t at = got.find("\r\n\r\n");
    return at == std::string::npos ? "" : got.substr(at + 4);
  }

 private:
  void push() {
    while (!waiting_.empty()) {
      const std::size_t sent = wire_->send(waiting_);
      if (sent == 0) return;
      waiting_.erase(0, sent);
    }
  }
  void look() {
    if (opened == Time{} && wire_->open()) opened = network_.now();
    if (reads || wire_->failed()) read(std::string::npos);
    if (wire_->peer_finished() && !saw_finish()) finished = network_.now();
    if (wire_->failed() && !saw_reset()) {
      was_reset = network_.now();
      wire_->close();
      return;
    }
    push();
  }

  io::SimNetwork& network_;
  std::unique_ptr<Wire> wire_;
  std::string waiting_;
};

// Keeps its connections in the order of their coming. By itself it only reads.
class Upstream {
 public:
  Upstream(io::SimNetwork& network, const IpAddress& ip)
      : network_(network), listener_(network, network.host(ip), IpPort{ip, kUpstreamPort}, 1'000) {
    listener_.on_connection = [this] {
      while (std::unique_ptr<io::SimPeer> peer = listener_.accept()) {
        parties.push_back(std::make_unique<Party>(network_, wrap(std::move(peer))));
        parties.back()->opened = network_.now();
        parties.back()->reads = reads;
        if (on_bytes) parties.back()->on_bytes = on_bytes;
      }
    };
  }
  Party& at(std::size_t index) { return *parties.at(index); }
  std::size_t count() const { return parties.size(); }
  // Answers each head of a bodyless request with this, at once.
  void answer_with(std::string text) {
    on_bytes = [text = std::move(text)](Party& party) {
      if (party.got.ends_with("\r\n\r\n")) party.send(text);
    };
  }

  std::vector<std::unique_ptr<Party>> parties;
  std::function<void(Party&)> on_bytes;  // of those that come from now on
  bool reads = true;
  Speech::Wrap wrap = Speech::bare;

 private:
  io::SimNetwork& network_;
  io::SimPeerListener listener_;
};

class Lines final : public LogSink {
 public:
  void write(std::string_view lines) override { text += lines; }
  std::uint64_t dropped() const override { return 0; }
  std::string text;
};

// Knows no name, and says so at once; or waits for the script.
class Names final : public upstream::NameSource {
 public:
  using Done = std::function<void(upstream::NameAnswer)>;
  void query(io::Loop&, const std::string&, Done done) override {
    if (!waits) return done(fail(ErrorKind::dns_error, -2));
    asked.push_back(std::move(done));
  }
  bool waits = false;
  std::vector<Done> asked;
};

class OneDescriptor final : public proxy::Reserve {
 public:
  explicit OneDescriptor(io::SimHost& host) : host_(host) {}
  bool release() override {
    if (!held_) return false;
    held_ = false;
    ++host_.descriptor_limit;
    return true;
  }
  bool refill() override {
    if (held_) return true;
    if (host_.descriptors >= host_.descriptor_limit) return false;
    held_ = true;
    --host_.descriptor_limit;
    return true;
  }

 private:
  io::SimHost& host_;
  bool held_ = true;
};

inline config::Config plain_config() {
  config::Config config;
  config.listen.resize(1);
  config.upstreams.resize(1);
  config::Upstream& upstream = config.upstreams.front();
  upstream.name = "api";
  upstream.url = "http://10.0.1.1:3000";
  upstream.host = "10.0.1.1";
  upstream.literal = kUpstream;
  upstream.port = kUpstreamPort;
  upstream.authority = "10.0.1.1:3000";
  config.routes.resize(1);
  config.routes.front().path = "/";
  return config;
}

// How unlike a calm network it is.
struct Weather {
  std::uint64_t seed = 1;
  Duration latency_max = kLatency;
  unsigned short_takes_percent = 0;
  unsigned short_writes_percent = 0;
};

using Change = std::function<void(config::Config&)>;

// plain_config() with changes, ready for a gateway.
inline proxy::SetupPtr make_setup(const Change& change, proxy::TlsSetup tls = {}) {
  config::Config config = plain_config();
  if (change) change(config);
  return std::make_shared<const proxy::Setup>(std::move(config), "gate", std::move(tls));
}

class World {
 public:
  explicit World(const Change& change = {}, std::uint32_t max_clients = 10'000,
                 const Weather& the_weather = {})
      : World(make_setup(change), {}, max_clients, the_weather) {}
  World(proxy::SetupPtr the_setup, Speech the_speech, std::uint32_t max_clients = 10'000,
        const Weather& the_weather = {})
      : weather(the_weather), speech(std::move(the_speech)), setup(std::move(the_setup)) {
    upstream.wrap = speech.upstream;
    shared.max_clients = max_clients;
    gateway = std::make_unique<proxy::Gateway>(proxy::Gateway::Parts{.loop = loop,
                                                                     .log = log,
                                                                     .names = names,
                                                                     .setup = setup,
                                                                     .shared = shared,
                                                                     .reserve = reserve,
                                                                     .seed = 7});
    const Result<SocketAddress> bound = gateway->listen(IpPort{kGate, 80}, std::size_t{0});
    EXPECT_TRUE(bound.has_value());
  }
  World(const World&) = delete;
  // I8: at rest nothing is left.
  ~World() {
    for (const auto& client : clients) client->close();
    gateway->cut();
    run_for(Ms{10});
    EXPECT_EQ(gateway->session_count(), 0U);
    EXPECT_EQ(shared.clients.load(), 0U);
    EXPECT_EQ(gateway->generations().older(), 0U);
    gateway.reset();
    run_for(Ms{10});
    EXPECT_EQ(network.host(kGate).descriptors, 0U);
  }

  Time now() const { return network.now(); }
  const Limits& limits() const { return setup->config.limits; }
  Ms period() const { return sweep_period(limits()); }
  std::uint64_t count(stats::Counter counter) const { return gateway->counters().get(counter); }

  void run_until(Time time) {
    while (loop.now() < time) loop.turn(time);
  }
  void run_for(Duration duration) { run_until(network.now() + duration); }
  // Turns until `done` holds; false when it does not within `at_most`.
  bool run_while_not(const std::function<bool()>& done, Duration at_most = std::chrono::hours(2)) {
    const Time until = network.now() + at_most;
    while (!done() && loop.now() < until) loop.turn(until);
    return done();
  }
  void settle() { run_for(Ms{20}); }

  // A client that connects.
  Party& dial() {
    clients.push_back(
        std::make_unique<Party>(network, speech.client(std::make_unique<io::SimPeer>(
                                             network, network.host(kClients), IpPort{kGate, 80}))));
    return *clients.back();
  }
  // A client whose connection is open and accepted.
  Party& open() {
    Party& client = dial();
    run_for(speech.opening_ways * kLatency);
    return client;
  }
  // A client that has sent this and whose bytes have arrived; `asked` is when they were sent.
  Party& ask(std::string_view request) {
    Party& client = open();
    asked = now();
    client.send(request);
    run_for(kLatency);
    return client;
  }
  // ... and the upstream's end of its request, which has arrived there.
  std::pair<Party&, Party&> exchange(std::string_view request) {
    const std::size_t before = upstream.count();
    Party& client = ask(request);
    run_for(speech.reaching_ways * kLatency);
    EXPECT_EQ(upstream.count(), before + 1);
    return {client, upstream.at(upstream.count() - 1)};
  }

  Weather weather;
  Speech speech;
  io::SimNetwork network{
      {.seed = weather.seed, .latency_min = kLatency, .latency_max = weather.latency_max}};
  io::Loop loop{io::make_sim_backend(network, network.host(kGate),
                                     {.turn_cost = Duration::zero(),
                                      .short_takes_percent = weather.short_takes_percent,
                                      .short_writes_percent = weather.short_writes_percent})};
  Lines lines;
  LogBuffer log{lines, LogFormat::json, Duration::zero()};
  Names names;
  OneDescriptor reserve{network.host(kGate)};
  proxy::Shared shared;
  proxy::SetupPtr setup;  // the latest
  Upstream upstream{network, kUpstream};
  std::vector<std::unique_ptr<Party>> clients;
  std::unique_ptr<proxy::Gateway> gateway;
  Time asked{};
};

// The lines of the log that hold this.
inline std::vector<std::string> lines_with(World& world, std::string_view what) {
  world.log.flush();
  std::vector<std::string> found;
  std::string_view rest = world.lines.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (line.find(what) != std::string_view::npos) found.emplace_back(line);
    rest.remove_prefix(end + 1);
  }
  return found;
}
inline bool says(const std::string& line, std::string_view what) {
  return line.find(what) != std::string::npos;
}

// The budget began when `from`'s bytes reached the gateway, and its end reached the peer: two ways,
// and at most one period.
inline void expect_swept(const World& world, Time from, Time seen, Duration budget) {
  EXPECT_NE(seen, Time{});
  const Duration found = seen - from - 2 * kLatency;
  EXPECT_GE(found, budget) << to_ms(found) << " ms";
  EXPECT_LE(found, budget + world.period()) << to_ms(found) << " ms";
}

inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
inline constexpr std::string_view kPost =
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

inline std::string post_head(std::size_t length) {
  return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

// Leaves one connection in the pool. Upstreams answer by themselves only until then.
inline void warm(World& world) {
  world.upstream.answer_with(std::string(kOk));
  Party& client = world.ask(kGet);
  world.settle();
  ASSERT_TRUE(client.has("ok"));
  ASSERT_EQ(world.upstream.count(), 1U);
  world.upstream.on_bytes = nullptr;
  world.upstream.at(0).on_bytes = nullptr;
  world.upstream.at(0).got.clear();
}

}  // namespace hushgate::sim
