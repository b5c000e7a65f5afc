// Peers on plain non-blocking sockets over loopback, driven by the same thread between the turns.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "io/contract_bench.h"
#include "io/epoll.h"
#include "io/sockets.h"
#include "io/uring.h"

namespace hushgate::io {
namespace {

constexpr int kSmallWindowBytes = 4096;
constexpr rlim_t kDescriptors = 1'000;

class RealPeer final : public Peer {
 public:
  explicit RealPeer(Descriptor fd) : fd_(std::move(fd)) {
    ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
    const int one = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  std::size_t send(std::string_view bytes) override {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  PeerRead receive(std::size_t limit) override {
    PeerRead read;
    read.bytes.resize(limit);
    const ssize_t got = ::recv(fd_.get(), read.bytes.data(), limit, 0);
    read.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (got == 0 && limit > 0) read.end = PeerEnd::fin;
    if (got < 0 && errno != EAGAIN) read.end = PeerEnd::reset;
    return read;
  }
  void finish() override { ::shutdown(fd_.get(), SHUT_WR); }
  void close() override { fd_.close(); }
  void reset() override {
    reset_on_close(fd_.get());
    fd_.close();
  }

 private:
  Descriptor fd_;
};

void set_window(int fd, Window window) {
  if (window == Window::usual) return;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSmallWindowBytes, sizeof kSmallWindowBytes);
}

class RealPeerListener final : public PeerListener {
 public:
  explicit RealPeerListener(Descriptor fd) : fd_(std::move(fd)) {}
  ~RealPeerListener() override {
    if (const SocketAddress own = address(); own.unix_path() != nullptr) {
      ::unlink(own.unix_path()->c_str());
    }
  }
  SocketAddress address() const override { return local_address(fd_.get()); }
  std::unique_ptr<Peer> accept() override {
    Descriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return nullptr;
    return std::make_unique<RealPeer>(std::move(fd));
  }

 private:
  Descriptor fd_;
};

class RealBench : public Bench {
 public:
  RealBench() {
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    rlimit few = usual_;
    few.rlim_cur = kDescriptors;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~RealBench() override { ::setrlimit(RLIMIT_NOFILE, &usual_); }

  std::unique_ptr<Peer> connect(const SocketAddress& to, Window window) override {
    Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    set_window(fd.get(), window);
    sockaddr_storage storage;
    const socklen_t length = to_sockaddr(to, storage);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    return std::make_unique<RealPeer>(std::move(fd));
  }
  std::unique_ptr<PeerListener> listen(Window window) override {
    auto fd = open_listener(IpPort{IpAddress::v4(127, 0, 0, 1)}, {.backlog = 64});
    EXPECT_TRUE(fd.has_value());
    set_window(fd->get(), window);
    return std::make_unique<RealPeerListener>(std::move(*fd));
  }
  std::unique_ptr<PeerListener> listen_unix() override {
    const std::string path = testing::TempDir() + "hushgate_io_" + std::to_string(::getpid());
    ::unlink(path.c_str());
    auto fd = open_listener(SocketAddress::unix_socket(path), {.backlog = 64});
    EXPECT_TRUE(fd.has_value());
    return std::make_unique<RealPeerListener>(std::move(*fd));
  }
  void deliver() override {}  // loopback delivers within the call that sends

  // Takes them: a submitted accept of io_uring has read the limit before.
  void exhaust_descriptors() override {
    for (;;) {
      Descriptor taken(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!taken.valid()) return;
      hoard_.push_back(std::move(taken));
    }
  }
  void restore_descriptors() override { hoard_.clear(); }
  SocketAddress refused_address() override {
    const auto listener = listen(Window::usual);
    return listener->address();  // nobody listens there any more
  }
  // Not one of this host's addresses: the same errno as ports that have run out, and as early.
  // (Running them out for real takes a network namespace.)
  ConnectOptions exhausted_source() override { return {.source = IpAddress::v4(192, 0, 2, 1)}; }

 private:
  rlimit usual_{};
  std::vector<Descriptor> hoard_;
};

class EpollBench final : public RealBench {
 public:
  std::unique_ptr<Backend> make_backend() override {
    auto backend = make_epoll_backend({.lease_bytes = 16'384});
    EXPECT_TRUE(backend.has_value());
    return std::move(*backend);
  }
};

class UringBench final : public RealBench {
 public:
  explicit UringBench(const UringFeatures& features) : features_(features) {}
  std::string unavailable() override { return uring_unavailable(); }
  std::unique_ptr<Backend> make_backend() override {
    auto backend = make_uring_backend({.features = features_});
    EXPECT_TRUE(backend.has_value());
    return std::move(*backend);
  }

 private:
  UringFeatures features_;
};

constexpr UringFeatures kOldFeatures{.no_sq_array = false,
                                     .registered_ring = false,
                                     .incremental_buffers = false,
                                     .receive_limit = false,
                                     .no_iowait = false};

}  // namespace

std::unique_ptr<Bench> make_epoll_bench() { return std::make_unique<EpollBench>(); }
std::unique_ptr<Bench> make_uring_bench() { return std::make_unique<UringBench>(UringFeatures{}); }
std::unique_ptr<Bench> make_old_uring_bench() { return std::make_unique<UringBench>(kOldFeatures); }

}  // namespace hushgate::io
