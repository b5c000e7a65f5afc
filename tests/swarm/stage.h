// What the parties of a life share: the network they meet on, the plan they follow, the journal
// that is kept of them, and the court that hears objections.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/sim_network.h"
#include "tests/swarm/journal.h"
#include "tests/swarm/plan.h"

namespace hushgate::swarm {

// The first objection is kept; a life ends with it.
class Court {
 public:
  // `invariant`: "I1" to "I13", or "peer" where a peer met what nobody may send it.
  void object(std::string_view invariant, std::string text) {
    if (objected()) return;
    invariant_ = invariant;
    text_ = std::move(text);
  }
  bool objected() const { return !invariant_.empty(); }
  const std::string& invariant() const { return invariant_; }
  const std::string& text() const { return text_; }

 private:
  std::string invariant_;
  std::string text_;
};

// Told by a client which connection is its.
class Registry {
 public:
  virtual void client_connects(std::size_t client, io::SimSocket socket) = 0;

 protected:
  ~Registry() = default;
};

struct Stage {
  io::SimNetwork& network;
  const Plan& plan;
  Journal& journal;
  Court& court;
  Registry& registry;
};

inline constexpr IpAddress kGate = IpAddress::v4(10, 0, 0, 9);
inline constexpr std::uint16_t kGatePort = 80;
inline constexpr IpAddress kClients = IpAddress::v4(10, 0, 0, 2);
inline constexpr std::uint16_t kUpstreamPort = 3000;
// Of upstream `upstream`, its address number `address`.
inline IpAddress upstream_address(std::size_t upstream, std::size_t address) {
  return IpAddress::v4(10, 1, static_cast<std::uint8_t>(upstream),
                       static_cast<std::uint8_t>(address + 1));
}

}  // namespace hushgate::swarm
