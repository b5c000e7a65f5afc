// The demo's upstreams on a real loop, with plain blocking sockets as their clients.
#include "app/demo_upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "app/demo_bytes.h"
#include "app/demo_digest.h"
#include "io/sockets.h"

namespace hushgate::app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kPatienceSeconds = 20;  // what a loaded machine can excuse
constexpr DemoTiming kAtOnce{.think = Ms{0}, .token_gap = Ms{0}};

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_storage storage;
    const auto length = to_sockaddr(IpPort{IpAddress::v4(127, 0, 0, 1), port}, storage);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Everything up to and with `marker`; less if the connection ends before.
  std::string read_to(std::string_view marker) {
    std::size_t at;
    while ((at = input_.find(marker)) == std::string::npos) {
      if (!more()) return std::exchange(input_, {});
    }
    std::string text = input_.substr(0, at + marker.size());
    input_.erase(0, text.size());
    return text;
  }
  // So many bytes; less if the connection ends before.
  std::string read(std::size_t count) {
    while (input_.size() < count && more()) {
    }
    std::string text = input_.substr(0, count);
    input_.erase(0, text.size());
    return text;
  }
  // Everything up to the end; "(reset)" or "(silence)" behind it if that is no FIN.
  std::string read_to_end() {
    while (more()) {
    }
    return std::exchange(input_, {}) + ending_;
  }
  void finish() { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() {
    io::reset_on_close(fd_.get());
    fd_.close();
  }

 private:
  bool more() {
    char buffer[16'384];
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got < 0) ending_ = errno == EAGAIN ? "(silence)" : "(reset)";
    if (got <= 0) return false;
    input_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  io::Descriptor fd_;
  std::string input_;
  std::string ending_;
};

std::unique_ptr<DemoThread> start(const DemoTiming& timing, DemoObserver observer = {}) {
  auto demo = DemoThread::start(timing, std::move(observer));
  EXPECT_TRUE(demo.has_value());
  return std::move(*demo);
}

// The first event that the upstream tells.
class FirstEvent {
 public:
  DemoObserver observer() {
    return [this](const DemoEvent& event) {
      if (!std::exchange(told_, true)) promise_.set_value(event);
    };
  }
  DemoEvent wait() {
    auto future = promise_.get_future();
    const auto ready = future.wait_for(std::chrono::seconds(kPatienceSeconds));
    EXPECT_EQ(ready, std::future_status::ready);
    return ready == std::future_status::ready ? future.get() : DemoEvent{};
  }

 private:
  std::promise<DemoEvent> promise_;
  bool told_ = false;  // the loop's
};

bool can_connect(std::uint16_t port) {
  const io::Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage;
  const auto length = to_sockaddr(IpPort{IpAddress::v4(127, 0, 0, 1), port}, storage);
  return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0;
}

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

std::string post(const std::string& path) {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
}

constexpr std::string_view kChatRequest =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 29\r\n\r\n"
    R"({"stream":true,"messages":[]})";

TEST(DemoUpstream, AConnectionIsKeptAndTellsForHowLong) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  for (int i = 1; i <= 3; ++i) {
    client.send("POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n7");
    const std::string reply = client.read_to("}\n");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 201 Created\r\nDate: "));
    EXPECT_THAT(reply, HasSubstr("\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n"));
    EXPECT_THAT(reply, EndsWith("{\"id\":" + std::to_string(i) + ",\"item\":7}\n"));
  }
}

TEST(DemoUpstream, PipelinedRequestsAreAnsweredInTheirOrder) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send(
      "POST /items HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n"
      "POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n2"
      "GET /items HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_to("}\n"), EndsWith("{\"id\":1,\"item\":1}\n"));
  EXPECT_THAT(client.read_to("}\n"), EndsWith("{\"id\":2,\"item\":2}\n"));
  const std::string last = client.read_to_end();
  EXPECT_THAT(last, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(last, EndsWith("[{\"id\":1,\"item\":1},{\"id\":2,\"item\":2}]\n"));
}

TEST(DemoUpstream, AnIdleConnectionIsClosedOrderlyAfterItsTimeout) {
  const auto demo = start({.idle_timeout = Ms{400}});
  Client fresh(demo->port());
  EXPECT_EQ(fresh.read_to_end(), "");
  Client kept(demo->port());
  kept.send("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(kept.read_to_end(), EndsWith("\"body\":\"\"}\n"));
}

