#include "upstream/connection.h"

#include <utility>

#include "base/assert.h"
#include "h2/client_link.h"
#include "upstream/endpoint.h"
#include "upstream/spares.h"

namespace hushgate::upstream {

ConnectionPtr Connection::begin(Endpoint& endpoint, io::StreamPtr stream, Time now) {
  auto connection = std::make_unique<Connection>(endpoint, std::move(stream), now);
  endpoint.services().wheel.set(connection->deadline_, now + kTcpKeepAliveIdle);
  return connection;
}

ConnectionPtr Connection::share(Endpoint& endpoint, io::StreamPtr leg, Time opened) {
  auto connection = std::make_unique<Connection>(endpoint, std::move(leg), opened);
  connection->multiplexed_ = true;
  return connection;
}

bool Connection::unprocessed() const {
  return multiplexed_ && h2::ClientLink::leg(*stream_).unprocessed();
}

std::optional<std::string> Connection::take_back() {
  return multiplexed_ ? h2::ClientLink::leg(*stream_).take_back() : std::nullopt;
}

void Connection::probe() {
  if (!std::exchange(probed_, true)) stream_->set_keep_alive(io::kTcpKeepAlive);
}

void Connection::run() {
  if (state_ == State::active) {
    deadline_.clear();
    return probe();
  }
  if (state_ == State::idle) return endpoint_.idle_event(*this);
  if (state_ == State::spare) return endpoint_.spares_->event(*this);
  HG_ASSERT(state_ == State::ending);
  endpoint_.ending_event(*this);
}

}  // namespace hushgate::upstream
