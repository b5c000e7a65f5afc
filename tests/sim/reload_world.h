// What the tests of reloads share.
#pragma once

#include "tests/sim/world.h"

namespace hushgate::sim {

inline constexpr IpAddress kOther = IpAddress::v4(10, 0, 1, 2);

// The same upstream by name, elsewhere.
inline void move_upstream(config::Config& config) {
  config::Upstream& upstream = config.upstreams.front();
  upstream.url = "http://10.0.1.2:3000";
  upstream.host = "10.0.1.2";
  upstream.literal = kOther;
  upstream.authority = "10.0.1.2:3000";
}

struct Reloading : World {
  using World::World;
  void reload(const Change& change) {
    setup = make_setup(change);
    gateway->adopt(setup);
  }
  std::size_t older() const { return gateway->generations().older(); }
  std::size_t ending() const { return gateway->generations().ending(); }

  // Asks for something and expects `who` to be asked, on a new connection.
  void expect_asked(Upstream& who) {
    const std::size_t before = who.count();
    Party& client = ask(kPost);
    run_for(3 * kLatency);
    ASSERT_EQ(who.count(), before + 1);
    who.at(before).send(kOk);
    settle();
    EXPECT_EQ(client.body(), "ok");
    who.at(before).close();
    client.close();
  }

  Upstream other{network, kOther};
};

}  // namespace hushgate::sim
