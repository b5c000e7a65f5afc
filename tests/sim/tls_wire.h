// TLS over a scripted peer's socket: OpenSSL by itself, which does what it is told to. It works in
// the network's own steps.
#pragma once

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/sim/wire.h"
#include "tls/openssl.h"

namespace hushgate::sim {

class TlsWire final : public Wire {
 public:
  enum class Role : std::uint8_t { client, server };

  // `context`: of that role. `session`: what a client resumes; null: nothing.
  TlsWire(std::unique_ptr<io::SimPeer> peer, SSL_CTX* context, Role role,
          SSL_SESSION* session = nullptr)
      : peer_(std::move(peer)),
        ssl_(SSL_new(context)),
        in_(BIO_new(BIO_s_mem())),
        out_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(ssl(), in_, out_);
    SSL_set_app_data(ssl(), this);
    SSL_set_info_callback(ssl(), note_alert);
    if (session != nullptr) SSL_set_session(ssl(), session);
    if (role == Role::client) {
      SSL_set_connect_state(ssl());
    } else {
      SSL_set_accept_state(ssl());
    }
    peer_->on_change = [this] { below_changed(); };
  }

  SSL* ssl() { return ssl_.get(); }
  io::SimPeer& below() { return *peer_; }
  // How the handshake has gone on; of a server, before it begins: see hold().
  bool established() const { return established_; }
  bool resumed() { return SSL_session_reused(ssl()) == 1; }
  bool notified() { return (SSL_get_shutdown(ssl()) & SSL_RECEIVED_SHUTDOWN) != 0; }
  // Of the other end, by the name that stands in its certificate; empty: it has shown none.
  std::string peer_name() {
    const X509* const certificate = SSL_get0_peer_certificate(ssl());
    std::array<char, 256> name{};
    if (certificate == nullptr) return {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                              static_cast<int>(name.size()));
    return name.data();
  }
  // Why TLS has failed at this end; empty: it has not. The alert that came, or 0.
  const std::string& broken() const { return broken_; }
  int alert() const { return alert_; }

  // Nothing of the handshake is read until let_go().
  void hold() { held_ = true; }
  void let_go() {
    held_ = false;
    below_changed();
  }
  void notify() {
    if (established_ && broken_.empty()) SSL_shutdown(ssl());
    ERR_clear_error();
    flush();
  }
  // Without close_notify.
  void finish_below() { peer_->finish(); }
  void close_below() { peer_->close(); }
  // These bytes as they are.
  void send_below(std::string_view bytes) { peer_->send(bytes); }
  void send_tickets() {
    SSL_new_session_ticket(ssl());
    SSL_do_handshake(ssl());
    flush();
  }

  bool open() override { return established_ && peer_->open(); }
  bool failed() override { return peer_->failed(); }
  bool peer_finished() override { return peer_->peer_finished(); }
  // In records of at most record_bytes.
  std::size_t send(std::string_view bytes) override {
    const bool full = !unsent_.empty() || BIO_pending(out_) >= static_cast<int>(kMostAtOnce);
    if (full || !open() || !broken_.empty()) return 0;
    const std::size_t size = std::min(bytes.size(), kMostAtOnce);
    for (std::size_t at = 0; at < size; at += record_bytes) {
      const std::string_view record = bytes.substr(at, std::min(record_bytes, size - at));
      SSL_write(ssl(), record.data(), static_cast<int>(record.size()));
    }
    if (!within_) flush();
    return size;
  }
  std::string receive(std::size_t limit) override {
    std::string plain;
    if (!established_ || !broken_.empty()) return plain;
    std::array<char, 16'384> room;
    while (plain.size() < limit) {
      ERR_clear_error();
      const std::size_t most = std::min(limit - plain.size(), room.size());
      const int size = SSL_read(ssl(), room.data(), static_cast<int>(most));
      if (size > 0) {
        plain.append(room.data(), static_cast<std::size_t>(size));
      } else if (SSL_get_error(ssl(), size) != SSL_ERROR_WANT_READ) {
        if (SSL_get_error(ssl(), size) != SSL_ERROR_ZERO_RETURN) note_failure();
        break;
      } else if (!feed()) {
        break;
      }
    }
    if (!within_) flush();  // what OpenSSL answers
    return plain;
  }
  void finish() override {
    notify();
    peer_->finish();
  }
  void close() override {
    notify();
    peer_->close();
  }
  void reset() override { peer_->reset(); }

  std::size_t record_bytes = 16'384;

 private:
  static constexpr std::size_t kMostAtOnce = 65'536;
  static constexpr std::size_t kFeedBytes = 4'096;

  static void note_alert(const SSL* ssl, int where, int value) {
    auto& wire = *static_cast<TlsWire*>(SSL_get_app_data(ssl));
    if (where == SSL_CB_READ_ALERT) wire.alert_ = value & 0xff;
  }

  void below_changed() {
    within_ = true;
    flush();
    step_handshake();
    if (on_change) on_change();
    within_ = false;
    flush();
  }
  void step_handshake() {
    while (!held_ && !established_ && broken_.empty() && peer_->open()) {
      ERR_clear_error();
      const int result = SSL_do_handshake(ssl());
      if (result == 1) {
        established_ = true;
      } else if (SSL_get_error(ssl(), result) != SSL_ERROR_WANT_READ) {
        note_failure();
      } else if (!feed()) {
        return;
      }
    }
  }
  bool feed() {
    const std::string bytes = peer_->receive(kFeedBytes);
    if (!bytes.empty()) BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    return !bytes.empty();
  }
  void flush() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out_, &bytes);
    if (size > 0) unsent_.append(bytes, static_cast<std::size_t>(size));
    static_cast<void>(BIO_reset(out_));
    if (!unsent_.empty() && peer_->open()) unsent_.erase(0, peer_->send(unsent_));
  }
  void note_failure() {
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    broken_ = reason != nullptr ? reason : "ended";
    ERR_clear_error();
  }

  std::unique_ptr<io::SimPeer> peer_;
  tls::Owned<SSL, SSL_free> ssl_;
  BIO* in_;   // the SSL's
  BIO* out_;  // the SSL's
  std::string unsent_;
  bool established_ = false;
  bool held_ = false;
  bool within_ =
      false;  // below_changed(): it flushes at its end, so that what is said goes at once
  std::string broken_;
  int alert_ = 0;
};

}  // namespace hushgate::sim
