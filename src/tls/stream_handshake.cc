// A stream's beginning, and the ways in which TLS fails.
#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "tls/certificate.h"
#include "tls/client_context.h"
#include "tls/context_settings.h"
#include "tls/explain.h"
#include "tls/openssl.h"
#include "tls/server_context.h"
#include "tls/sessions.h"
#include "tls/stream.h"

namespace hushgate::tls {
namespace {

constexpr int kHandshakeTakes = 8;  // of one turn

Stream& of(const SSL* ssl) { return *static_cast<Stream*>(SSL_get_app_data(ssl)); }

std::string os_text(int error) { return std::generic_category().message(error); }

}  // namespace

void Stream::attach(ssl_st* ssl) {
  HG_ASSERT(ssl != nullptr);
  ssl_.reset(ssl);
  SSL_set_app_data(ssl, this);
  scratch_.attach(ssl);
}

Stream::Pointer Stream::accept(Scratch& scratch, std::shared_ptr<const ServerContext> context,
                               io::StreamPtr inner) {
  Pointer stream(std::make_unique<Stream>(Passkey{}, scratch, std::move(inner)).release());
  stream->context_ = std::move(context);
  stream->attach(SSL_new(stream->context_->start()));
  SSL_set_accept_state(stream->ssl_.get());
  // What came with the connection has been told to nobody.
  scratch.loop_.ready(*stream);
  return stream;
}

Stream::Pointer Stream::connect(Scratch& scratch, Sessions& sessions, io::StreamPtr inner,
                                io::Runnable* owner, std::string_view only) {
  Pointer stream(std::make_unique<Stream>(Passkey{}, scratch, std::move(inner)).release());
  const ClientContext& context = sessions.context();
  stream->sessions_ = &sessions;
  stream->owner_ = owner;
  stream->flags_ = kConnecting;
  stream->attach(SSL_new(context.start()));
  SSL* const ssl = stream->ssl_.get();
  SSL_set_connect_state(ssl);
  if (context.sends_name()) SSL_set_tlsext_host_name(ssl, context.server_name().c_str());
  if (!only.empty()) {
    const std::string offered = alpn_wire({std::string(only)});
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(offered.data()),
                        static_cast<unsigned>(offered.size()));
  }
  if (const SessionPtr session = sessions.take()) SSL_set_session(ssl, session.get());
  if (!stream->inner_->connecting()) scratch.loop_.ready(*stream);
  return stream;
}

void Stream::run_handshake() {
  step_handshake();
  if (state_ != State::handshake) wake();
}

void Stream::step_handshake() {
  if (inner_->connecting()) return;
  if (is_client() && !has(kStarted)) {
    if (inner_->failed()) return inner_failed();
    flags_ |= kStarted;
    scratch_.feed({});
    advance_handshake();
  }
  flush_pending();
  for (int takes = 0; state_ == State::handshake && inner_->readable(); ++takes) {
    if (takes == kHandshakeTakes) return scratch_.loop_.ready_next_turn(*this);
    const io::Take take = inner_->take();
    if (take.kind == io::Take::Kind::nothing) return;
    if (take.kind == io::Take::Kind::fin) return fail_cut();
    if (take.kind == io::Take::Kind::failed) return inner_failed();
    note_first_bytes(take.lease.bytes());
    scratch_.feed(take.lease.bytes());
    advance_handshake();
    scratch_.feed({});
  }
}

void Stream::note_first_bytes(Bytes bytes) {
  const std::size_t size = std::min(bytes.size(), kFirstBytes - first_size_);
  std::ranges::copy(bytes.first(size), first_.begin() + first_size_);
  first_size_ = static_cast<std::uint8_t>(first_size_ + size);
}

void Stream::advance_handshake() {
  ERR_clear_error();
  const bool done = SSL_do_handshake(ssl_.get()) == 1;
  if (!done && !scratch_.starved_) return fail_protocol();
  if (!send_output() || !done) return;
  established();
}

void Stream::established() {
  ERR_clear_error();  // what was looked for and not found
  state_ = State::open;
  clear(kConnecting);
  if (has_room()) flags_ |= kWritable;
  Counts& counts = scratch_.counts_;
  if (is_client()) {
    ++(resumed() ? counts.connected_resumed : counts.connected_full);
    // A ticket of TLS 1.2 that was renewed in place of the old one: OpenSSL calls nobody.
    if (resumed() && SSL_version(ssl_.get()) != TLS1_3_VERSION) {
      sessions_->put(SessionPtr(SSL_get1_session(ssl_.get())));
    }
  } else {
    ++(resumed() ? counts.accepted_resumed : counts.accepted_full);
  }
  // The peer's first data may have come with its last message.
  if (!scratch_.input_.empty()) {
    if (const std::size_t size = decrypt(scratch_.input_); size > 0) hold(size);
  }
  settle_readable();
  if (inner_->readable()) scratch_.loop_.ready(look_);
}

// --- failing

const Failure& Stream::failure() const {
  static const Failure kNone;
  return failure_ ? *failure_ : kNone;
}

// The first one stays.
void Stream::note_failure(FailureKind kind, std::string message) {
  if (failure_) return;
  if (message.size() > Failure::kMaxMessageBytes) message.resize(Failure::kMaxMessageBytes);
  failure_ = std::make_unique<Failure>(kind, std::move(message));
}

