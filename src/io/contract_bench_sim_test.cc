// Peers in the simulated network, on machines of their own.
#include "io/contract_bench.h"
#include "io/sim.h"
#include "io/sim_peer.h"

namespace hushgate::io {
namespace {

constexpr IpAddress kOurs = IpAddress::v4(127, 0, 0, 1);
constexpr IpAddress kUsualPeer = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress kSmallPeer = IpAddress::v4(10, 0, 0, 2);
constexpr IpAddress kPortless = IpAddress::v4(10, 0, 0, 3);

class ScriptedPeer final : public Peer {
 public:
  ScriptedPeer(SimNetwork& network, SimHost& host, const SocketAddress& to)
      : own_(std::make_unique<SimPeer>(network, host, to)) {
    // Peers of the real benches are connected when the call returns.
    while (!own_->open() && !own_->failed()) network.step(kNever);
    EXPECT_TRUE(own_->open());
  }
  explicit ScriptedPeer(std::unique_ptr<SimPeer> peer) : own_(std::move(peer)) {}

  std::size_t send(std::string_view bytes) override { return own_->send(bytes); }
  PeerRead receive(std::size_t limit) override {
    PeerRead read{.bytes = own_->receive(limit)};
    if (!read.bytes.empty()) return read;
    if (own_->failed()) {
      read.end = PeerEnd::reset;
    } else if (own_->peer_finished()) {
      read.end = PeerEnd::fin;
    }
    return read;
  }
  void finish() override { own_->finish(); }
  void close() override { own_->close(); }
  void reset() override { own_->reset(); }

 private:
  std::unique_ptr<SimPeer> own_;
};

class ScriptedListener final : public PeerListener {
 public:
  ScriptedListener(SimNetwork& network, SimHost& host, const SocketAddress& address)
      : own_(network, host, address, 64) {}
  SocketAddress address() const override { return own_.address(); }
  std::unique_ptr<Peer> accept() override {
    auto peer = own_.accept();
    if (!peer) return nullptr;
    return std::make_unique<ScriptedPeer>(std::move(peer));
  }

 private:
  SimPeerListener own_;
};

class SimBench final : public Bench {
 public:
  explicit SimBench(std::uint64_t seed) : network_({.seed = seed}) {
    network_.host(kSmallPeer).receive_window_bytes = 4'096;
    network_.host(kPortless).ports = 0;
  }
  std::unique_ptr<Backend> make_backend() override {
    return make_sim_backend(network_, network_.host(kOurs), {.lease_bytes = 16'384});
  }
  std::unique_ptr<Peer> connect(const SocketAddress& to, Window window) override {
    return std::make_unique<ScriptedPeer>(network_, peer_host(window), to);
  }
  std::unique_ptr<PeerListener> listen(Window window) override {
    SimHost& host = peer_host(window);
    return std::make_unique<ScriptedListener>(network_, host, IpPort{host.address});
  }
  std::unique_ptr<PeerListener> listen_unix() override {
    return std::make_unique<ScriptedListener>(network_, network_.host(kOurs),
                                              SocketAddress::unix_socket("/run/peer.sock"));
  }
  void deliver() override { network_.run_for(std::chrono::milliseconds(50)); }
  void exhaust_descriptors() override {
    SimHost& ours = network_.host(kOurs);
    ours.descriptor_limit = ours.descriptors;
  }
  void restore_descriptors() override { network_.host(kOurs).descriptor_limit = 1'000; }
  SocketAddress refused_address() override { return IpPort{kUsualPeer, 9}; }
  std::optional<SocketAddress> black_hole() override {
    const SocketAddress address = IpPort{kUsualPeer, 10};
    network_.set_fate(address, SimFate::black_hole);
    return address;
  }
  ConnectOptions exhausted_source() override { return {.source = kPortless}; }

 private:
  SimHost& peer_host(Window window) {
    return network_.host(window == Window::small ? kSmallPeer : kUsualPeer);
  }

  SimNetwork network_;
};

}  // namespace

std::unique_ptr<Bench> make_sim_bench(std::uint64_t seed) {
  return std::make_unique<SimBench>(seed);
}

}  // namespace hushgate::io
