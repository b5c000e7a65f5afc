// What a client sends: its asks' bytes one behind the other, then its tunnel's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/swarm/plan.h"

namespace hushgate::swarm {

class AskStream {
 public:
  explicit AskStream(const std::vector<Ask>& asks) : asks_(asks) {}

  // At most `limit` bytes of what comes next. Empty at the end, which is also behind an ask that
  // upgrades, until its tunnel is open.
  std::string_view next(std::size_t limit);
  // So many of next() were sent.
  void took(std::size_t bytes);
  // Of the last ask that was begun.
  void open_tunnel() { tunnel_ = true; }

  // How many asks were begun: of the last one, a byte was sent at least.
  std::size_t begun() const { return begun_; }
  // The next byte is the first of an ask (or there is none).
  bool between_asks() const { return at_ == 0 || at_ == piece_.size(); }

 private:
  bool load();

  const std::vector<Ask>& asks_;
  std::size_t begun_ = 0;
  bool tunnel_ = false;
  std::string piece_;  // an ask's bytes, or some of the tunnel's
  std::size_t at_ = 0;
  std::size_t tunnel_at_ = 0;
};

}  // namespace hushgate::swarm
