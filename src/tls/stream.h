// TLS over any stream: a stream itself, so that everything above sees plaintext and the contract of
// io/stream.h. It owns the stream below (`inner`) and is its owner in the other sense, too: it runs
// when something happened there, brings its own flags up to date and makes its owner ready in the
// same turn.
//
// Differs from a plain stream where TLS does:
// - A FIN, or a reset, without close_notify is a cut: `failed` with ECONNRESET, also within a
// record
//   or the handshake. close_notify is `fin`; what the transport does behind it is no news, unless
//   something accepted is not delivered yet or was written behind it; `fin` it is all the same.
// - peer_finished() may be true before it is known which of the two it is.
// - write() accepts up to kWriteBytes more than the socket has room for (it encrypts first);
// nothing
//   more is accepted while any of that waits. unacknowledged() is in plaintext.
// - A part of a record, or a ticket, makes readable() true and wakes the owner, and take() gives
//   `nothing` then.
// - untaken() is an upper bound: records that carry no data, and what records cost, count in.
// - Before the handshake has ended nothing can be written (writable() is false and 0 is accepted).
// - After close(fin) it lives on without an owner until what was accepted is with the socket, at
//   most for kFinishTime; its Scratch outlives it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/intrusive_list.h"
#include "base/recycled.h"
#include "base/result.h"
#include "io/alarm.h"
#include "io/runnable.h"
#include "io/stream.h"
#include "tls/failure.h"
#include "tls/scratch.h"

struct ssl_st;
struct ssl_session_st;
struct x509_store_ctx_st;

