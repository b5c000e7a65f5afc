// The io contract over TLS: both ends of every connection of the suite speak it, on each backend.
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "io/contract_bench.h"
#include "tls/testing.h"

namespace hushgate::io {
namespace {

using tls::Scratch;
using tls::Sessions;

// A peer of the bench below, with OpenSSL of its own. It reads only when it is told to, once the
// handshake is over.
class TlsPeer final : public Peer {
 public:
  TlsPeer(std::unique_ptr<Peer> below, SSL_CTX* context, std::vector<TlsPeer*>& all)
      : below_(std::move(below)), ssl_(SSL_new(context)), all_(all) {
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(ssl_.get(), in_, out_);
    all_.push_back(this);
  }
  ~TlsPeer() override { std::erase(all_, this); }

  SSL* ssl() { return ssl_.get(); }
  void pump() {
    if (below_ == nullptr) return;
    if (SSL_is_init_finished(ssl()) != 1) {
      receive_below();
      SSL_do_handshake(ssl());
      ERR_clear_error();
    }
    if (SSL_is_init_finished(ssl()) == 1 && !early_.empty()) {
      SSL_write(ssl(), early_.data(), static_cast<int>(early_.size()));
      early_.clear();
    }
    flush();
  }

  std::size_t send(std::string_view bytes) override {
    if (SSL_is_init_finished(ssl()) != 1) {
      early_ += bytes;
      return bytes.size();
    }
    std::size_t sent = 0;
    while (sent < bytes.size() && flush()) {
      const std::string_view part = bytes.substr(sent, tls::kRecordBytes);
      const int wrote = SSL_write(ssl(), part.data(), static_cast<int>(part.size()));
      if (wrote <= 0) break;
      sent += static_cast<std::size_t>(wrote);
    }
    flush();
    return sent;
  }
  PeerRead receive(std::size_t limit) override {
    PeerRead read;
    read.bytes.resize(limit);
    const int got = SSL_read(ssl(), read.bytes.data(), static_cast<int>(limit));
    read.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ERR_clear_error();
    if (got > 0) return read;
    if ((SSL_get_shutdown(ssl()) & SSL_RECEIVED_SHUTDOWN) != 0) {
      read.end = PeerEnd::fin;
      return read;
    }
    const PeerEnd end = receive_below();
    if (came_) return receive(limit);
    // A FIN without close_notify is as bad as a reset.
    read.end = end == PeerEnd::none ? PeerEnd::none : PeerEnd::reset;
    return read;
  }
  void finish() override {
    SSL_shutdown(ssl());
    finishing_ = true;
    flush();
  }
  void close() override {
    SSL_shutdown(ssl());
    flush();
    below_->close();
    below_.reset();
  }
  void reset() override {
    below_->reset();
    below_.reset();
  }

 private:
  PeerEnd receive_below() {
    PeerRead read = below_->receive(20'000);
    came_ = !read.bytes.empty();
    if (came_) BIO_write(in_, read.bytes.data(), static_cast<int>(read.bytes.size()));
    return read.end;
  }
  // Whether nothing waits any more.
  bool flush() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out_, &bytes);
    if (size > 0) unsent_.append(bytes, static_cast<std::size_t>(size));
    (void)BIO_reset(out_);
    if (!unsent_.empty()) unsent_.erase(0, below_->send(unsent_));
    if (unsent_.empty() && std::exchange(finishing_, false)) below_->finish();
    return unsent_.empty();
  }

  std::unique_ptr<Peer> below_;
  tls::Owned<SSL, SSL_free> ssl_;
  std::vector<TlsPeer*>& all_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  std::string early_;  // sent before the handshake was over
  std::string unsent_;
  bool finishing_ = false;
  bool came_ = false;
};

// Hands on what is accepted when its handshake is over.
class TlsListener final : public Listener, public AcceptHandler {
 public:
  using Wrap = std::function<tls::Stream::Pointer(StreamPtr)>;
  TlsListener(AcceptHandler& handler, Wrap wrap) : handler_(handler), wrap_(std::move(wrap)) {}

  std::unique_ptr<Listener> below;

  void accepted(StreamPtr stream) override {
    auto& waiting = waiting_.emplace_back(std::make_unique<Waiting>());
    waiting->stream = wrap_(std::move(stream));
    waiting->stream->set_owner(&waiting->owner);
    waiting->owner.body = [this, &at = *waiting] {
      if (at.stream->handshaking()) return;
      at.stream->set_owner(nullptr);
      handler_.accepted(std::move(at.stream));
    };
  }
  bool out_of_descriptors() override { return handler_.out_of_descriptors(); }
  void pause() override { below->pause(); }
  void resume() override { below->resume(); }
  void drain_and_close() override { below->drain_and_close(); }
  SocketAddress address() const override { return below->address(); }

 private:
  struct Waiting {
    tls::Stream::Pointer stream;
    Owner owner;
  };
  AcceptHandler& handler_;
  Wrap wrap_;
  std::vector<std::unique_ptr<Waiting>> waiting_;
};

class TlsBackend final : public Backend {
 public:
  struct Shared {
    tls::ServerContext::Pointer server = tls::server_context();
    Sessions sessions{tls::client_context()};
    std::vector<TlsPeer*> peers;
    std::optional<Scratch> scratch;
  };
  TlsBackend(std::unique_ptr<Backend> below, Shared& shared)
      : below_(std::move(below)), shared_(shared) {}

