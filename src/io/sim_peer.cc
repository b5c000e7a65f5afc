#include "io/sim_peer.h"

#include "base/assert.h"

namespace hushgate::io {

SimPeer::SimPeer(SimNetwork& network, SimHost& host, const SocketAddress& to) : network_(network) {
  const Result<SimSocket> socket = network.connect(host, to, {}, this);
  HG_ASSERT(socket.has_value());
  socket_ = *socket;
}

SimPeer::SimPeer(SimNetwork& network, SimSocket socket) : network_(network), socket_(socket) {
  end().set_user(this);
}

SimPeer::~SimPeer() { close(); }

void SimPeer::socket_changed() {
  if (on_change) on_change();
}

bool SimPeer::open() { return !closed_ && end().state() == SimEnd::State::open; }

bool SimPeer::failed() { return !closed_ && end().state() == SimEnd::State::dead; }

bool SimPeer::peer_finished() { return !closed_ && end().fin_received(); }

std::size_t SimPeer::send(std::string_view bytes) {
  return closed_ ? 0 : end().send(as_bytes(bytes));
}

std::string SimPeer::receive(std::size_t limit) {
  if (closed_) return {};
  std::string bytes(std::min(limit, end().readable_bytes()), '\0');
  end().receive(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void SimPeer::finish() {
  if (!closed_) end().finish();
}

void SimPeer::close() {
  if (!std::exchange(closed_, true)) network_.close(socket_, CloseHow::fin);
}

void SimPeer::reset() {
  if (!std::exchange(closed_, true)) network_.close(socket_, CloseHow::reset);
}

void SimPeer::vanish() {
  if (!std::exchange(closed_, true)) network_.vanish_with_user(socket_);
}

SimPeerListener::SimPeerListener(SimNetwork& network, SimHost& host, const SocketAddress& address,
                                 int backlog)
    : network_(network), listener_(network.listen(host, address, backlog, this)) {}

SimPeerListener::~SimPeerListener() { network_.close_listener(std::move(listener_)); }

void SimPeerListener::socket_changed() {
  if (on_connection) on_connection();
}

std::unique_ptr<SimPeer> SimPeerListener::accept() {
  const Result<SimSocket> socket = network_.accept(*listener_, nullptr);
  if (!socket) return nullptr;
  return std::make_unique<SimPeer>(network_, *socket);
}

}  // namespace hushgate::io
