// CONTRACT sections 1, 4 and 5: what goes through, in which order, and how what was cut looks.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kTooLarge =
    "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig";

TEST(EarlyResponse, IsDeliveredAtOnceAndASmallRestKeepsTheConnection) {
  World world;
  auto [client, upstream] = world.exchange(post_head(10'000) + "begin");
  upstream.send(kTooLarge);
  const Time answered = world.now();
  world.run_for(Ms{5});
  EXPECT_EQ(client.body(), "big");
  EXPECT_EQ(client.first_byte - answered, 2 * kLatency);
  EXPECT_TRUE(upstream.saw_reset());  // what it had not read will never come
  EXPECT_FALSE(client.saw_end());
  client.send(std::string(9'995, 'x') + std::string(kGet));
  world.settle();
  ASSERT_EQ(world.upstream.count(), 2U);
  EXPECT_TRUE(world.upstream.at(1).has("GET /"));
  world.upstream.at(1).send(kOk);
  world.settle();
  EXPECT_TRUE(client.got.ends_with("ok"));
}

TEST(EarlyResponse, TheRestIsReadUnderTheOldStamp) {
  World world([](config::Config& config) { config.limits.min_upload_bytes_per_second = 0; });
  auto [client, upstream] = world.exchange(post_head(10'000) + "begin");
  upstream.send(kTooLarge);
  ASSERT_TRUE(world.run_while_not([&] { return client.saw_end(); }));
  // Some milliseconds of it, in which the upstream held the turn, do not count.
  EXPECT_GE(client.ended() - world.asked, world.limits().request_timeout);
  EXPECT_LE(client.ended() - world.asked, world.limits().request_timeout + world.period() + Ms{20});
  EXPECT_EQ(client.count("HTTP/1.1"), 1U);  // it had its answer
}

TEST(EarlyResponse, ARestAtTheBoundIsReadAndOneByteMoreIsNot) {
  for (const std::size_t over : {0U, 1U}) {
    World world([](config::Config& config) { config.limits.linger_bytes = 1'000; });
    auto [client, upstream] = world.exchange(post_head(1'005 + over) + "begin");
    upstream.send(kTooLarge);
    world.settle();
    EXPECT_EQ(client.body(), "big");
    EXPECT_EQ(client.saw_finish(), over == 1) << over;
  }
}

TEST(EarlyResponse, ARestOfUnknownLengthEndsInClosing) {
  World world;
  auto [client, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  upstream.send(kTooLarge);
  world.settle();
  EXPECT_EQ(client.body(), "big");
  EXPECT_TRUE(client.saw_finish());
  EXPECT_FALSE(client.saw_reset());
  ASSERT_TRUE(world.run_while_not([&] { return world.gateway->session_count() == 0; }, seconds(5)));
}

TEST(EarlyResponse, AClientThatNeverReadsWhileItUploadsStillGetsItsAnswer) {
  World world;
  auto [client, upstream] = world.exchange(post_head(5'000'000) + std::string(50'000, 'x'));
  upstream.send(kTooLarge);
  world.settle();
  EXPECT_EQ(client.status(), 413);
  client.send(std::string(100'000, 'x'));
  world.settle();
  EXPECT_EQ(client.body(), "big");
  EXPECT_FALSE(client.saw_reset());
}

TEST(Pipelining, RequestsAreServedInTheirOrder) {
  World world;
  world.upstream.on_bytes = [](Party& party) {
    for (const std::string_view path : {"/a", "/b", "/c"}) {
      const bool asked =
          party.got.rfind(std::string("GET ") + std::string(path)) != std::string::npos;
      if (!asked || !party.got.ends_with("\r\n\r\n")) continue;
      party.got.clear();
      party.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + std::string(path));
      return;
    }
  };
  Party& client = world.ask(
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /c HTTP/1.1\r\nHost: a\r\n\r\n");
  world.settle();
  const std::size_t a = client.got.find("\r\n\r\n/a"), b = client.got.find("\r\n\r\n/b"),
                    c = client.got.find("\r\n\r\n/c");
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  EXPECT_NE(c, std::string::npos);
  EXPECT_EQ(world.upstream.count(), 1U);
}

TEST(Pipelining, TheNextHeadsClockStartsWhenTheExchangeBeforeItEnds) {
  World world;
  auto [client, upstream] = world.exchange(std::string(kGet) + "GET /b HT");
  world.run_for(minutes(5));
  upstream.send(kOk);
  const Time end = world.now();
  ASSERT_TRUE(world.run_while_not([&] { return client.has("408"); }));
  expect_swept(world, end, client.last_byte, world.limits().request_timeout);
}

TEST(Pipelining, NothingFollowsConnectionClose) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  Party& client =
      world.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + std::string(kGet));
  world.settle();
  EXPECT_EQ(client.count("200 OK"), 1U);
  EXPECT_TRUE(client.has("Connection: close\r\n"));
  EXPECT_TRUE(client.saw_finish());
}

TEST(Duplex, BothBodiesFlowAtOnceAndTheRequestHasNoTotalBudget) {
  World world([](config::Config& config) { config.limits.min_upload_bytes_per_second = 0; });
  auto [client, upstream] =
      world.exchange("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nq0\r\n");
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nr0\r\n");
  for (int i = 0; i < 5; ++i) {
    world.run_for(minutes(5));
    client.send("2\r\nqq\r\n");
    upstream.send("2\r\nrr\r\n");
  }
  world.settle();
  EXPECT_EQ(upstream.count("qq"), 5U);
  EXPECT_EQ(client.count("rr"), 5U);
  client.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("0\r\n\r\n"));
  upstream.send("0\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.ends_with("0\r\n\r\n"));
  EXPECT_FALSE(client.saw_end());
}

TEST(Duplex, TheUpstreamsSilenceEndsItAndTheClientsBytesDoNotRestampThat) {
  World world;
  auto [client, upstream] =
      world.exchange("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nq0\r\n");
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nr0\r\n");
  const Time last = world.now();
  while (!client.saw_end() && world.now() - last < minutes(15)) {
    world.run_for(seconds(20));
    client.send("2\r\nqq\r\n");
  }
  expect_swept(world, last, client.ended(), world.limits().upstream_timeout);
  EXPECT_FALSE(client.has("0\r\n\r\n"));
}

TEST(Expect, IsForwardedAndTheClientSendsWhenItIsTold) {
  World world;
  auto [client, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(upstream.has("Expect: 100-continue\r\n"));
  world.run_for(minutes(3));  // it is the upstream's turn
  upstream.send("HTTP/1.1 100 Continue\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.starts_with("HTTP/1.1 100 "));
  client.send("hello");
  world.settle();
  EXPECT_TRUE(upstream.got.ends_with("hello"));
  upstream.send(kOk);
  world.settle();
  EXPECT_TRUE(client.got.ends_with("ok"));
  EXPECT_FALSE(client.saw_end());
}

TEST(Expect, AFinalAnswerInsteadOfA100ClosesTheConnection) {
  World world;
  auto [client, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  upstream.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  world.settle();
  EXPECT_EQ(client.status(), 401);
  EXPECT_TRUE(client.has("Connection: close\r\n"));
  EXPECT_TRUE(client.saw_finish());
}

TEST(Interim, ResponsesAreForwardedWhole) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  upstream.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.got.starts_with("HTTP/1.1 103 "));
  EXPECT_TRUE(client.has("Link: </a>\r\n"));
  upstream.send(kOk);
  world.settle();
  EXPECT_TRUE(client.got.ends_with("ok"));
}

TEST(Interim, MoreThanAreAllowedAre502) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  std::string many;
  for (int i = 0; i < kMaxInterimResponses; ++i) many += "HTTP/1.1 103 Early Hints\r\n\r\n";
  upstream.send(many);
  world.settle();
  EXPECT_EQ(client.count("103 Early"), 32U);
  upstream.send("HTTP/1.1 103 Early Hints\r\n\r\n");
  world.settle();
  EXPECT_TRUE(client.has("HTTP/1.1 502 "));
}

// --- what was cut stays visibly cut

TEST(Cut, AResponseThatWasCutIsNeverTakenForComplete) {
  for (const std::string_view sent :
       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nbad "
        "trailer\r\n\r\n"}) {
    World world;
    auto [client, upstream] = world.exchange(kGet);
    upstream.send(sent);
    upstream.finish();
    world.settle();
    EXPECT_TRUE(client.has("hello")) << sent;
    EXPECT_FALSE(client.has("0\r\n\r\n")) << sent;
    EXPECT_TRUE(client.saw_end()) << sent;
    EXPECT_EQ(client.count("HTTP/1.1"), 1U) << sent;
  }
}

TEST(Cut, ACloseDelimitedOneEndsInAReset) {
  World world;
  auto [client, upstream] = world.exchange("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  world.settle();
  EXPECT_EQ(client.body(), "hello");
  EXPECT_FALSE(client.has("Transfer-Encoding"));
  upstream.reset();
  world.settle();
  EXPECT_TRUE(client.saw_reset());
  EXPECT_FALSE(client.saw_finish());
}

TEST(Cut, AnEofDelimitedResponseEndsWithItsFinAndIsCutByAReset) {
  for (const bool reset : {false, true}) {
    World world;
    auto [client, upstream] = world.exchange(kGet);
    upstream.send("HTTP/1.1 200 OK\r\n\r\nhello");
    world.settle();
    if (reset) {
      upstream.reset();
    } else {
      upstream.finish();
    }
    world.settle();
    EXPECT_TRUE(client.has("hello"));
    EXPECT_EQ(client.has("0\r\n\r\n"), !reset);
  }
}

TEST(Cut, NonsenseFromTheUpstreamIs502) {
  for (const std::string_view sent :
       {"nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"}) {
    World world;
    auto [client, upstream] = world.exchange(kPost);
    upstream.send(sent);
    world.settle();
    EXPECT_EQ(client.status(), 502) << sent;
    EXPECT_TRUE(client.has("http_protocol_error")) << sent;
    EXPECT_TRUE(client.has("x-should-retry: false\r\n")) << sent;
    EXPECT_TRUE(upstream.saw_end()) << sent;
  }
}

TEST(Faults, ABrokenChunkIs400AndTheUpstreamSeesACutRequest) {
  World world;
  auto [client, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  client.send("zz\r\n");
  world.settle();
  EXPECT_EQ(client.status(), 400);
  EXPECT_TRUE(client.saw_finish());
  EXPECT_FALSE(upstream.has("0\r\n\r\n"));
  EXPECT_TRUE(upstream.saw_reset());
  EXPECT_FALSE(upstream.saw_finish());
}

TEST(Faults, ABodyOverItsLimitIs413BeforeOrWhenItIsFound) {
  World world([](config::Config& config) { config.limits.max_body_bytes = 10; });
  Party& said = world.ask(post_head(11));
  world.settle();
  EXPECT_EQ(said.status(), 413);
  EXPECT_EQ(world.upstream.count(), 0U);
  auto [found, upstream] = world.exchange(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n");
  EXPECT_EQ(found.got, "");
  found.send("1\r\nx\r\n");
  world.settle();
  EXPECT_EQ(found.status(), 413);
  EXPECT_TRUE(upstream.saw_reset());
}

TEST(Faults, ARequestThatComesRoundAgainIs508AndTheConnectionIsKept) {
  World world;
  Party& client = world.ask("GET / HTTP/1.1\r\nHost: a\r\nVia: 1.1 gate\r\n\r\n");
  world.settle();
  EXPECT_EQ(client.status(), 508);
  EXPECT_FALSE(client.saw_end());
  EXPECT_EQ(world.upstream.count(), 0U);
}

}  // namespace
}  // namespace hushgate::sim
