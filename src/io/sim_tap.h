// Watches a simulated network: told what happens at every end of every connection, at the moment it
// happens, before the end's user is told.
//
// Only looks: must not act on the network from within a call. Ends that their user has closed go on
// being reported (acknowledged, arrived, fin_arrived, failed) until both are forgotten.
#pragma once

#include <cstddef>

#include "base/address.h"
#include "base/bytes.h"
#include "io/sim_connection.h"
#include "io/stream.h"

namespace hushgate::io {

class SimTap {
 public:
  // connect() accepted it; socket.side is 0.
  virtual void connecting(SimSocket socket, const SimHost& from, const SocketAddress& to) = 0;
  // At side 0 the answer came; side 1 is queued at the listener.
  virtual void established(SimSocket socket) = 0;
  // Taken out of the accept queue by the listener's user.
  virtual void accepted(SimSocket socket) = 0;
  // Accepted into this end's send buffer. At least one byte, as in the next three.
  virtual void sent(SimSocket socket, Bytes bytes) = 0;
  virtual void arrived(SimSocket socket, std::size_t bytes) = 0;   // into this end's receive buffer
  virtual void received(SimSocket socket, std::size_t bytes) = 0;  // by this end's user
  virtual void acknowledged(SimSocket socket, std::size_t bytes) = 0;  // of what this end sent
  // This end's user called finish(). An orderly close() is reported as closed only.
  virtual void finished(SimSocket socket) = 0;
  virtual void fin_arrived(SimSocket socket) = 0;
  // At this end: a reset arrived, it was refused, or it timed out.
  virtual void failed(SimSocket socket, int error) = 0;
  // By this end's user, or by a listener whose queue it was in.
  virtual void closed(SimSocket socket, CloseHow how) = 0;
  // SimNetwork::vanish was called, on this end.
  virtual void vanished(SimSocket /*socket*/) {}

 protected:
  ~SimTap() = default;
};

}  // namespace hushgate::io
