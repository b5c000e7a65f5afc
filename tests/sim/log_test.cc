// What an operator reads: one line per exchange, with whose turn took how long and where a failure
// lay.
#include "tests/sim/world.h"

namespace hushgate::sim {
namespace {

using std::chrono::seconds;

TEST(Log, AnExchangeIsToldWithItsTurns) {
  World world;
  auto [client, upstream] = world.exchange(post_head(5));
  world.run_for(seconds(3));
  client.send("hello");
  world.run_for(seconds(5));
  upstream.send(kOk);
  world.settle();
  const auto lines = lines_with(world, "\"event\":\"exchange\"");
  ASSERT_EQ(lines.size(), 1U);
  // Connecting took one round trip; the body came 3 s and a little after that.
  EXPECT_TRUE(says(lines[0], "\"receiving_ms\":3002.000")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"serving_ms\":5002.000")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"sending_ms\":0.000")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"total_ms\":8004.000")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"connection\":\"new\",\"ordinal\":1")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"endpoint\":\"10.0.1.1:3000\"")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"end\":\"complete\"")) << lines[0];
}

TEST(Log, AReusedConnectionIsToldWithItsOrdinalAndAReplayWithBoth) {
  World world;
  world.upstream.answer_with(std::string(kOk));
  world.ask(kGet);
  world.settle();
  world.ask(kGet);
  world.settle();
  auto lines = lines_with(world, "\"event\":\"exchange\"");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(says(lines[1], "\"connection\":\"pooled\",\"ordinal\":2")) << lines[1];
  world.upstream.at(0).on_bytes = [](Party& party) { party.close(); };
  world.ask(kGet);
  world.settle();
  EXPECT_EQ(lines_with(world, "\"event\":\"replay\"").size(), 1U);
  lines = lines_with(world, "\"event\":\"exchange\"");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(says(lines[2], "\"attempts\":2")) << lines[2];
  EXPECT_TRUE(says(lines[2], "\"end\":\"complete\"")) << lines[2];
}

TEST(Log, ARefusalNamesAddressAndErrnoAndTheRequestsId) {
  World world([](config::Config& config) {
    config.upstreams.front().port = 1;
    config.limits.upstream_retries = 0;
  });
  Party& client = world.ask(kGet);
  world.settle();
  const auto lines = lines_with(world, "\"event\":\"exchange\"");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(says(lines[0], "\"endpoint\":\"10.0.1.1:1\"")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"end\":\"connection_refused\",\"side\":\"upstream\",\"errno\":111"))
      << lines[0];
  const std::size_t at = client.got.find("X-Request-Id: ") + 14;
  const std::string id = client.got.substr(at, client.got.find("\r\n", at) - at);
  EXPECT_EQ(id.size(), 32U);
  EXPECT_TRUE(says(lines[0], "\"request_id\":\"" + id + "\"")) << lines[0];
  EXPECT_TRUE(client.has("\"request_id\":\"" + id + "\""));
}

TEST(Log, ASweptClientIsToldWithItsClock) {
  World world;
  world.ask("GET / HT");
  world.run_for(seconds(70));
  const auto lines = lines_with(world, "\"event\":\"swept\"");
  ASSERT_GE(lines.size(), 1U);
  EXPECT_TRUE(says(lines[0], "\"clock\":\"head\"")) << lines[0];
}

TEST(Log, AClientThatLeftIsToldAsSuch) {
  World world;
  auto [client, upstream] = world.exchange(kGet);
  world.run_for(seconds(1));
  client.reset();
  world.settle();
  const auto lines = lines_with(world, "\"event\":\"exchange\"");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(says(lines[0], "\"status\":0")) << lines[0];
  EXPECT_TRUE(says(lines[0], "\"end\":\"client_gone\",\"side\":\"client\"")) << lines[0];
}

}  // namespace
}  // namespace hushgate::sim
