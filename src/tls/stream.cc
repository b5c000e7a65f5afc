#include "tls/stream.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "tls/client_context.h"
#include "tls/openssl.h"
#include "tls/server_context.h"
#include "tls/sessions.h"

namespace hushgate::tls {
namespace {

// Leases without any plaintext that one call goes through; what is behind them has to wait a turn.
constexpr int kDryTakes = 16;

}  // namespace

void Stream::FreeSsl::operator()(ssl_st* ssl) const noexcept { SSL_free(ssl); }

Stream::Stream(Passkey, Scratch& scratch, io::StreamPtr inner)
    : scratch_(scratch), inner_(std::move(inner)), look_(*this) {
  peer_ = inner_->peer();
  inner_->set_owner(this);
}

Stream::~Stream() { mark_shut(); }

// --- events of the stream below

void Stream::run() {
  switch (state_) {
    case State::handshake: return run_handshake();
    case State::open:
    case State::ended: return after_inner_event();
    case State::failed: return;
    case State::finishing: return step_finishing();
  }
}

void Stream::wake() {
  if (owner_ != nullptr) scratch_.loop_.ready(*owner_);
}

void Stream::after_inner_event() {
  const std::uint8_t before = flags_;
  flush_pending();
  if (state_ == State::open) {
    if (inner_->readable()) flags_ |= kReadable;
    if (inner_->peer_finished()) flags_ |= kPeerFinished | kReadable;
    if (inner_->failed()) inner_failed();
  } else if (wrote_behind_end_ && inner_->failed() && !failed()) {
    inner_failed();
  }
  if ((flags_ & ~before) != 0) wake();
  if (inner_->readable()) scratch_.loop_.ready(look_);
}

// --- receiving

// The plaintext of these records is in the scratch afterwards; how many bytes. What else they say
// is in the state and the flags.
std::size_t Stream::decrypt(Bytes ciphertext) {
  HG_ASSERT(ciphertext.size() <= kMaxLeaseBytes && !scratch_.plain_.lent());
  const MutableBytes room = scratch_.plain_.bytes();
  std::size_t size = 0;
  scratch_.feed(ciphertext);
  while (state_ == State::open) {
    std::size_t got = 0;
    if (SSL_read_ex(ssl_.get(), room.data() + size, room.size() - size, &got) == 1) {
      size += got;
      if (scratch_.input_.empty() && SSL_pending(ssl_.get()) == 0) break;
      HG_ASSERT(size < room.size());
    } else if (offence_ != Offence::none) {
      fail_offence();
    } else if (scratch_.starved_) {
      break;
    } else if (alert_ == SSL3_AD_CLOSE_NOTIFY) {
      state_ = State::ended;
      flags_ |= kPeerFinished | kReadable;
    } else {
      fail_protocol();
    }
  }
  scratch_.feed({});
  received_ += size;
  if (!scratch_.output().empty()) send_output();  // an answer to a key update
  return size;
}

io::Take Stream::ended_take() const {
  if (state_ == State::ended) return {.kind = io::Take::Kind::fin};
  return {.kind = io::Take::Kind::failed, .os_error = error_};
}

void Stream::settle_readable() {
  const bool more = held_size_ > 0 || state_ != State::open || inner_->readable();
  if (more) {
    flags_ |= kReadable;
  } else {
    clear(kReadable);
  }
}

io::Take Stream::take() {
  HG_ASSERT(state_ != State::finishing && !scratch_.plain_.lent());
  if (held_size_ > 0) return take_held();
  if (state_ == State::handshake) return {};
  for (int takes = 0; state_ == State::open; ++takes) {
    if (takes == kDryTakes) {
      // Off, so that the run in the next turn turns it on and wakes the owner.
      clear(kReadable);
      scratch_.loop_.ready_next_turn(*this);
      return {};
    }
    std::size_t size = 0;
    {
      const io::Take take = inner_->take();
      if (take.kind == io::Take::Kind::nothing) {
        settle_readable();
        return {};
      }
      if (take.kind == io::Take::Kind::data) {
        size = decrypt(take.lease.bytes());
      } else if (take.kind == io::Take::Kind::fin) {
        fail_cut();
      } else {
        inner_failed();
        state_ = State::failed;
      }
    }
    settle_readable();
    if (size > 0) return {.kind = io::Take::Kind::data, .lease = scratch_.plain_.lend(size)};
    if (state_ == State::open && !inner_->readable()) return {};
  }
  return ended_take();
}

// Plaintext in the scratch is kept until it is taken.
void Stream::hold(std::size_t size) {
  HG_ASSERT(held_size_ == 0);
  held_ = std::make_unique_for_overwrite<std::byte[]>(size);
  held_size_ = static_cast<std::uint32_t>(size);
  std::memcpy(held_.get(), scratch_.plain_.bytes().data(), size);
  flags_ |= kReadable;
}

io::Take Stream::take_held() {
  const std::size_t size = std::exchange(held_size_, 0U);
  std::memcpy(scratch_.plain_.bytes().data(), held_.get(), size);
  held_.reset();
  settle_readable();
  return {.kind = io::Take::Kind::data, .lease = scratch_.plain_.lend(size)};
}

// What the owner has not taken, up to the first plaintext.
void Stream::look_ahead() {
  const std::uint8_t before = flags_;
  for (int takes = 0; state_ == State::open && held_size_ == 0 && inner_->readable(); ++takes) {
    if (takes == kDryTakes) {
      scratch_.loop_.ready_next_turn(look_);
      break;
    }
    const io::Take take = inner_->take();
    if (take.kind == io::Take::Kind::nothing) break;
    if (take.kind == io::Take::Kind::data) {
      if (const std::size_t size = decrypt(take.lease.bytes()); size > 0) hold(size);
    } else if (take.kind == io::Take::Kind::fin) {
      fail_cut();
    } else {
      inner_failed();
      state_ = State::failed;
    }
  }
  settle_readable();
  constexpr std::uint8_t kEnds = kPeerFinished | kFailed;
  if ((flags_ & ~before & kEnds) != 0) wake();
}

bool Stream::within_record() const {
  return SSL_has_pending(ssl_.get()) == 1 || SSL_rstate_string(ssl_.get())[1] == 'B';
}

// Tickets and the like are no noise: they are gone through. A record that has only begun may be
// anything.
bool Stream::still_quiet() {
  if (state_ != State::open || failed() || peer_finished() || held_size_ > 0) return false;
  for (int takes = 0; takes < kDryTakes; ++takes) {
    if (inner_->still_quiet()) {
      settle_readable();
      return !within_record();
    }
    const io::Take take = inner_->take();
    if (take.kind == io::Take::Kind::data) {
      if (const std::size_t size = decrypt(take.lease.bytes()); size > 0) hold(size);
      if (state_ != State::open || held_size_ > 0) return false;
    } else if (take.kind == io::Take::Kind::fin) {
      fail_cut();
      return false;
    } else if (take.kind == io::Take::Kind::failed) {
      inner_failed();
      state_ = State::failed;
      return false;
    }
  }
  return false;
}

std::size_t Stream::untaken() {
  if (state_ != State::open) return held_size_;
  return held_size_ + inner_->untaken() + (within_record() ? kRecordBytes : 0);
}

// --- closing

// OpenSSL takes an end without close_notify for a reason not to resume a session; that is right for
// failures only.
void Stream::mark_shut() {
  const bool orderly = state_ == State::open || state_ == State::ended;
  if (ssl_ && orderly) SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

void Stream::close(io::CloseHow how) {
  HG_ASSERT(state_ != State::finishing);
  owner_ = nullptr;
  if (how == io::CloseHow::reset || held_size_ > 0) return end(io::CloseHow::reset);
  const bool can_write = state_ == State::open || state_ == State::ended;
  if (!can_write || inner_->failed()) return end(how);
  finish_writing();
  if (pending() == 0 || has(kFailed)) return end(how);
  mark_shut();
  ssl_.reset();
  static_cast<ListNode<io::ReadyTag>&>(look_).unlink();
  state_ = State::finishing;
  scratch_.finishing_.push_back(*this);
  finish_alarm_ = std::make_unique<io::Alarm>(static_cast<io::Runnable&>(*this));
  scratch_.loop_.set_alarm(*finish_alarm_, scratch_.loop_.now() + kFinishTime);
}

void Stream::step_finishing() {
  flush_pending();
  if (has(kFailed) || inner_->failed()) return end(io::CloseHow::reset);
  if (pending() == 0) return end(io::CloseHow::fin);
  if (!finish_alarm_->pending()) end(io::CloseHow::reset);
}

void Stream::give_up() { end(io::CloseHow::reset); }

// The object is gone afterwards.
void Stream::end(io::CloseHow how) {
  const std::unique_ptr<Stream> self(this);
  inner_->set_owner(nullptr);
  io::close(std::move(inner_), how);
}

}  // namespace hushgate::tls
