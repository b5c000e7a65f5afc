// Watches the network and keeps the facts; tells the checkers.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "io/sim_tap.h"
#include "tests/swarm/checker.h"
#include "tests/swarm/facts.h"
#include "tests/swarm/stage.h"

namespace hushgate::swarm {

class Observer final : public io::SimTap, public Registry {
 public:
  Observer(Facts& facts, io::SimNetwork& network, Journal& journal, Court& court)
      : facts_(facts), network_(network), journal_(journal), court_(court) {}

  void add(std::unique_ptr<Checker> checker) { checkers_.push_back(std::move(checker)); }
  void turn_ended();

  void client_connects(std::size_t client, io::SimSocket socket) override;

  void connecting(io::SimSocket socket, const io::SimHost& from, const SocketAddress& to) override;
  void established(io::SimSocket socket) override;
  void accepted(io::SimSocket socket) override;
  void sent(io::SimSocket socket, Bytes bytes) override;
  void arrived(io::SimSocket socket, std::size_t bytes) override;
  void received(io::SimSocket socket, std::size_t bytes) override;
  void acknowledged(io::SimSocket socket, std::size_t bytes) override;
  void finished(io::SimSocket socket) override;
  void fin_arrived(io::SimSocket socket) override;
  void failed(io::SimSocket socket, int error) override;
  void closed(io::SimSocket socket, io::CloseHow how) override;

 private:
  using Hook = void (Checker::*)(const Link&);

  // The link whose gateway end this is; null: another's end.
  Link* gate(io::SimSocket socket);
  void follow_upstream(io::SimSocket socket, std::string_view bytes);
  void read_request(Link& link, std::string_view bytes);
  void begin_try(Link& link);
  void know_try(Link& link);
  void read_response(Link& link, std::string_view bytes);
  void begin_response(Link& link, Call& call);
  void complete_response(Link& link, Call& call);
  Call& due(Link& link);
  void settle(Link& link);
  void client_left(Link& link);
  Time now() const { return network_.now(); }

  Facts& facts_;
  io::SimNetwork& network_;
  Journal& journal_;
  Court& court_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  std::vector<Link*> by_connection_;
  std::vector<Call*> by_id_;
  std::vector<std::unique_ptr<Try>> unknown_;  // tries whose target is not known yet
  Ask nobody_;                                 // what an answer is to that nobody asked for
};

}  // namespace hushgate::swarm