TEST(DemoUpstream, SilenceIsNotIdleness) {
  const auto demo = start({.idle_timeout = Ms{400}});
  Client client(demo->port());
  client.send("GET /slow?seconds=0.9 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), EndsWith("silent for 0.9 s\n"));
}

TEST(DemoUpstream, AStreamIsChunkedAndComplete) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send(kChatRequest);
  const std::string reply = client.read_to("\r\n0\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Type: text/event-stream\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(reply, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(reply, EndsWith("data: [DONE]\n\n\r\n0\r\n\r\n"));
  client.send("GET /count HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_to("}\n"), EndsWith("{\"POST\":1,\"total\":1}\n"));
}

TEST(DemoUpstream, AnOldClientGetsAStreamThatEndsWithTheConnection) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send(
      "POST /v1/chat/completions HTTP/1.0\r\nContent-Length: 29\r\n\r\n"
      R"({"stream":true,"messages":[]})");
  const std::string reply = client.read_to_end();
  EXPECT_THAT(reply, Not(HasSubstr("chunked")));
  EXPECT_THAT(reply, EndsWith("\n\ndata: [DONE]\n\n"));
}

TEST(DemoUpstream, HeadGetsAHeadOnly) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string reply = client.read_to_end();
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Length: "));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST(DemoUpstream, AnAnswerWithoutContentHasNoLength) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send("POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n7");
  client.read_to("}\n");
  client.send("DELETE /items/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string reply = client.read_to_end();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(reply, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST(DemoUpstream, WhoAsksBeforeSendingABodyIsToldToGoOn) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_to("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_THAT(client.read_to("}\n"), EndsWith("\"body_bytes\":2,\"body\":\"hi\"}\n"));
}

TEST(DemoUpstream, ABodyOverTheBoundIsCountedToItsEnd) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  const std::size_t size = 3 * kMaxDemoBodyBytes;
  client.send("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
              "\r\n\r\n" + std::string(size, 'x'));
  EXPECT_THAT(client.read_to("}\n"), HasSubstr("\"body_bytes\":" + std::to_string(size) + ","));
}