namespace hushgate::tls {

class ClientContext;
class ServerContext;
class Sessions;

inline constexpr std::size_t kMaxSpareStreams = 256;
// After close(fin): what the socket has no room for is given up then, with a reset.
inline constexpr Ms kFinishTime{30'000};
// Key updates (RFC 8446 section 4.6.3) that a peer may ask for without sending data, and how much
// data earns it another one.
inline constexpr std::uint64_t kFreeKeyUpdates = 32;
inline constexpr std::uint64_t kBytesPerKeyUpdate = 65'536;

class Stream final : public io::Stream,
                     private io::Runnable,
                     public ListNode<FinishingTag>,
                     public Recycled<Stream, kMaxSpareStreams> {
  struct Passkey {};

 public:
  using Pointer = std::unique_ptr<Stream, io::ResetStream>;

  enum class State : std::uint8_t {
    handshake,  // not ended yet (client: or the stream below is still connecting)
    open,
    ended,      // close_notify has come; there may be plaintext before it that was not taken
    failed,     // as a TLS connection; `failure_` is valid. Plaintext from before may be held
    finishing,  // closed by its owner; `pending_` is being sent; there is no TLS any more
  };

  // A client's connection. The owner sees nothing until the handshake has ended or failed; it
  // bounds the handshake's time by closing. The context is kept as long as the stream lives.
  static Pointer accept(Scratch& scratch, std::shared_ptr<const ServerContext> context,
                        io::StreamPtr inner);
  // A connection to an upstream, which may still be connecting. connecting() until the handshake
  // has ended; then failed() and failure() tell how. `sessions` outlives the stream. `only`: the
  // one protocol that is offered (ALPN) in place of the context's; empty: those.
  static Pointer connect(Scratch& scratch, Sessions& sessions, io::StreamPtr inner,
                         io::Runnable* owner, std::string_view only = {});

  Stream(Passkey, Scratch& scratch, io::StreamPtr inner);
  ~Stream();

  State state() const { return state_; }
  bool handshaking() const { return state_ == State::handshake; }
  // Valid once failed(): why. `transport` or `cut` where the stream below failed.
  const Failure& failure() const;
  std::string failure_text() const override { return failure().message; }

  // What the handshake has agreed on; empty or false before its end.
  std::string_view alpn() const;         // valid as long as the stream
  std::string_view server_name() const;  // SNI, as the client wrote it
  bool resumed() const;
  std::string_view version() const;  // "TLSv1.3"
  std::string_view cipher() const;   // "TLS_AES_128_GCM_SHA256"
  // Of a certificate of the peer that was verified (RFC 2253, see one_line()); empty: none.
  std::string peer_subject() const override;

  io::Take take() override;
  Result<std::size_t> write(std::span<const Bytes> pieces) override;
  void finish_writing() override;
  std::size_t unacknowledged() override;
  std::size_t untaken() override;
  bool still_quiet() override;
  void write_at_once() override { inner_->write_at_once(); }
  bool half_closes() const override { return false; }
  bool encrypted() const override { return true; }
  Duration finish_delay() override { return inner_->finish_delay(); }
  void set_keep_alive(const io::KeepAlive& keep_alive) override {
    inner_->set_keep_alive(keep_alive);
  }
  void close(io::CloseHow how) override;
  SocketAddress local() override { return inner_->local(); }

  // OpenSSL's callbacks, for the contexts.
  static void on_info(const ssl_st* ssl, int where, int value);
  static int on_verify(int good, x509_store_ctx_st* chain);
  static int on_new_session(ssl_st* ssl, ssl_session_st* session);

 private:
  friend class Scratch;

  static constexpr std::uint8_t kFinAsked = 32;  // finish_writing() was called
  static constexpr std::uint8_t kFinSent = 64;   // the stream below was told
  static constexpr std::uint8_t kStarted = 128;  // the client's first message is out
  static constexpr std::uint8_t kNoAlert = 255;
  static constexpr std::size_t kFirstBytes = 11;  // to the version of a ServerHello

  // Runs behind the owner in the same turn: what the owner did not take is looked at, because a
  // close_notify may be among it.
  struct Look final : io::Runnable {
    explicit Look(Stream& of) : stream(of) {}
    void run() override { stream.look_ahead(); }
    Stream& stream;
  };
  struct FreeSsl {
    void operator()(ssl_st* ssl) const noexcept;
  };
  class Pieces;
  // What a peer has done that OpenSSL puts up with and we do not.
  enum class Offence : std::uint8_t { none, renegotiation, key_updates };

  bool has(std::uint8_t flag) const { return flags_ & flag; }
  void clear(std::uint8_t flag) { flags_ = static_cast<std::uint8_t>(flags_ & ~flag); }
  bool is_client() const { return sessions_ != nullptr; }
  std::size_t pending() const { return pending_tail_ - pending_head_; }

  void attach(ssl_st* ssl);
  void run() override;
  void wake();

  // The handshake.
  void run_handshake();
  void step_handshake();
  void advance_handshake();
  void established();
  void note_first_bytes(Bytes bytes);

  // Ways to fail.
  void fail(FailureKind kind, int os_error, std::string message);
  void fail_protocol();  // OpenSSL has said no; its alert goes out
  void fail_offence();
  void fail_cut();
  void inner_failed();
  void note_failure(FailureKind kind, std::string message);
  void note_offence(Offence offence);
  std::string_view peer_noun() const { return is_client() ? "the upstream" : "the client"; }

  // Receiving.
  void after_inner_event();
  std::size_t decrypt(Bytes ciphertext);
  void hold(std::size_t size);
  io::Take take_held();
  io::Take ended_take() const;
  void settle_readable();
  void look_ahead();
  bool within_record() const;

  // Sending.
  bool has_room();
  bool encrypt(Pieces& pieces);
  bool encrypt_record(Bytes plaintext);
  bool send_output();
  bool keep(Bytes rest);
  void flush_pending();
  void drop_pending();
  void send_fin_when_sent();

  // Closing.
  void mark_shut();
  void step_finishing();
  void give_up();
  void end(io::CloseHow how);

  Scratch& scratch_;
  io::StreamPtr inner_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  Sessions* sessions_ = nullptr;                  // client
  std::shared_ptr<const ServerContext> context_;  // server
  Look look_;
  State state_ = State::handshake;
  bool wrote_behind_end_ = false;
  Offence offence_ = Offence::none;
  std::uint8_t alert_ = kNoAlert;  // with which the peer has ended it; 0 is close_notify
  std::uint8_t first_size_ = 0;
  std::array<std::byte, kFirstBytes> first_;  // of the peer's, for the words of a failure
  std::uint32_t held_size_ = 0;
  std::unique_ptr<std::byte[]> held_;     // plaintext that was looked at before it was taken
  std::unique_ptr<std::byte[]> pending_;  // ciphertext that the socket has no room for
  std::uint32_t pending_head_ = 0;
  std::uint32_t pending_tail_ = 0;
  std::uint32_t pending_capacity_ = 0;
  std::uint32_t key_updates_ = 0;
  std::uint64_t received_ = 0;      // plaintext
  std::uint64_t accepted_ = 0;      // plaintext
  std::uint64_t acknowledged_ = 0;  // plaintext, as it was last asked for
  std::uint64_t sent_ = 0;          // records that accepted_ became
  std::unique_ptr<Failure> failure_;
  std::unique_ptr<io::Alarm> finish_alarm_;
};

}  // namespace hushgate::tls
