// For tests: certificates, and both ends of a TLS connection in one simulated loop. Test files
// only.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/sim_fixture.h"
#include "io/sim_peer.h"
#include "tls/client_context.h"
#include "tls/self_signed.h"
#include "tls/server_context.h"
#include "tls/sessions.h"
#include "tls/stream.h"

namespace hushgate::tls {

inline std::chrono::sys_seconds wall_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

inline Pem made(CertificateRequest request) {
  if (request.not_after == std::chrono::sys_seconds{}) {
    request.not_before = wall_now() - std::chrono::hours(1);
    request.not_after = wall_now() + std::chrono::hours(24);
  }
  auto pem = make_certificate(request);
  if (!pem) {
    ADD_FAILURE() << pem.error();
    std::abort();
  }
  return *std::move(pem);
}

// Made once per process, as RSA keys take their time.
inline const Pem& test_authority() {
  static const Pem pem = made({.common_name = "Test Authority", .usage = Usage::authority});
  return pem;
}
inline const Pem& other_authority() {
  static const Pem pem = made({.common_name = "Other Authority", .usage = Usage::authority});
  return pem;
}
inline Pem leaf(const std::vector<std::string>& names, KeyType type = KeyType::ec_p256) {
  return made({.common_name = names.front(),
               .names = names,
               .key_type = type,
               .issuer = &test_authority()});
}
inline const Pem& usual_leaf() {
  static const Pem pem = leaf({"api.example.com"});
  return pem;
}

inline CertificateSource source_of(const Pem& pem, const std::string& name = "(test)") {
  return {.certificate_file = name,
          .key_file = name,
          .certificate_pem = pem.certificate,
          .key_pem = pem.key};
}

// Files that go with the test.
class Files {
 public:
  Files() {
    std::string pattern = testing::TempDir() + "tls-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, std::string_view text) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string missing(const std::string& name) { return (directory_ / name).string(); }

 private:
  std::filesystem::path directory_;
};

inline ServerContext::Pointer server_context(ServerOptions options = {}) {
  if (options.certificates.empty()) options.certificates.push_back(source_of(usual_leaf()));
  auto context = ServerContext::make(options);
  if (!context) {
    ADD_FAILURE() << context.error().front().wrong;
    std::abort();
  }
  return *context;
}

inline ClientContext::Pointer client_context(ClientOptions options = {}) {
  static Files files;
  static const std::string ca = files.write("ca.pem", test_authority().certificate);
  if (options.server_name.empty()) options.server_name = "api.example.com";
  if (options.ca_file.empty() && options.verify == Verify::yes) options.ca_file = ca;
  auto context = ClientContext::make(options);
  if (!context) {
    ADD_FAILURE() << context.error().front().wrong;
    std::abort();
  }
  return *context;
}

inline std::string bytes_of(std::size_t size, std::size_t offset = 0) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((offset + i) % 251);
  return text;
}

inline Result<std::size_t> write_text(io::Stream& stream, std::string_view text) {
  const Bytes piece = as_bytes(text);
  return stream.write({&piece, 1});
}

struct Taken {
  std::string bytes;
  io::Take::Kind end = io::Take::Kind::nothing;
  int os_error = 0;
};

inline Taken take_all(io::Stream& stream) {
  Taken taken;
  for (;;) {
    const io::Take take = stream.take();
    if (take.kind != io::Take::Kind::data) {
      taken.end = take.kind;
      taken.os_error = take.os_error;
      return taken;
    }
    taken.bytes += as_text(take.lease.bytes());
  }
}

struct Ends {
  Stream::Pointer client;
  Stream::Pointer server;
};

// A loop whose listener makes TLS streams of what it accepts.
class World : private io::AcceptHandler {
 public:
  explicit World(std::uint64_t seed = 1) : sim(seed) { listen(); }
  virtual ~World() {
    accepted_.clear();
    raw_.clear();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  io::SimLoop sim;
  Scratch scratch{sim.loop};
  ServerContext::Pointer server_side = server_context();
  io::Counted client_owner;
  io::Counted server_owner;
  bool plain = false;  // what is accepted stays without TLS: raw()

  SocketAddress address() const { return listener_->address(); }
  [[nodiscard]] bool turn_until(const std::function<bool()>& done, int turns = 3'000) {
    for (int i = 0; i < turns; ++i) {
      if (done()) return true;
      sim.loop.turn(sim.loop.now() + Ms(10));
    }
    return done();
  }
  void turn_for(Ms time) { sim.run_for(time); }

  io::StreamPtr connect_plain() {
    auto stream = sim.loop.backend().connect(address(), {}, nullptr);
    EXPECT_TRUE(stream.has_value());
    return std::move(*stream);
  }
  Stream::Pointer connect(Sessions& sessions) {
    return Stream::connect(scratch, sessions, connect_plain(), &client_owner);
  }
  Stream::Pointer accepted() {
    if (accepted_.empty()) return nullptr;
    Stream::Pointer first = std::move(accepted_.front());
    accepted_.erase(accepted_.begin());
    return first;
  }
  io::StreamPtr raw() {
    EXPECT_TRUE(turn_until([&] { return !raw_.empty(); }));
    io::StreamPtr first = std::move(raw_.front());
    raw_.erase(raw_.begin());
    return first;
  }
  // Both ends when their handshakes have ended, well or badly.
  Ends pair(Sessions& sessions) {
    Ends ends{.client = connect(sessions), .server = nullptr};
    EXPECT_TRUE(turn_until([&] {
      if (!ends.server) ends.server = accepted();
      return ends.server && !ends.client->handshaking() && !ends.server->handshaking();
    }));
    return ends;
  }
  Taken take_exactly(io::Stream& stream, std::size_t size) {
    Taken all;
    EXPECT_TRUE(turn_until([&] {
      Taken more = take_all(stream);
      all.bytes += more.bytes;
      all.end = more.end;
      all.os_error = more.os_error;
      return all.bytes.size() >= size || all.end != io::Take::Kind::nothing;
    }));
    return all;
  }

 private:
  void listen() {
    auto listener = sim.loop.backend().listen(IpPort{IpAddress::v4(10, 9, 9, 9)}, {.backlog = 64},
                                              static_cast<io::AcceptHandler&>(*this));
    listener_ = std::move(*listener);
  }
  void accepted(io::StreamPtr stream) override {
    if (plain) return raw_.push_back(std::move(stream));
    accepted_.push_back(Stream::accept(scratch, server_side, std::move(stream)));
    accepted_.back()->set_owner(&server_owner);
  }
  bool out_of_descriptors() override { return false; }

  std::unique_ptr<io::Listener> listener_;
  std::vector<Stream::Pointer> accepted_;
  std::vector<io::StreamPtr> raw_;
};

inline ContextPtr plain_context(const SSL_METHOD* method) {
  return ContextPtr(SSL_CTX_new(method));
}

// For a server of OpenSSL's own.
inline void use(SSL_CTX* context, const Pem& pem) {
  const auto loaded = load_certificate(source_of(pem));
  ASSERT_EQ(SSL_CTX_use_cert_and_key(context, loaded->certificate.get(), loaded->key.get(),
                                     loaded->chain.get(), 1),
            1);
}

// OpenSSL by itself at the other end, to do what a tls::Stream never would. It works in the
// network's own steps, and reads all that comes.
class Witness {
 public:
  // A client of `world`, or a server when `socket` was accepted there.
  Witness(io::SimNetwork& network, const SocketAddress& to, SSL_CTX* context)
      : peer_(
            std::make_unique<io::SimPeer>(network, network.host(IpAddress::v4(10, 0, 0, 7)), to)) {
    begin(context);
    SSL_set_connect_state(ssl());
  }
  Witness(std::unique_ptr<io::SimPeer> peer, SSL_CTX* context) : peer_(std::move(peer)) {
    begin(context);
    SSL_set_accept_state(ssl());
  }