TEST(DemoUpstream, WhatCannotBeUnderstoodIsRefusedAndEndsTheConnection) {
  const auto demo = start(kAtOnce);
  for (const auto& [request, status] : std::initializer_list<std::pair<std::string, int>>{
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"GET / HTTP/1.1\nHost: a\n\n", 400},
           {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
           {"GET /" + std::string(20'000, 'x'), 414},
           {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
           {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400}}) {
    Client client(demo->port());
    client.send(request);
    const std::string reply = client.read_to_end();
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 " + std::to_string(status) + ' '));
    EXPECT_THAT(reply, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_THAT(reply, EndsWith("}\n"));
  }
}

TEST(DemoUpstream, AResetEndsTheThinkingAtOnce) {
  FirstEvent first;
  const auto demo = start({.think = Ms{600'000}}, first.observer());
  Client client(demo->port());
  client.send(kChatRequest);
  Client watcher(demo->port());
  std::string events;
  while (!events.contains("serving")) {  // the request has arrived
    watcher.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    events = watcher.read_to("]\n");
    ASSERT_FALSE(events.empty());
  }
  client.reset();
  EXPECT_EQ(first.wait().outcome, DemoOutcome::cancelled);
  watcher.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(watcher.read_to("]\n"), HasSubstr(R"("outcome":"cancelled")"));
}

TEST(DemoUpstream, AConnectionThatEndsInsideABodyIsSeenAsCut) {
  FirstEvent first;
  const auto demo = start(kAtOnce, first.observer());
  Client client(demo->port());
  client.send("POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
  client.finish();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_EQ(first.wait().outcome, DemoOutcome::cut);
}

TEST(DemoUpstream, WhoFinishesWritingIsStillServed) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send("GET /slow?seconds=0.05 HTTP/1.1\r\nHost: a\r\n\r\n");
  client.finish();
  EXPECT_THAT(client.read_to_end(), EndsWith("silent for 0.05 s\n"));
}

TEST(DemoUpstream, StoppingEndsEveryConnectionWhereverItIs) {
  auto demo = start({.think = Ms{600'000}});
  Client fresh(demo->port());
  Client half(demo->port());
  half.send("GET / HTTP");
  Client thinking(demo->port());
  thinking.send(kChatRequest);
  Client kept(demo->port());
  kept.send("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  kept.read_to("}\n");
  demo.reset();
  for (Client* client : {&fresh, &half, &thinking, &kept}) {
    EXPECT_THAT(client->read_to_end(), Not(HasSubstr("(silence)")));
  }
}

TEST(DemoUpstream, TheClosingOnePromisesToKeepItsConnectionsAndClosesBehindAPost) {
  const auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::closing));
  client.send(post("/closing/echo"));
  const std::string reply = client.read_to_end();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nConnection: keep-alive\r\n"));
  EXPECT_THAT(reply, EndsWith("}\n"));
}

TEST(DemoUpstream, TheClosingOneReadsASecondRequestAndHangsUp) {
  const auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::closing));
  client.send(get("/closing/echo"));
  EXPECT_THAT(client.read_to("}\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.send(get("/closing/echo"));
  EXPECT_EQ(client.read_to_end(), "");
  Client watcher(demo->port());
  watcher.send(get("/count"));
  EXPECT_THAT(watcher.read_to("}\n"), EndsWith("{\"GET\":2,\"total\":2}\n")) << "both arrived";
}

TEST(DemoUpstream, TheMortalOneIsGoneForAsLongAsItWasToldAndComesBack) {
  const auto demo = start(kAtOnce);
  const std::uint16_t port = demo->port(DemoManner::mortal);
  Client other(port);
  other.send(get("/mortal/echo"));
  other.read_to("}\n");
  Client client(port);
  client.send(post("/mortal/die?for=0.5"));
  EXPECT_EQ(client.read_to_end(), "(reset)");
  EXPECT_EQ(other.read_to_end(), "(reset)");
  EXPECT_FALSE(can_connect(port));
  while (!can_connect(port)) std::this_thread::yield();
  Client again(port);
  again.send(get("/mortal/echo"));
  EXPECT_THAT(again.read_to("}\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(DemoUpstream, ADroppedRequestIsReadAndNotAnswered) {
  const auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::mortal));
  client.send(post("/mortal/drop"));
  EXPECT_EQ(client.read_to_end(), "");
  Client watcher(demo->port());
  watcher.send(get("/events"));
  EXPECT_THAT(watcher.read_to("]\n"), HasSubstr(R"("outcome":"dropped")"));
}

TEST(DemoUpstream, StoppingEndsTheDeadToo) {
  auto demo = start(kAtOnce);
  Client client(demo->port(DemoManner::mortal));
  client.send(post("/mortal/die?for=600"));
  client.read_to_end();
  demo.reset();
}

TEST(DemoUpstream, LargeBodiesComeWholeAndGoWhole) {
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  constexpr std::size_t kSize = 5'000'003;
  client.send(get("/bytes/" + std::to_string(kSize)));
  EXPECT_THAT(client.read_to("\r\n\r\n"), HasSubstr("\r\nContent-Length: 5000003\r\n"));
  const std::string body = client.read(kSize);
  std::string expected;
  write_numbered(0, kSize, expected);
  EXPECT_TRUE(body == expected);
  DemoSha1 sha1;
  sha1.update(body);
  client.send("PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5000003\r\n\r\n" + body);
  EXPECT_THAT(client.read_to("}\n"),
              EndsWith("{\"bytes\":5000003,\"sha1\":\"" + hex_of(sha1.finish()) + "\"}\n"));
  client.send("HEAD /bytes/77 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string head = client.read_to_end();
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 77\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

constexpr const char* kHandshake =
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

TEST(DemoUpstream, AWebSocketEchoesUntilItIsClosed) {
  using namespace std::string_literals;
  const auto demo = start(kAtOnce);
  Client client(demo->port());
  client.send(kHandshake + "\x81\x82\0\0\0\0hi"s);  // at once behind the handshake
  EXPECT_THAT(client.read_to("\r\n\r\n"), StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_EQ(client.read(4), "\x81\x02hi");
  client.send("\x88\x80\0\0\0\0"s);
  EXPECT_EQ(client.read_to_end(), "\x88\0"s);
}

TEST(DemoUpstream, AModelThatIsLeftStopsSpeaking) {
  FirstEvent first;
  const auto demo = start({.think = Ms{0}, .token_gap = Ms{5}}, first.observer());
  Client client(demo->port());
  client.send(
      "POST /v1/messages?tokens=1000 HTTP/1.1\r\nHost: a\r\nContent-Length: 29\r\n\r\n"
      R"({"stream":true,"messages":[]})");
  client.read_to(" nobody");
  client.reset();
  const DemoEvent event = first.wait();
  EXPECT_EQ(event.outcome, DemoOutcome::cancelled);
  EXPECT_EQ(event.of_tokens, 1'000U);
  EXPECT_GE(event.tokens, 9U);
  EXPECT_LT(event.tokens, 1'000U);
}

}  // namespace
}  // namespace hushgate::app
