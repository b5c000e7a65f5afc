// What a scripted peer has of its connection: the bare socket, or TLS over it (tls_wire.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/sim_peer.h"

namespace hushgate::sim {

// As io::SimPeer, of plaintext.
class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  // Called in the network's step when anything changed. It may do anything but destroy the wire.
  std::function<void()> on_change;

  virtual bool open() = 0;  // bytes may flow
  virtual bool failed() = 0;
  virtual bool peer_finished() = 0;
  virtual std::size_t send(std::string_view bytes) = 0;
  virtual std::string receive(std::size_t limit) = 0;
  virtual void finish() = 0;
  virtual void close() = 0;
  virtual void reset() = 0;
};

class BareWire final : public Wire {
 public:
  explicit BareWire(std::unique_ptr<io::SimPeer> peer) : peer_(std::move(peer)) {
    peer_->on_change = [this] {
      if (on_change) on_change();
    };
  }

  io::SimPeer& below() { return *peer_; }

  bool open() override { return peer_->open(); }
  bool failed() override { return peer_->failed(); }
  bool peer_finished() override { return peer_->peer_finished(); }
  std::size_t send(std::string_view bytes) override { return peer_->send(bytes); }
  std::string receive(std::size_t limit) override { return peer_->receive(limit); }
  void finish() override { peer_->finish(); }
  void close() override { peer_->close(); }
  void reset() override { peer_->reset(); }

 private:
  std::unique_ptr<io::SimPeer> peer_;
};

// How the peers of a world speak.
struct Speech {
  using Wrap = std::function<std::unique_ptr<Wire>(std::unique_ptr<io::SimPeer>)>;

  static std::unique_ptr<Wire> bare(std::unique_ptr<io::SimPeer> peer) {
    return std::make_unique<BareWire>(std::move(peer));
  }
  Wrap client = bare;
  Wrap upstream = bare;
  // Ways that pass until a client's connection is open at both ends ...
  int opening_ways = 2;
  // ... and until a request is at its upstream, on a new connection.
  int reaching_ways = 3;
};

}  // namespace hushgate::sim
