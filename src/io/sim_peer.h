// The other side in a simulation, for scripts: a program that does what it is told to and nothing
// else.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/sim_network.h"

namespace hushgate::io {

// A connection of a script. It reads only when told to, so its receive window fills.
class SimPeer final : public SimUser {
 public:
  // Connects; open() tells when it has, failed() if it was refused. Must not fail at once (ports,
  // descriptors).
  SimPeer(SimNetwork& network, SimHost& host, const SocketAddress& to);
  // Adopts an accepted connection.
  SimPeer(SimNetwork& network, SimSocket socket);
  SimPeer(const SimPeer&) = delete;
  SimPeer& operator=(const SimPeer&) = delete;
  ~SimPeer();  // close()

  // Called in the network's step when anything changed. It may do anything but destroy the peer.
  std::function<void()> on_change;

  SimSocket socket() const { return socket_; }
  bool open();
  bool failed();                             // reset or refused
  bool peer_finished();                      // FIN has come; bytes may lie before it
  std::size_t send(std::string_view bytes);  // how many were accepted
  std::string receive(std::size_t limit);    // what is there
  void finish();
  void close();
  void reset();
  // Its machine is gone, with it (SimNetwork::vanish_with_user).
  void vanish();

 private:
  void socket_changed() override;
  SimEnd& end() { return network_.end(socket_); }

  SimNetwork& network_;
  SimSocket socket_;
  bool closed_ = false;
};

class SimPeerListener final : public SimUser {
 public:
  SimPeerListener(SimNetwork& network, SimHost& host, const SocketAddress& address, int backlog);
  SimPeerListener(const SimPeerListener&) = delete;
  SimPeerListener& operator=(const SimPeerListener&) = delete;
  ~SimPeerListener();

  std::function<void()> on_connection;

  SocketAddress address() const { return listener_->address; }
  std::unique_ptr<SimPeer> accept();  // null: none queued, or no descriptors

 private:
  void socket_changed() override;

  SimNetwork& network_;
  std::unique_ptr<SimListener> listener_;
};

}  // namespace hushgate::io
