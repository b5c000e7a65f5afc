// Upstreams of HTTP/2 that come, go, and say what they may not: whose connection is used, and whose
// request pays for it.
#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

TEST(H2Upstream, AConnectionThatHasEndedIsNotGivenARequest) {
  for (const bool rude : {false, true}) {
    H2World world;
    world.answer_all();
    H2Peer& client = world.connect();
    client.ask(get("/first"));
    world.settle();
    rude ? world.upstream.at(0).reset() : world.upstream.at(0).close();
    world.run_for(2 * kLatency);
    H2Stream& second = post(client, "/second", "hello");
    world.settle();
    EXPECT_EQ(second.body, "ok");
    EXPECT_EQ(world.upstream.count(), 2U);
    EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
  }
}

TEST(H2Upstream, TheFirstOfTwoGoAwaysTurnsNobodyAway) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& first = post(client, "/first", "hello");
  world.settle();
  H2Peer& up = world.up(0);
  up.go_away(0x7fff'ffff);
  world.settle();
  world.answer_all();
  H2Stream& second = post(client, "/second", "hello");
  world.settle();
  EXPECT_EQ(second.body, "ok");
  EXPECT_EQ(world.find("/second").first, &world.up(1));
  up.go_away(1);
  world.settle();
  up.answer(up.at(1), 200, "old");
  world.settle();
  EXPECT_EQ(first.body, "old");
  ASSERT_TRUE(world.run_while_not([&] { return world.upstream.at(0).saw_end(); }, seconds(10)));
  EXPECT_EQ(up.count(), 1U);
}

TEST(H2Upstream, OneThatAllowsNoStreamsIsWaitedForUntilItHasIdled) {
  for (const bool comes_round : {true, false}) {
    H2World world;
    world.answer_all();
    H2Peer& client = world.connect();
    client.ask(get());
    world.settle();
    world.up(0).raw(settings_frame({{kMaxStreams, 0}}));
    world.settle();
    H2Stream& second = post(client, "/second", "hello");
    world.run_for(seconds(1));
    EXPECT_EQ(second.status(), 0);
    EXPECT_EQ(world.up(0).count(), 1U);
    if (comes_round) world.up(0).raw(settings_frame({{kMaxStreams, 10}}));
    world.run_for(comes_round ? Ms{20} : Ms{10'000});
    EXPECT_EQ(second.body, "ok");
    EXPECT_EQ(world.upstream.count(), comes_round ? 1U : 2U);
    EXPECT_EQ(world.count(Counter::fates_unknown), 0U);
  }
}

struct Nonsense {
  const char* name;
  std::function<void(H2Peer&, H2Stream&)> say;
  bool ends_connection = false;
};

const std::vector<Nonsense>& nonsense() {
  static const std::vector<Nonsense> all{
      {"a capital in a name",
       [](H2Peer& it, H2Stream& stream) {
         it.headers(stream.id, {{":status", "200"}, {"X-Up", "1"}}, Last::yes);
       }},
      {"no status",
       [](H2Peer& it, H2Stream& stream) { it.headers(stream.id, {{"x", "1"}}, Last::yes); }},
      {"a connection's field",
       [](H2Peer& it, H2Stream& stream) {
         it.headers(stream.id, {{":status", "200"}, {"transfer-encoding", "chunked"}}, Last::yes);
       }},
      {"two lengths",
       [](H2Peer& it, H2Stream& stream) {
         it.headers(stream.id,
                    {{":status", "200"}, {"content-length", "2"}, {"content-length", "3"}},
                    Last::no);
         it.data(stream.id, "ok", Last::yes);
       }},
      {"a line in a value",
       [](H2Peer& it, H2Stream& stream) {
         it.headers(stream.id, {{":status", "200"}, {"x", "a\r\nb: c"}}, Last::yes);
       }},
      {"a 101",
       [](H2Peer& it, H2Stream& stream) { it.headers(stream.id, {{":status", "101"}}, Last::no); }},
      {"too many interim responses",
       [](H2Peer& it, H2Stream& stream) {
         for (int i = 0; i < 40; ++i) it.headers(stream.id, {{":status", "103"}}, Last::no);
       }},
      {"a head that is too large",
       [](H2Peer& it, H2Stream& stream) {
         Fields fields{{":status", "200"}};
         for (int i = 0; i < 100; ++i)
           fields.emplace_back("x-" + std::to_string(i), std::string(1'000, 'x'));
         it.headers(stream.id, fields, Last::yes);
       }},
      {"DATA before a head",
       [](H2Peer& it, H2Stream& stream) { it.data(stream.id, "ok", Last::no); }, true},
      {"a push",
       [](H2Peer& it, H2Stream& stream) {
         it.raw(
             Frame{FrameType::push, kEndHeaders, stream.id, number(2, 4) + it.pack(get())}.text());
       },
       true},
  };
  return all;
}

TEST(H2Upstream, AResponseThatIsNoneIsA502OfItsOwnRequest) {
  for (const Nonsense& wrong : nonsense()) {
    SCOPED_TRACE(wrong.name);
    H2World world;
    world.on_upstream = [&wrong](H2Peer& peer) {
      peer.on_message = [&wrong](H2Peer& it, H2Stream& stream) {
        if (stream.path() == "/wrong") return wrong.say(it, stream);
        it.answer(stream, 200, "ok");
      };
    };
    H2Peer& client = world.connect();
    H2Stream& stream = post(client, "/wrong", "hello");
    world.settle();
    H2Stream& good = post(client, "/good", "hello");
    world.run_for(seconds(2));
    EXPECT_EQ(stream.status(), 502);
    EXPECT_EQ(good.body, "ok");
    if (!wrong.ends_connection) EXPECT_EQ(world.upstream.count(), 1U);
  }
}

TEST(H2Upstream, ABodyThatIsNotAsLongAsItSaidIsNoWholeOne) {
  for (const std::string_view body : {"short", "much too long"}) {
    H2World world;
    H2Peer& client = world.connect();
    H2Stream& stream = client.ask(get());
    world.settle();
    world.up(0).headers(1, {{":status", "200"}, {"content-length", "8"}}, Last::no);
    world.up(0).data(1, body, Last::yes);
    world.settle();
    EXPECT_EQ(stream.status(), 200);
    EXPECT_FALSE(stream.ended);
    EXPECT_TRUE(stream.reset);
    EXPECT_LE(stream.body.size(), 8U);
  }
}

TEST(H2Upstream, MoreThanItsWindowEndsAnUpstreamsStreamAndNothingIsHeldOfIt) {
  H2World world;
  H2Peer& client = world.connect();
  H2Stream& stream = client.ask(get());
  stream.takes = false;
  world.settle();
  H2Peer& up = world.up(0);
  up.headers(1, {{":status", "200"}}, Last::no);
  for (int i = 0; i < 60; ++i) {
    up.raw(Frame{FrameType::data, 0, 1, std::string(kFrameBytes, 'x')}.text());
  }
  world.run_for(seconds(2));
  EXPECT_EQ(up.at(1).reset, Code::flow_control_error);
  client.grant(stream.id, 10'000'000);
  client.grant(0, 10'000'000);
  world.run_for(seconds(2));
  EXPECT_LE(stream.body.size(), 4 * 65'536U);
  EXPECT_FALSE(stream.ended);
  EXPECT_TRUE(stream.reset);
  EXPECT_EQ(world.gateway->session_count(), 1U);
}

}  // namespace
}  // namespace hushgate::sim
