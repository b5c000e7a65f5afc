// What is asked of the heap by an exchange once everything is warm: nothing. The gateway runs on
// the real backends, in this thread, between a client and an upstream on loopback sockets of the
// test's.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "config/load.h"
#include "io/epoll.h"
#include "io/sockets.h"
#include "io/uring.h"
#include "proxy/gateway.h"

namespace {

// Only what is asked for while the loop turns counts, and the loop turns in one thread.
bool counting = false;
std::size_t allocations = 0;

void* counted(std::size_t bytes) {
  if (counting) ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace hushgate {
namespace {

class Unread final : public LogSink {
 public:
  void write(std::string_view lines) override { bytes += lines.size(); }
  std::uint64_t dropped() const override { return 0; }
  std::size_t bytes = 0;
};

class NoNames final : public upstream::NameSource {
 public:
  void query(io::Loop&, const std::string&, std::function<void(upstream::NameAnswer)>) override {
    std::abort();  // the upstream is an address
  }
};

class NoReserve final : public proxy::Reserve {
 public:
  bool release() override { return false; }
  bool refill() override { return true; }
};

bool readable(const io::Descriptor& fd) {
  pollfd look{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) > 0;
}

// Nothing of it allocates but its making.
class Peer {
 public:
  explicit Peer(io::Descriptor fd) : fd_(std::move(fd)) {}
  bool has_bytes() const { return readable(fd_); }
  void say(std::string_view text) const {
    ASSERT_EQ(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // What has come, at most one buffer of it.
  std::string_view hear() {
    const ssize_t got = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    return {buffer_.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

 private:
  io::Descriptor fd_;
  std::array<char, 16'384> buffer_;
};

enum class Kind { epoll, uring };

Result<std::unique_ptr<io::Backend>> make_backend(Kind kind) {
  return kind == Kind::epoll ? io::make_epoll_backend() : io::make_uring_backend();
}

class Allocations : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    auto backend = make_backend(GetParam());
    if (!backend) GTEST_SKIP() << "io_uring cannot be used here";
    open(std::move(*backend));
  }

  void open(std::unique_ptr<io::Backend> backend) {
    upstream_ = io::open_listener(loopback(), {.backlog = 16});
    ASSERT_TRUE(upstream_.has_value());
    const std::string text = R"({"listen": "127.0.0.1:0", "upstreams": {"u": "http://)" +
                             io::local_address(upstream_->get()).to_string() + "\"}}";
    auto loaded = config::load({.file = config::File{"test.json", text}});
    ASSERT_TRUE(loaded.has_value());
    setup_ = std::make_shared<const proxy::Setup>(std::move(loaded->config), "hushgate-test");
    shared_.max_clients = 100;
    loop_ = std::make_unique<io::Loop>(std::move(backend));
    log_ = std::make_unique<LogBuffer>(sink_, LogFormat::json, wall_offset_now());
    gateway_ = std::make_unique<proxy::Gateway>(proxy::Gateway::Parts{.loop = *loop_,
                                                                      .log = *log_,
                                                                      .names = names_,
                                                                      .setup = setup_,
                                                                      .shared = shared_,
                                                                      .reserve = reserve_,
                                                                      .seed = 1});
    const auto address = gateway_->listen(loopback(), std::size_t{0});
    ASSERT_TRUE(address.has_value());
    auto fd = io::open_connection(*address, {});
    ASSERT_TRUE(fd.has_value());
    ASSERT_TRUE(io::start_connect(fd->get(), *address).has_value());
    client_ = std::make_unique<Peer>(std::move(*fd));
  }

  void TearDown() override {
    if (!gateway_) return;
    bool stopped = false;
    client_.reset();
    server_.reset();
    gateway_->stop([&] { stopped = true; });
    gateway_->cut();
    turn_until([&] { return stopped; });
    gateway_.reset();
  }

  template <typename Condition>
  void turn_until(Condition condition) {
    constexpr int kMost = 2'000;
    bool met = condition();
    for (int turns = 0; turns < kMost && !met; ++turns) {
      counting = true;
      loop_->turn(Clock::now() + Ms{5});
      counting = false;
      log_->flush();
      met = condition();
    }
    ASSERT_TRUE(met);
  }

  void accept_upstream() {
    turn_until([&] { return readable(*upstream_); });
    server_ = std::make_unique<Peer>(io::Descriptor(::accept(upstream_->get(), nullptr, nullptr)));
  }

  // Until the upstream has been asked, and has heard what ends with `end`.
  void ask(std::string_view request, std::string_view end) {
    client_->say(request);
    if (!server_) accept_upstream();
    std::string_view heard;
    turn_until([&] { return (heard = server_->hear()).ends_with(end); });
  }

  void answer(std::string_view response, std::string_view end) {
    server_->say(response);
    turn_until([&] { return client_->hear().ends_with(end); });
  }

  // How much was asked for by `times` of `work`, after enough of it to have warmed up.
  template <typename Work>
  std::size_t counted(int times, Work work) {
    constexpr int kWarm = 50;
    for (int i = 0; i < kWarm && !HasFatalFailure(); ++i) work();
    allocations = 0;
    for (int i = 0; i < times && !HasFatalFailure(); ++i) work();
    return allocations;
  }

  static SocketAddress loopback() { return IpPort{IpAddress::v4(127, 0, 0, 1), 0}; }

  Unread sink_;
  NoNames names_;
  NoReserve reserve_;
  proxy::Shared shared_;
  proxy::SetupPtr setup_;
  Result<io::Descriptor> upstream_{io::Descriptor()};
  std::unique_ptr<io::Loop> loop_;
  std::unique_ptr<LogBuffer> log_;
  std::unique_ptr<proxy::Gateway> gateway_;
  std::unique_ptr<Peer> client_;
  std::unique_ptr<Peer> server_;
};

TEST_P(Allocations, AKeptAliveGetAsksForNothing) {
  EXPECT_EQ(counted(200,
                    [&] {
                      ask("GET /a HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n", "\r\n\r\n");
                      answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello");
                    }),
            0U);
  EXPECT_GT(sink_.bytes, 200U * 100U);  // each was a line of the log
}

TEST_P(Allocations, AnEventOfAStreamAsksForNothing) {
  ask("GET /events HTTP/1.1\r\nHost: h\r\n\r\n", "\r\n\r\n");
  answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: a\n\r\n", "\r\n");
  EXPECT_EQ(counted(200, [&] { answer("8\r\ndata: b\n\r\n", "data: b\n\r\n"); }), 0U);
}

TEST_P(Allocations, APostOnAConnectionOfItsOwnAsksForNothing) {
  EXPECT_EQ(counted(200,
                    [&] {
                      ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody", "body");
                      answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello");
                      server_.reset();
                    }),
            0U);
}

INSTANTIATE_TEST_SUITE_P(OnEachBackend, Allocations, ::testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& info) {
                           return info.param == Kind::epoll ? "epoll" : "uring";
                         });

}  // namespace
}  // namespace hushgate
