// An upstream of a life: listens (or not) at its addresses and answers each delivery of an ask as
// the ask's plan says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "io/sim_peer.h"
#include "tests/swarm/stage.h"

namespace hushgate::swarm {

class UpstreamConnection;

class Upstream {
 public:
  // One delivery of an ask: its head has come here.
  struct Delivery {
    const Ask* ask = nullptr;
    unsigned number = 0;            // of this ask, from 0
    std::uint64_t connection = 0;   // the network's name of it
    unsigned ordinal = 0;           // of the request on its connection, from 0
    bool request_complete = false;  // its end has come
    std::uint64_t request_bytes = 0;
    bool answer_begun = false;    // the first byte of a response was sent, a 1xx too
    std::uint64_t body_sent = 0;  // payload of the final response handed to the network
    bool answer_whole = false;    // all of it was
    bool eof_by_fin = false;      // an EOF body that was cut by a FIN: nobody can tell
  };

  // Listens at once. Must not be destroyed before the network's last step.
  Upstream(const Stage& stage, std::size_t index);
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;
  ~Upstream();

  // Leaves all its connections so, and refuses others for so long.
  void restart(Leave how, Duration away);
  // In the order of their coming.
  const std::vector<Delivery>& deliveries() const { return deliveries_; }

 private:
  friend class UpstreamConnection;  // notes its deliveries here

  struct Known {
    const Ask* ask;
    unsigned deliveries;
  };

  const UpstreamPlan& plan() const { return stage_.plan.upstreams[index_]; }
  void know_asks();
  void open_all();
  void open(std::size_t address);
  void welcome(io::SimPeerListener& listener);
  // A request's head has come: notes a delivery of the ask that it is. Nothing: it is none of those
  // for this upstream.
  std::optional<std::size_t> deliver(std::string_view target);

  Stage stage_;
  std::size_t index_;
  std::vector<Known> asks_;  // those for this upstream, by id
  std::vector<Delivery> deliveries_;
  std::vector<std::unique_ptr<io::SimPeerListener>> listeners_;
  std::vector<std::unique_ptr<UpstreamConnection>> connections_;
};

}  // namespace hushgate::swarm
