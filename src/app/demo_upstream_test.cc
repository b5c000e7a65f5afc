// A demo upstream on a real loop, with plain blocking sockets as its clients.
#include "app/demo_upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "app/demo_testing.h"

namespace hushgate::app {
namespace {

using testing::Client;
using ::testing::EndsWith;
using testing::FirstEvent;
using ::testing::HasSubstr;
using testing::kAtOnce;
using ::testing::Not;
using testing::start;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace hushgate::app
