// What the tests of this folder share: an upstream's side of a worker on the simulated network.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/sim.h"
#include "io/sim_peer.h"
#include "upstream/dialer.h"
#include "upstream/endpoint.h"

namespace hushgate::upstream::testing {

inline constexpr IpAddress kGate = IpAddress::v4(10, 0, 0, 9);
inline constexpr IpAddress kServer = IpAddress::v4(10, 0, 0, 1);
inline constexpr Ms kLatency{1};  // one way, always
inline constexpr Ms kPeriod{25};  // of the sweep

// Answers when it is told to.
class ScriptedNames final : public NameSource {
 public:
  void query(io::Loop&, const std::string& host, std::function<void(NameAnswer)> done) override {
    asked.push_back(host);
    pending.push_back(std::move(done));
  }
  // The oldest question that is open.
  void answer(const NameAnswer& with) {
    const auto done = std::move(pending.front());
    pending.erase(pending.begin());
    done(with);
  }

  std::vector<std::string> asked;
  std::vector<std::function<void(NameAnswer)>> pending;
};

// Counts what is asked of a backend, and fails connects to some addresses at once.
class WatchedBackend final : public io::Backend {
 public:
  explicit WatchedBackend(std::unique_ptr<io::Backend> inner) : inner_(std::move(inner)) {}

  std::vector<std::string> connects;         // destinations, in order
  std::map<std::string, int> fails_at_once;  // destination -> errno

  Time now() override { return inner_->now(); }
  void collect(Time until, io::ReadyList& ready) override { inner_->collect(until, ready); }
  void wake() override { inner_->wake(); }
  void reap() override { inner_->reap(); }
  Result<std::unique_ptr<io::Listener>> listen(const SocketAddress& address,
                                               const io::ListenOptions& options,
                                               io::AcceptHandler& handler) override {
    return inner_->listen(address, options, handler);
  }
  Result<io::StreamPtr> connect(const SocketAddress& address, const io::ConnectOptions& options,
                                io::Runnable* owner) override {
    connects.push_back(address.to_string());
    const auto found = fails_at_once.find(address.to_string());
    if (found != fails_at_once.end()) return fail(ErrorKind::connection_failed, found->second);
    return inner_->connect(address, options, owner);
  }
  const char* name() const override { return inner_->name(); }

 private:
  std::unique_ptr<io::Backend> inner_;
};

class Lines final : public LogSink {
 public:
  void write(std::string_view lines) override { text += lines; }
  std::uint64_t dropped() const override { return 0; }
  std::string text;
};

class Room final : public RoomMaker {
 public:
  bool make_room() override {
    ++asked;
    return frees && frees();
  }
  int asked = 0;
  std::function<bool()> frees;
};

class Owner final : public io::Runnable {
 public:
  void run() override {
    ++runs;
    if (body) body();
  }
  std::function<void()> body;
  int runs = 0;
};

// An upstream's program: accepts everything and does nothing by itself, but gives up what was
// reset.
class Server {
 public:
  Server(io::SimNetwork& network, const IpPort& address)
      : listener_(network, network.host(address.ip), address, 1'000) {
    listener_.on_connection = [this] {
      while (std::unique_ptr<io::SimPeer> peer = listener_.accept()) {
        io::SimPeer* const raw = peer.get();
        const std::size_t index = peers.size();
        resets.push_back(false);
        raw->on_change = [this, raw, index] {
          if (!raw->failed()) return;
          resets[index] = true;
          raw->close();
        };
        peers.push_back(std::move(peer));
      }
    };
  }
  std::vector<std::unique_ptr<io::SimPeer>> peers;  // in the order of their coming
  std::vector<bool> resets;