void Stream::fail(FailureKind kind, int os_error, std::string message) {
  note_failure(kind, std::move(message));
  if (state_ == State::handshake) {
    if (is_client()) ++scratch_.counts_.connect_failed;
    if (!is_client() && first_size_ > 0) ++scratch_.counts_.accept_failed;
  }
  state_ = State::failed;
  clear(kConnecting);
  clear(kWritable);
  flags_ |= kFailed | kReadable;
  error_ = os_error;
  drop_pending();
}

// An alert goes out at once and with a FIN behind it: the reset that may follow could overtake it.
void Stream::fail_protocol() {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  const bool told = !scratch_.output().empty() && pending() == 0 && send_output();
  scratch_.clear_output();
  const bool first_record = state_ == State::handshake && first_size_ > 0;
  std::string message =
      explain_protocol({.error = error,
                        .alert = alert_ != kNoAlert ? std::optional(alert_) : std::nullopt,
                        .first = first_record ? Bytes(first_).first(first_size_) : Bytes{},
                        .peer = peer_noun(),
                        .peer_is_server = is_client()});
  fail(FailureKind::protocol, EPROTO, std::move(message));
  if (!told || has(kFinSent) || inner_->failed()) return;
  flags_ |= kFinSent;
  inner_->finish_writing();
}

void Stream::fail_offence() {
  const bool renegotiation = offence_ == Offence::renegotiation;
  ++(renegotiation ? scratch_.counts_.renegotiations_refused : scratch_.counts_.key_update_floods);
  scratch_.clear_output();
  fail(FailureKind::protocol, EPROTO,
       fmt::format("{} asked for {}", peer_noun(),
                   renegotiation ? "a renegotiation" : "key updates again and again"));
}

void Stream::fail_cut() {
  if (state_ != State::handshake) {
    return fail(FailureKind::cut, ECONNRESET,
                fmt::format("{} ended the connection without close_notify", peer_noun()));
  }
  fail(FailureKind::cut, ECONNRESET,
       fmt::format("{} closed the connection during the handshake{}", peer_noun(),
                   first_size_ == 0 ? ", without having said anything" : ""));
}

// What had been received may still be taken, once there was a connection.
void Stream::inner_failed() {
  const int error = inner_->error();
  const bool began = state_ != State::handshake || has(kStarted) || !is_client();
  std::string message = fmt::format(
      "{}{}", os_text(error), state_ == State::handshake && began ? " during the handshake" : "");
  const FailureKind kind = began ? FailureKind::cut : FailureKind::transport;
  if (state_ == State::handshake) return fail(kind, error, std::move(message));
  note_failure(kind, std::move(message));
  clear(kWritable);
  flags_ |= kFailed | kReadable;
  error_ = error;
  drop_pending();
}

// --- OpenSSL's callbacks

void Stream::note_offence(Offence offence) {
  offence_ = offence;
  scratch_.input_ = {};  // nothing more is read
}

void Stream::on_info(const ssl_st* ssl, int where, int value) {
  Stream& stream = of(ssl);
  const auto alert = static_cast<std::uint8_t>(value & 0xff);
  // In TLS 1.3 the level says nothing.
  const bool ends = (value >> 8) == SSL3_AL_FATAL || alert == SSL3_AD_CLOSE_NOTIFY ||
                    (SSL_version(ssl) == TLS1_3_VERSION && alert != TLS1_AD_USER_CANCELLED);
  if (where == SSL_CB_READ_ALERT && ends) stream.alert_ = alert;
  if (where == SSL_CB_WRITE_ALERT && alert == TLS1_AD_NO_RENEGOTIATION) {
    stream.note_offence(Offence::renegotiation);
  }
  if ((where & SSL_CB_LOOP) == 0) return;
  const OSSL_HANDSHAKE_STATE state = SSL_get_state(ssl);
  if (state != TLS_ST_SR_KEY_UPDATE && state != TLS_ST_CR_KEY_UPDATE) return;
  const std::uint64_t earned = stream.received_ / kBytesPerKeyUpdate;
  if (++stream.key_updates_ > kFreeKeyUpdates + earned) stream.note_offence(Offence::key_updates);
}

int Stream::on_verify(int good, x509_store_ctx_st* chain) {
  if (good == 1) return 1;
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Stream& stream = of(ssl);
  const ClientContext* const context = stream.is_client() ? &stream.sessions_->context() : nullptr;
  stream.note_failure(
      FailureKind::certificate,
      explain_verification(chain, context != nullptr ? context->server_name() : "",
                           context != nullptr ? context->trusted() : "the client CA file"));
  return 0;
}

int Stream::on_new_session(ssl_st* ssl, ssl_session_st* session) {
  Sessions* const sessions = of(ssl).sessions_;
  HG_ASSERT(sessions != nullptr);
  sessions->put(SessionPtr(session));
  return 1;
}

// --- what was agreed on

std::string_view Stream::alpn() const {
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  if (ssl_) SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
  return {reinterpret_cast<const char*>(protocol), size};
}

std::string_view Stream::server_name() const {
  const char* const name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
  return name != nullptr ? name : std::string_view{};
}

bool Stream::resumed() const { return SSL_session_reused(ssl_.get()) == 1; }

std::string_view Stream::version() const { return SSL_get_version(ssl_.get()); }

std::string_view Stream::cipher() const { return SSL_get_cipher_name(ssl_.get()); }

std::string Stream::peer_subject() const {
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  const bool verified = SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE &&
                        SSL_get_verify_result(ssl_.get()) == X509_V_OK;
  if (certificate == nullptr || !verified) return {};
  return one_line(X509_get_subject_name(certificate));
}

}  // namespace hushgate::tls
