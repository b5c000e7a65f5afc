// Many streams of many clients, and upstreams that GOAWAY, refuse, reset, cut and vanish, in bad
// weather. Upstreams are honest: what they call unprocessed they have not acted upon. What both
// sides saw is held against the invariants of CONTRACT section 6.
#include <map>
#include <random>
#include <set>

#include "tests/sim/h2_world.h"

namespace hushgate::sim {
namespace {

using stats::Counter;
using std::chrono::seconds;

struct Told {
  bool safe = true;
  std::string body;    // as the client sends it
  std::string answer;  // as the upstream last sent it
  int acted = 0;       // times that an upstream acted upon it
  H2Stream* stream = nullptr;
  H2Peer* client = nullptr;
};

// What upstreams do with a request that is whole, in per cent; else they serve it.
struct Mood {
  unsigned refuse = 0;
  unsigned go_away = 0;  // with the highest id that was acted upon
  unsigned reset = 0;    // the stream, having acted
  unsigned cut = 0;      // in the middle of the response
  unsigned vanish = 0;   // the connection, having acted
};

class H2Storm {
 public:
  H2Storm(std::uint64_t seed, const Mood& mood, const Sides& sides = {})
      : mood_(mood),
        random_(seed),
        world_({}, sides,
               {.seed = seed,
                .latency_max = Ms{3},
                .short_takes_percent = 30,
                .short_writes_percent = 20}) {
    world_.on_upstream = [this](H2Peer& peer) {
      peer.on_message = [this](H2Peer& it, H2Stream& stream) { come(it, stream.id); };
    };
  }

  void run(std::size_t clients, std::size_t requests, unsigned leave_percent) {
    for (std::size_t i = 0; i < clients; ++i) {
      world_.upstream_manner = {
          .max_streams = below(3) == 0 ? std::optional(below_u32(20) + 1) : std::nullopt,
          .window = below_u32(100'000) + 1'000};
      H2Peer& client = world_.connect({.window = below_u32(100'000) + 1'000});
      for (std::size_t n = 0; n < requests; ++n) {
        ask(client, leave_percent);
        if (below(3) == 0) world_.run_for(Ms{below(20)});
      }
      if (below(100) < leave_percent) leave_later(client);
    }
    world_.run_for(seconds(200));
    check();
  }

  World& world() { return world_; }
  std::size_t complete() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(told_, [](const auto& it) { return whole(it.second); }));
  }
  std::size_t failed() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        told_, [](const auto& it) { return it.second.stream->status() >= 500; }));
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::uint32_t below_u32(std::uint32_t n) { return static_cast<std::uint32_t>(below(n)); }
  std::string payload() {
    const std::uint64_t kind = below(10);
    const std::size_t length = kind < 6 ? below(100) : (kind < 9 ? below(20'000) : below(200'000));
    return std::string(length, static_cast<char>('a' + below(26)));
  }
  static bool whole(const Told& told) {
    return told.stream->status() == 200 && told.stream->ended && !told.stream->reset_by_us;
  }

  // --- clients

  void ask(H2Peer& client, unsigned leave_percent) {
    const std::string path = "/r" + std::to_string(told_.size());
    Told& told = told_[path];
    told.client = &client;
    told.safe = below(3) == 0;
    if (told.safe) {
      told.stream = &client.ask(get(path));
    } else {
      told.body = payload();
      told.stream = &client.ask(request("POST", path), Last::no);
      send_body(client, told);
    }
    if (below(20) == 0) shut_for_a_while(client, *told.stream);
    if (below(100) >= leave_percent) return;
    later(below(60), [&client, stream = told.stream] {
      if (!stream->over()) client.reset(stream->id, Code::cancel);
    });
  }
  // At once, or in two pieces.
  void send_body(H2Peer& client, const Told& told) {
    const std::uint32_t id = told.stream->id;
    if (below(2) == 0) return client.data(id, told.body, Last::yes);
    const std::size_t half = told.body.size() / 2;
    client.data(id, std::string_view(told.body).substr(0, half), Last::no);
    later(below(40), [&client, &told, id, half] {
      if (!told.stream->over()) {
        client.data(id, std::string_view(told.body).substr(half), Last::yes);
      }
    });
  }
  void shut_for_a_while(H2Peer& client, H2Stream& stream) {
    stream.takes = false;
    later(below(2'000), [&client, &stream] {
      stream.takes = true;
      if (!stream.over()) client.grant(stream.id, 1'000'000);
    });
  }
  void leave_later(H2Peer& client) {
    later(below(60), [this, &client] {
      left_.insert(&client);
      below(2) == 0 ? client.party().reset() : client.party().close();
    });
  }
  void later(std::uint64_t ms, std::function<void()> what) {
    world_.network.at(world_.now() + Ms{ms}, std::move(what));
  }

  // --- upstreams