 private:
  io::SimPeerListener listener_;
};

struct Bench;

// A dialer with an owner that steps it, as an exchange does.
struct Dial {
  explicit Dial(Bench& bench);  // to its endpoint
  void start(Dialer::Purpose purpose = Dialer::Purpose::request) {
    dialer.start(endpoint, limits, endpoint.services().loop.now(), purpose);
    step();
  }
  void step() {
    const Dialer::State before = dialer.state();
    const Time now = endpoint.services().loop.now();
    dialer.step(now);
    if (dialer.state() != before) ended = now;
    if (dialer.state() != Dialer::State::connected) return;
    connection = dialer.take(now);
    connection->stream().set_owner(&quiet);
  }
  bool failed() const { return dialer.state() == Dialer::State::failed; }
  bool waits() const { return dialer.state() == Dialer::State::port_wait; }

  Endpoint& endpoint;
  const Limits& limits;
  Owner owner;
  Owner quiet;
  Dialer dialer{owner};
  ConnectionPtr connection;
  Time ended{};  // of the last change of state
};

struct Bench {
  explicit Bench(std::uint64_t seed = 1)
      : network({.seed = seed, .latency_min = kLatency, .latency_max = kLatency}) {
    config.name = "api";
    config.host = "api.test";
    config.port = 80;
  }
  // An address that needs no resolving.
  void use_literal(const IpAddress& address = kServer) {
    config.host = address.to_string();
    config.literal = address;
  }
  Endpoint& endpoint() {
    if (!endpoint_) {
      endpoint_ = std::make_unique<Endpoint>(
          Services{loop, wheel, counters, log, names, room, scratch}, config, tls);
    }
    return *endpoint_;
  }
  void end_endpoint() { endpoint_.reset(); }
  Time now() const { return loop.now(); }
  void run_for(Duration duration) {
    const Time until = loop.now() + duration;
    while (loop.now() < until) loop.turn(until);
  }
  // The network goes on without the worker's looking.
  void network_for(Duration duration) { network.run_for(duration); }
  std::uint64_t count(stats::Counter counter) const { return counters.get(counter); }
  // A connection that an exchange would hold.
  ConnectionPtr open() {
    Dial dial(*this);
    dial.start();
    for (int i = 0; i < 100 && !dial.connection; ++i) run_for(kLatency);
    if (dial.connection) dial.connection->stream().set_owner(nullptr);
    return std::move(dial.connection);
  }

  io::SimNetwork network;
  WatchedBackend* backend = nullptr;  // the loop's
  io::Loop loop{make_backend()};
  io::Wheel wheel{loop, kPeriod};
  stats::Counters counters;
  Lines lines;
  LogBuffer log{lines, LogFormat::text, Duration::zero()};
  ScriptedNames names;
  Limits limits;
  Room room;
  tls::Scratch scratch{loop};
  config::Upstream config;
  tls::ClientContext::Pointer tls;

 private:
  std::unique_ptr<io::Backend> make_backend() {
    auto watched = std::make_unique<WatchedBackend>(io::make_sim_backend(
        network, network.host(kGate),
        {.turn_cost = Duration::zero(), .short_takes_percent = 0, .short_writes_percent = 0}));
    backend = watched.get();
    return watched;
  }

  std::unique_ptr<Endpoint> endpoint_;
};

inline Dial::Dial(Bench& bench) : endpoint(bench.endpoint()), limits(bench.limits) {
  owner.body = [this] { step(); };
}

struct DialBench : Bench {
  void swallow(const IpAddress& at) { network.set_fate(IpPort{at, 80}, io::SimFate::black_hole); }
  // Starts a dialer whose name has these addresses; how long it took to end.
  Duration dial(Dial& dial, const std::vector<IpAddress>& addresses) {
    const Time from = now();
    dial.start();
    if (!names.pending.empty()) {
      names.answer(addresses);
      dial.step();
    }
    return wait(dial, from);
  }
  Duration wait(Dial& dial, Time from) {
    while (!dial.connection && !dial.failed() && now() - from < std::chrono::seconds(60))
      run_for(kLatency);
    return dial.ended - from;
  }
};

}  // namespace hushgate::upstream::testing
