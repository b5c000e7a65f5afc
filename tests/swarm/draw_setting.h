// What surrounds the clients of a life, drawn: the weather, the limits, the upstreams, the ordeals.
#pragma once

#include "tests/swarm/dice.h"
#include "tests/swarm/plan.h"

namespace hushgate::swarm {

Weather draw_weather(Dice& dice);
// About `pace` is how long a timeout of this life is.
Limits draw_limits(Dice& dice, Ms pace);
// Upstreams, names, and how much of everything the gateway has.
void draw_upstreams(Dice& dice, Plan& plan);
void draw_shortage(Dice& dice, Plan& plan);
void draw_ordeals(Dice& dice, Plan& plan, Ms pace);

}  // namespace hushgate::swarm
