#include "proxy/access_log.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/sim_fixture.h"
#include "proxy/exchange.h"

namespace hushgate::proxy {
namespace {

class Lines final : public LogSink {
 public:
  void write(std::string_view lines) override { text += lines; }
  std::uint64_t dropped() const override { return 0; }
  std::string text;
};

// No names, no room.
class Nothing final : public upstream::NameSource, public upstream::RoomMaker {
 public:
  void query(io::Loop&, const std::string&, std::function<void(upstream::NameAnswer)>) override {}
  bool make_room() override { return false; }
};

config::Config one_route() {
  config::Config config;
  config.upstreams.resize(1);
  config.routes.resize(1);
  config.routes.front().path = "/";
  return config;
}

struct Bench {
  Bench() {
    exchange.request_id = "id-1";
    exchange.head.method_text = "GET";
    exchange.head.path = "/a";
    exchange.record.began = exchange.record.head_done = sim.loop.now();
    exchange.record.status = 200;
  }
  std::string line() {
    log_exchange(context, exchange, IpPort{IpAddress::v4(10, 0, 0, 2), 5'000});
    log.flush();
    return lines.text;
  }

  io::SimLoop sim;
  io::Wheel wheel{sim.loop, Ms{1'000}};
  stats::Counters counters;
  Lines lines;
  LogBuffer log{lines, LogFormat::json, Duration::zero()};
  Nothing nothing;
  tls::Scratch scratch{sim.loop};
  Context context{{sim.loop, wheel, counters, log, nothing, nothing, scratch},
                  std::make_shared<const Setup>(one_route(), "gate"),
                  1};
  Exchange exchange{context};
};

TEST(AccessLog, TellsOneExchangeInOneLine) {
  Bench bench;
  Record& record = bench.exchange.record;
  record.request_bytes = 5;
  record.response_bytes = 7;
  record.turns = {Ms{1}, Ms{20}, Ms{3}};
  record.first_byte = record.began + Ms{21};
  bench.sim.run_for(Ms{24});
  EXPECT_EQ(
      bench.line(),
      "{\"time\":\"1970-01-01T01:00:00.024Z\",\"level\":\"info\",\"event\":\"exchange\","
      "\"request_id\":\"id-1\",\"client\":\"10.0.0.2:5000\",\"method\":\"GET\",\"path\":\"/a\","
      "\"status\":200,\"request_bytes\":5,\"response_bytes\":7,\"receiving_ms\":1.000,"
      "\"serving_ms\":20.000,\"sending_ms\":3.000,\"total_ms\":24.000,"
      "\"first_byte_ms\":21.000,\"end\":\"complete\"}\n");
}

TEST(AccessLog, AFailureSaysItsTypeItsSideAndItsErrno) {
  Bench bench;
  bench.exchange.record.status = 502;
  bench.exchange.record.error = {ErrorKind::connection_refused, ECONNREFUSED};
  EXPECT_TRUE(
      bench.line().ends_with("\"end\":\"connection_refused\",\"side\":\"upstream\",\"errno\":" +
                             std::to_string(ECONNREFUSED) + "}\n"))
      << bench.lines.text;
}

TEST(AccessLog, AnUnknownFateIsSaid) {
  Bench bench;
  bench.exchange.record.status = 502;
  bench.exchange.record.error = {ErrorKind::connection_terminated, 0};
  bench.exchange.record.fate_unknown = true;
  EXPECT_TRUE(bench.line().ends_with(
      "\"end\":\"connection_terminated\",\"side\":\"upstream\",\"fate\":\"unknown\"}\n"))
      << bench.lines.text;
}

TEST(AccessLog, HttpVersionsAreToldOnlyWhereTheyAreNotHttp1) {
  Bench bench;
  EXPECT_EQ(bench.line().find("_http\""), std::string::npos);
  bench.lines.text.clear();
  bench.exchange.record.client_http = "2";
  EXPECT_NE(bench.line().find("\"client\":\"10.0.0.2:5000\",\"client_http\":\"2\",\"method\""),
            std::string::npos)
      << bench.lines.text;
}

TEST(AccessLog, WithoutAnErrnoNoneIsTold) {
  Bench bench;
  bench.exchange.record.error = {ErrorKind::client_gone, 0};
  EXPECT_TRUE(bench.line().ends_with("\"end\":\"client_gone\",\"side\":\"client\"}\n"));
  EXPECT_EQ(bench.lines.text.find("errno"), std::string::npos);
}

TEST(AccessLog, AHostilePathCannotForgeALine) {
  Bench bench;
  bench.exchange.head.path = "/\"}\n{\"event\":\"exchange\"\xff";
  const std::string line = bench.line();
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_NE(line.find(R"("path":"/\"}\u000a{\"event\":\"exchange\"\u00ff")"), std::string::npos)
      << line;
}

TEST(AccessLog, AHeadThatNeverCameAndWasNotAnsweredIsNoLine) {
  Bench bench;
  bench.exchange.record.head_done = {};
  bench.exchange.record.status = 0;
  EXPECT_EQ(bench.line(), "");
  bench.exchange.record.status = 408;
  EXPECT_NE(bench.line().find("\"status\":408"), std::string::npos);
}

}  // namespace
}  // namespace hushgate::proxy