  Time now() override { return below_->now(); }
  void collect(Time until, ReadyList& ready) override {
    for (TlsPeer* peer : shared_.peers) peer->pump();
    below_->collect(until, ready);
  }
  void wake() override { below_->wake(); }
  void reap() override { below_->reap(); }
  void leave() override { below_->leave(); }
  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address,
                                           const ListenOptions& options,
                                           AcceptHandler& handler) override {
    auto listener = std::make_unique<TlsListener>(handler, [this](StreamPtr stream) {
      return tls::Stream::accept(*shared_.scratch, shared_.server, std::move(stream));
    });
    auto below = below_->listen(address, options, *listener);
    if (!below) return std::unexpected(below.error());
    listener->below = std::move(*below);
    return listener;
  }
  Result<StreamPtr> connect(const SocketAddress& address, const ConnectOptions& options,
                            Runnable* owner) override {
    auto below = below_->connect(address, options, nullptr);
    if (!below) return below;
    return tls::Stream::connect(*shared_.scratch, shared_.sessions, std::move(*below), owner);
  }
  const char* name() const override { return "tls"; }

 private:
  std::unique_ptr<Backend> below_;
  Shared& shared_;
};

class TlsPeerListener final : public PeerListener {
 public:
  TlsPeerListener(std::unique_ptr<PeerListener> below, SSL_CTX* context, std::vector<TlsPeer*>& all)
      : below_(std::move(below)), context_(context), all_(all) {}
  SocketAddress address() const override { return below_->address(); }
  std::unique_ptr<Peer> accept() override {
    auto below = below_->accept();
    if (!below) return nullptr;
    auto peer = std::make_unique<TlsPeer>(std::move(below), context_, all_);
    SSL_set_accept_state(peer->ssl());
    return peer;
  }

 private:
  std::unique_ptr<PeerListener> below_;
  SSL_CTX* context_;
  std::vector<TlsPeer*>& all_;
};

// Of what is sent in one go, parts may arrive alone.
enum class Splits : std::uint8_t { no, yes };

class TlsBench final : public Bench {
 public:
  TlsBench(std::unique_ptr<Bench> below, Splits splits)
      : below_(std::move(below)), splits_(splits) {
    tls::use(peer_server_.get(), tls::usual_leaf());
    SSL_CTX_set_num_tickets(peer_server_.get(), 0);  // events are counted
  }

  // Where TLS differs, as tls/stream.h says; stream_test.cc has these cases as it means them.
  std::string unavailable() override {
    static constexpr std::array<std::string_view, 2> kResets{
        "AResetBehindAFinIsSeen", "WritingToAPeerThatClosedEndsInFailure"};
    static constexpr std::array<std::string_view, 5> kWakes{
        "BytesWakeTheOwnerAndComeInOrder", "EveryBurstAfterADrainWakesAgain",
        "AFinIsSeenBehindManyReceivesThatNobodyTook",
        "AResetIsSeenBehindManyReceivesThatNobodyTook", "AFinAloneWakesTheOwnerOnce"};
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string_view test = std::string_view(name).substr(0, name.find('/'));
    if (std::ranges::find(kResets, test) != kResets.end()) {
      return "behind close_notify a reset is no news";
    }
    if (splits_ == Splits::yes && std::ranges::find(kWakes, test) != kWakes.end()) {
      return "a part of a record wakes its owner and gives nothing";
    }
    return below_->unavailable();
  }
  std::unique_ptr<Backend> make_backend() override {
    return std::make_unique<TlsBackend>(below_->make_backend(), shared_);
  }
  void enter(Loop& loop) override { shared_.scratch.emplace(loop); }
  void leave() override { shared_.scratch.reset(); }
  std::unique_ptr<Peer> connect(const SocketAddress& to, Window window) override {
    auto peer =
        std::make_unique<TlsPeer>(below_->connect(to, window), peer_client_.get(), shared_.peers);
    SSL_set_connect_state(peer->ssl());
    peer->pump();
    return peer;
  }
  std::unique_ptr<PeerListener> listen(Window window) override {
    return std::make_unique<TlsPeerListener>(below_->listen(window), peer_server_.get(),
                                             shared_.peers);
  }
  std::unique_ptr<PeerListener> listen_unix() override {
    return std::make_unique<TlsPeerListener>(below_->listen_unix(), peer_server_.get(),
                                             shared_.peers);
  }
  void deliver() override { below_->deliver(); }
  void exhaust_descriptors() override { below_->exhaust_descriptors(); }
  void restore_descriptors() override { below_->restore_descriptors(); }
  SocketAddress refused_address() override { return below_->refused_address(); }
  std::optional<SocketAddress> black_hole() override { return below_->black_hole(); }
  ConnectOptions exhausted_source() override { return below_->exhausted_source(); }

 private:
  std::unique_ptr<Bench> below_;
  Splits splits_;
  tls::ContextPtr peer_server_ = tls::plain_context(TLS_server_method());
  tls::ContextPtr peer_client_ = tls::plain_context(TLS_client_method());
  TlsBackend::Shared shared_;
};

}  // namespace

std::vector<const char*> contract_backends() { return {"epoll", "uring", "sim1", "sim2"}; }

std::unique_ptr<Bench> make_bench(std::string_view name) {
  if (name.starts_with("sim")) {
    return std::make_unique<TlsBench>(make_sim_bench(seed_in(name)), Splits::yes);
  }
  auto below = name == "epoll" ? make_epoll_bench() : make_uring_bench();
  return std::make_unique<TlsBench>(std::move(below), Splits::no);
}

}  // namespace hushgate::io