  void come(H2Peer& up, std::uint32_t id) {
    later(below(30), [this, &up, id] {
      if (!gone_.contains(&up) && !up.at(id).reset && !beyond(up, id)) decide(up, id);
    });
  }
  // Above a GOAWAY that was said.
  bool beyond(H2Peer& up, std::uint32_t id) const {
    const auto said = last_.find(&up);
    return said != last_.end() && id > said->second;
  }
  void decide(H2Peer& up, std::uint32_t id) {
    std::uint64_t dice = below(100);
    const auto falls = [&dice](unsigned percent) {
      if (dice < percent) return true;
      dice -= percent;
      return false;
    };
    if (falls(mood_.refuse)) return up.reset(id, Code::refused_stream);
    if (falls(mood_.go_away)) go_away(up);
    if (beyond(up, id)) return;
    act(up, id);
    if (falls(mood_.reset)) return up.reset(id, Code::internal_error);
    if (falls(mood_.vanish)) return vanish(up);
    answer(up, id, falls(mood_.cut));
  }
  void go_away(H2Peer& up) {
    const std::uint32_t last = highest_acted_[&up];
    last_[&up] = last;
    up.go_away(last);
    if (mood_.vanish > 0 && below(2) == 0) later(below(50), [this, &up] { vanish(up); });
  }
  void vanish(H2Peer& up) {
    if (!gone_.insert(&up).second) return;
    below(2) == 0 ? up.party().reset() : up.party().close();
  }
  void act(H2Peer& up, std::uint32_t id) {
    H2Stream& stream = up.at(id);
    Told& told = told_.at(stream.path());
    ++told.acted;
    EXPECT_EQ(stream.body, told.body) << stream.path();
    highest_acted_[&up] = std::max(highest_acted_[&up], id);
  }
  void answer(H2Peer& up, std::uint32_t id, bool cut) {
    Told& told = told_.at(up.at(id).path());
    told.answer = up.at(id).path() + ":" + payload();
    Fields fields{{":status", "200"}};
    if (below(2) == 0) fields.emplace_back("content-length", std::to_string(told.answer.size()));
    up.headers(id, fields, Last::no);
    if (!cut) return up.data(id, told.answer, Last::yes);
    up.data(id, std::string_view(told.answer).substr(0, below(told.answer.size())), Last::no);
    later(below(20), [this, &up, id] {
      if (gone_.contains(&up) || up.at(id).reset) return;
      below(4) == 0 ? vanish(up) : up.reset(id, Code::internal_error);
    });
  }

  // --- the end

  void check() {
    std::size_t unknown = 0;
    for (const auto& [path, told] : told_) {
      SCOPED_TRACE(path);
      const H2Stream& stream = *told.stream;
      EXPECT_LE(told.acted, told.safe ? 2 : 1);                      // I3, I4
      if (!left_.contains(told.client)) EXPECT_TRUE(stream.over());  // I11
      if (whole(told)) {
        EXPECT_EQ(stream.body, told.answer);  // I5, I6
        EXPECT_GE(told.acted, 1);
      }
      if (told.safe || !stream.ended) continue;
      // An error says the truth: not delivered, or counted.
      if (stream.status() == 503) EXPECT_EQ(told.acted, 0);
      if (stream.status() == 502) ++unknown;
      EXPECT_TRUE(stream.status() == 200 || stream.status() == 502 || stream.status() == 503)
          << stream.status() << stream.body;
    }
    EXPECT_LE(unknown, world_.count(Counter::fates_unknown));
    EXPECT_EQ(world_.gateway->session_count(), 0U);
  }

  Mood mood_;
  std::mt19937_64 random_;
  H2World world_;
  std::map<std::string, Told> told_;
  std::set<H2Peer*> left_;  // clients that left
  std::set<H2Peer*> gone_;  // upstreams' connections
  std::map<H2Peer*, std::uint32_t> highest_acted_;
  std::map<H2Peer*, std::uint32_t> last_;  // that a GOAWAY has said
};

TEST(H2Storm, UpstreamsThatLeaveProperlyAndRefuseNowAndThenCostNobodyAnything) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    H2Storm storm(seed, {.go_away = 5});
    storm.run(6, 40, 0);
    EXPECT_GT(storm.complete(), 200U);
    EXPECT_EQ(storm.world().count(Counter::fates_unknown), 0U);
  }
}

TEST(H2Storm, WhateverUpstreamsDoNoRequestActsTwice) {
  for (std::uint64_t seed = 100; seed <= 110; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    H2Storm storm(seed, {.refuse = 10, .go_away = 10, .reset = 5, .cut = 5, .vanish = 3});
    storm.run(6, 40, 0);
    EXPECT_GT(storm.complete(), 50U);
  }
}

TEST(H2Storm, NorDoClientsThatLeaveChangeThat) {
  for (std::uint64_t seed = 200; seed <= 210; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    H2Storm storm(seed, {.refuse = 5, .go_away = 5, .reset = 5, .cut = 5, .vanish = 2});
    storm.run(8, 30, 20);
    EXPECT_GT(storm.complete(), 30U);
  }
}

TEST(H2Storm, NorDoesTls) {
  for (std::uint64_t seed = 300; seed <= 303; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    H2Storm storm(seed, {.refuse = 5, .go_away = 5, .reset = 5, .cut = 5, .vanish = 2},
                  {.tls = spoken_for(Speaks::http2, Speaks::http2)});
    storm.run(5, 30, 10);
    EXPECT_GT(storm.complete(), 30U);
  }
}

}  // namespace
}  // namespace hushgate::sim