  SSL* ssl() { return ssl_.get(); }
  io::SimPeer& peer() { return *peer_; }
  bool done() { return SSL_is_init_finished(ssl()) == 1; }
  // Bytes of the network in, the handshake and reading as far as they go, bytes out.
  void pump() {
    const std::string came = peer_->receive(1U << 20U);
    if (!came.empty()) BIO_write(in_, came.data(), static_cast<int>(came.size()));
    if (peer_->open()) drive();
    flush();
  }
  void send(std::string_view text) {
    SSL_write(ssl(), text.data(), static_cast<int>(text.size()));
    flush();
  }
  void flush() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out_, &bytes);
    if (size > 0) unsent_.append(bytes, static_cast<std::size_t>(size));
    (void)BIO_reset(out_);
    unsent_.erase(0, peer_->send(unsent_));
  }
  std::string received;
  int error = 0;  // SSL_get_error's last, other than wanting more
  bool drives = true;

 private:
  void begin(SSL_CTX* context) {
    ssl_.reset(SSL_new(context));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(ssl(), in_, out_);
    peer_->on_change = [this] { pump(); };
  }
  void drive() {
    if (!drives) return;
    int result = 1;
    if (!done()) result = SSL_do_handshake(ssl());
    char buffer[4096];
    while (result > 0) {
      result = SSL_read(ssl(), buffer, sizeof buffer);
      if (result > 0) received.append(buffer, static_cast<std::size_t>(result));
    }
    const int what = SSL_get_error(ssl(), result);
    if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE) error = what;
  }

  std::unique_ptr<io::SimPeer> peer_;
  Owned<SSL, SSL_free> ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  std::string unsent_;
};

}  // namespace hushgate::tls
