// The checkers of the invariants (CONTRACT section 6). Each hears of what happened when it has
// happened, looks at the facts, and objects.
#pragma once

#include <memory>
#include <vector>

#include "tests/swarm/client.h"
#include "tests/swarm/facts.h"
#include "tests/swarm/stage.h"
#include "tests/swarm/upstream.h"

namespace hushgate::swarm {

class Checker {
 public:
  Checker(const Facts& facts, const Stage& stage) : facts_(facts), stage_(stage) {}
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  virtual ~Checker() = default;

  // The gateway submits the first byte of a request; nothing of it is in the counts yet.
  virtual void request_begins(const Try&) {}
  // Its target is known: try.call is set.
  virtual void request_known(const Try&) {}
  // A final head (or a 101) was submitted to the client.
  virtual void response_begins(const Call&) {}
  virtual void response_complete(const Call&) {}
  // The gateway sent FIN to a client, or closed one: told once, at the first; of a tunnel at both.
  virtual void client_left(const Link&) {}
  // The gateway has closed an upstream connection.
  virtual void upstream_left(const Link&) {}
  // After every turn of the loop.
  virtual void turn_ended() {}

 protected:
  Time now() const { return stage_.network.now(); }
  static const Limits& limits(const Call& call) { return call.rules->limits; }

  const Facts& facts_;
  Stage stage_;
};

// After the life: the gateway is gone, everybody has left.
struct Aftermath {
  const Facts& facts;
  const Plan& plan;
  const std::vector<std::unique_ptr<Client>>& clients;
  const std::vector<std::unique_ptr<Upstream>>& upstreams;
  Court& court;
};

// check_replay.cc: I3, I4, I13, and what of a request may reach whom.
std::unique_ptr<Checker> make_replay_checker(const Facts& facts, const Stage& stage);
// check_turns.cc: I1, nothing stays longer than its budget; I11.
std::unique_ptr<Checker> make_turns_checker(const Facts& facts, const Stage& stage);
// check_answers.cc: I2, the gateway's own answers have a reason.
std::unique_ptr<Checker> make_answers_checker(const Facts& facts, const Stage& stage);
// check_reasons.cc: I2, nothing else is ended without a reason or early.
std::unique_ptr<Checker> make_reasons_checker(const Facts& facts, const Stage& stage);
// check_bounds.cc: I7, I10.
std::unique_ptr<Checker> make_bounds_checker(const Facts& facts, const Stage& stage);
// check_leaving.cc: I9, I12's first half.
std::unique_ptr<Checker> make_leaving_checker(const Facts& facts, const Stage& stage);
// check_messages.cc: I5, I6.
void check_messages(const Aftermath& aftermath);

}  // namespace hushgate::swarm
