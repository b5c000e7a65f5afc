// The clients of a life, drawn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/swarm/dice.h"
#include "tests/swarm/draw_asks.h"
#include "tests/swarm/plan.h"

namespace hushgate::swarm {

enum class ClientKind : std::uint8_t {
  keeps_alive,     // asks, awaits, pauses about as long as an idle connection lives somewhere
  pipelines,       // asks several things at once
  drips_head,      // near its budget
  drips_body,      // near its budget
  half_closes,     // FIN right behind the request
  aborts,          // FIN a while behind the request
  leaves_asking,   // in the middle of its own bytes
  leaves_hearing,  // at any time of the answer
  reads_slowly,
  reads_never,
  sends_faults,
  uploads_early,  // the answer begins before the request is whole
  expects,        // 100-continue
  says_nothing,
  speaks_http10,
  upgrades,
  insists,  // unsafe requests, one behind the other
  last = insists,
};

class Clients {
 public:
  // `dice` and `plan` must outlive it. The plan has all but its clients.
  Clients(Dice& dice, const Plan& plan, std::size_t all_bytes, Ms pace)
      : dice_(dice), plan_(plan), pace_(pace), asks_(dice, plan, all_bytes), kinds_(dice) {}

  ClientPlan draw();

 private:
  void fill(ClientKind kind);
  void keep_alive();
  void insist();
  void pipeline();
  void drip_head();
  void drip_body();
  void finish_behind(Duration time);
  void leave_asking();
  void leave_hearing();
  void read_slowly();
  void read_never();
  void send_faults();
  void upload_early();
  void expect();
  void say_nothing();
  void speak_http10();
  void upgrade();

  std::size_t add(Ask ask);  // to its asks; how many bytes it has
  void ask_and_hear(Ask ask);
  void step(const Step& step);
  void send(std::size_t bytes);
  void send_in_pieces(std::size_t bytes, Duration all_time);
  void pause(Duration time);
  void await_all();
  void leave(Leave how);
  void leave_late();
  void part();  // as a well-behaved client, mostly
  Duration idle_pause();
  Leave any_leave();

  Dice& dice_;
  const Plan& plan_;
  Ms pace_;
  Asks asks_;
  Mix<ClientKind, static_cast<std::size_t>(ClientKind::last) + 1> kinds_;
  ClientPlan client_;  // the one that is being drawn
};

}  // namespace hushgate::swarm
