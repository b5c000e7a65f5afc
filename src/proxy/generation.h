// What a reload changes, as one worker has it: setups, and the endpoints of their upstreams. New
// exchanges begin with the current generation; an exchange that runs keeps the one it began with,
// and the last one of an older generation that ends takes it along.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "io/runnable.h"
#include "proxy/setup.h"
#include "upstream/endpoint.h"

namespace hushgate::proxy {

struct Generation {
  SetupPtr setup;
  // As in setup->config.upstreams. One whose upstream did not change belongs to the next generation
  // as well.
  std::vector<std::shared_ptr<upstream::Endpoint>> endpoints;
  std::size_t exchanges = 0;  // that began with it and run

  const Limits& limits() const { return setup->config.limits; }
  // `upstream` is one of this setup's.
  upstream::Endpoint& endpoint(const config::Upstream& upstream) const {
    return *endpoints[static_cast<std::size_t>(&upstream - setup->config.upstreams.data())];
  }
};

// Generations live until the turn in which nothing uses them any more; endpoints that are not
// carried on live until, besides, no connection of theirs waits for its FIN. Their number is
// bounded by that of running exchanges.
class Generations final : private io::Runnable {
 public:
  Generations(const upstream::Services& services, SetupPtr first);
  ~Generations() = default;

  Generation& current() { return *current_; }
  // For an exchange that begins; release() follows when it is over.
  Generation& take() {
    ++current_->exchanges;
    return *current_;
  }
  void release(Generation& generation);

  // `setup` becomes the current one. Endpoints whose upstream is the same in all that concerns
  // dialing and pooling (Endpoint::serves) are carried on with all that they have learned; those of
  // the others reset their idle connections now and pool none any more. What referred to the
  // current one without take() must be told in this turn.
  void adopt(SetupPtr setup);

  // For tests and people: older ones that exchanges still use; endpoints of no generation that wait
  // for a FIN.
  std::size_t older() const { return older_.size(); }
  std::size_t ending() const { return ending_.size(); }

 private:
  std::unique_ptr<Generation> make(SetupPtr setup) const;
  void run() override;  // drops what nothing uses
  void drop_endpoints(Generation& generation);
  void set_period();

  upstream::Services services_;
  std::unique_ptr<Generation> current_;
  std::vector<std::unique_ptr<Generation>> older_;
  std::vector<std::shared_ptr<upstream::Endpoint>> ending_;
};

}  // namespace hushgate::proxy
