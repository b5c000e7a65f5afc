#include "io/sim_stream.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {

void SimStream::open(SimSocket socket, Runnable* owner) {
  HG_ASSERT(!open_);
  socket_ = socket;
  owner_ = owner;
  open_ = true;
  error_ = 0;
  peer_ = end().remote();
  flags_ = end().state() == SimEnd::State::connecting ? kConnecting : kWritable;
  if (socket.side == 1) end().set_keep_alive(kTcpKeepAlive);
  socket_changed();  // what came while it was queued
}

void SimStream::socket_changed() {
  if (pending_) return;
  pending_ = true;
  home_.pending(*this);
}

void SimStream::look(ReadyList& ready) {
  pending_ = false;
  if (!open_) return;
  const std::uint8_t before = flags_;
  const SimEnd& state = end();
  if (connecting() && state.state() != SimEnd::State::connecting) {
    flags_ = static_cast<std::uint8_t>(flags_ & ~kConnecting);
  }
  if (connecting()) return;
  if (state.readable_bytes() > 0) flags_ |= kReadable;
  if (state.fin_received()) flags_ |= kReadable | kPeerFinished;
  if (state.state() == SimEnd::State::dead) {
    flags_ |= kReadable | kFailed;
    error_ = state.error();
  } else if (end().send_room() > 0) {
    flags_ |= kWritable;
  }
  const auto turned_on = static_cast<std::uint8_t>(flags_ & ~before);
  if ((turned_on == 0 && (before & kConnecting) == 0) || owner_ == nullptr) return;
  if (!owner_->linked()) ready.push_back(*owner_);
}

std::size_t SimStream::partial(std::size_t whole, unsigned percent) {
  SimRandom& random = home_.network().random();
  if (whole <= 1 || !random.percent(percent)) return whole;
  return static_cast<std::size_t>(random.between(1, whole - 1));
}

Take SimStream::ended() {
  if (failed()) return {.kind = Take::Kind::failed, .os_error = error_};
  flags_ |= kReadAll | kPeerFinished | kReadable;
  return {.kind = Take::Kind::fin};
}

Take SimStream::take() {
  HG_ASSERT(open_ && !home_.buffer().lent());
  if (connecting()) return {};
  if ((flags_ & kReadAll) != 0) return ended();
  SimEnd& from = end();
  if (const std::size_t there = from.readable_bytes(); there > 0) {
    const MutableBytes room = home_.buffer().bytes();
    const std::size_t size =
        partial(std::min(there, room.size()), home_.options().short_takes_percent);
    from.receive(room.first(size));
    flags_ |= kReadable;
    return {.kind = Take::Kind::data, .lease = home_.buffer().lend(size)};
  }
  if (from.state() == SimEnd::State::dead) {
    flags_ |= kReadable | kFailed;
    error_ = from.error();
    return ended();
  }
  if (from.fin_received()) return ended();
  flags_ = static_cast<std::uint8_t>(flags_ & ~kReadable);
  return {};
}

Result<std::size_t> SimStream::write(std::span<const Bytes> pieces) {
  HG_ASSERT(open_ && (flags_ & kFinSent) == 0 && pieces.size() <= kMaxPieces);
  SimEnd& to = end();
  if (connecting()) return 0;
  if (to.state() == SimEnd::State::dead) {
    flags_ |= kReadable | kFailed;
    error_ = to.error();
    return fail(ErrorKind::connection_terminated, error_);
  }
  std::size_t offered = 0;
  for (const Bytes& piece : pieces) offered += piece.size();
  std::size_t take = std::min(offered, to.send_room());
  if (take > kShortWriteFloorBytes) take = partial(take, home_.options().short_writes_percent);
  std::size_t accepted = 0;
  for (const Bytes& piece : pieces) {
    const std::size_t size = std::min(piece.size(), take - accepted);
    accepted += to.send(piece.first(size));
  }
  if (accepted < offered) {
    flags_ = static_cast<std::uint8_t>(flags_ & ~kWritable);
    if (to.send_room() > 0) wake_later();
  }
  return accepted;
}

// A short write although there was room: the kernel would say before long that there is.
void SimStream::wake_later() { home_.network().nudge(socket_, std::chrono::microseconds(50)); }

void SimStream::finish_writing() {
  HG_ASSERT(open_ && !connecting());
  if ((flags_ & kFinSent) != 0) return;
  flags_ |= kFinSent;
  end().finish();
}

bool SimStream::still_quiet() {
  if (connecting()) return false;
  const SimEnd& state = end();
  const bool quiet =
      state.readable_bytes() == 0 && !state.fin_received() && state.state() != SimEnd::State::dead;
  if (quiet) return true;
  flags_ |= kReadable;
  if (state.fin_received()) flags_ |= kPeerFinished;
  if (state.state() == SimEnd::State::dead) {
    flags_ |= kFailed;
    error_ = state.error();
  }
  return false;
}

Duration SimStream::finish_delay() {
  return peer_finished() ? end().finish_delay() : Duration::max();
}

void SimStream::close(CloseHow how) {
  HG_ASSERT(open_);
  open_ = false;
  owner_ = nullptr;
  home_.network().close(socket_, how);
  home_.closed(*this);
}

SimStreamListener::~SimStreamListener() {
  stop_listening();
  home_.closed(*this);
}

void SimStreamListener::socket_changed() {
  if (pending_ || paused_) return;
  pending_ = true;
  home_.pending(*this);
}

void SimStreamListener::look(ReadyList& ready) {
  pending_ = false;
  if (listener_ && !paused_ && !listener_->queue.empty() && !linked()) ready.push_back(*this);
}

void SimStreamListener::pause() {
  paused_ = true;
  unlink();
}

void SimStreamListener::resume() {
  if (!listener_ || !paused_) return;
  paused_ = false;
  socket_changed();
}

void SimStreamListener::stop_listening() {
  if (listener_) home_.network().close_listener(std::move(listener_));
}

void SimStreamListener::drain_and_close() {
  pause();
  while (listener_ && accept_one() == Step::more) {
  }
  stop_listening();
}

void SimStreamListener::run() {
  for (int i = 0; i < kMaxAcceptsPerTurn && listener_ && !paused_; ++i) {
    if (accept_one() == Step::stop) return;
  }
  if (listener_ && !listener_->queue.empty()) socket_changed();
}

SimStreamListener::Step SimStreamListener::accept_one() {
  SimNetwork& network = home_.network();
  const Result<SimSocket> socket = network.accept(*listener_, nullptr);
  if (!socket) {
    if (listener_->queue.empty()) return Step::stop;
    if (handler_.out_of_descriptors()) return Step::more;
    pause();
    return Step::stop;
  }
  SimStream& stream = home_.fresh_stream();
  network.end(*socket).set_user(&stream);
  stream.open(*socket, nullptr);
  handler_.accepted(StreamPtr(&stream));
  return Step::more;
}

}  // namespace hushgate::io
