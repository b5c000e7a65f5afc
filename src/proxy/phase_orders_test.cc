// All orders of events to depth 8, and beyond.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "proxy/phase_doc.h"
#include "proxy/phase_witness.h"

namespace hushgate::proxy::phase {
namespace {

TEST(PhaseOrders, EveryOrderOfEventsToDepthEightAndBeyondKeepsTheContract) {
  const Graph graph(Law{});
  ASSERT_EQ(graph.broken(), "") << "after " << graph.order();
  report("orders_to_depth_8", graph.orders(kDepth));
  report("pairs_to_depth_8", graph.nodes_within(kDepth));
  report("steps_to_depth_8", graph.steps_within(kDepth));
  report("states_at_any_depth", reachable_states().size());
  report("pairs_at_any_depth", graph.nodes().size());
  report("steps_at_any_depth", graph.steps());
  report("deepest", static_cast<std::uint64_t>(graph.deepest()));
  EXPECT_GT(graph.orders(kDepth), 100'000U);
  EXPECT_GE(graph.deepest(), kDepth);
}
TEST(PhaseOrders, EveryStateHasAClockOrIsOurOwnTurnOrClosed) {
  for (const State& state : reachable_states()) {
    const bool clock =
        client_clock(state) != ClientClock::none || upstream_clock(state) != UpstreamClock::none;
    EXPECT_EQ(clock, state.conn != Conn::closed && !is_our_turn(state))
        << name(state.conn) << ' ' << name(state.in) << ' ' << name(state.out) << ' '
        << name(state.attempt);
  }
}

TEST(PhaseOrders, NeverDoClocksOfBothSidesRunExceptInATunnel) {
  for (const State& state : reachable_states()) {
    const bool both =
        client_clock(state) != ClientClock::none && upstream_clock(state) != UpstreamClock::none;
    EXPECT_TRUE(!both || state.conn == Conn::tunnel);
  }
}

// The most clocks that run out, one after the other, before the connection is closed; -1 for a
// circle.
int deadlines_to_the_end(const State& state, std::unordered_map<std::uint64_t, int>& known) {
  if (state.conn == Conn::closed) return 0;
  const auto [at, fresh] = known.try_emplace(std::bit_cast<std::uint64_t>(state), -1);
  if (!fresh) return at->second;
  int most = 0;
  for (const Event event :
       {Event::client_deadline, Event::upstream_deadline, Event::local_end, Event::takes_not}) {
    const bool ours = event == Event::local_end || event == Event::takes_not;
    if (!applicable(state, event) || (ours && !is_our_turn(state))) continue;
    const int rest = deadlines_to_the_end(step(state, event).state, known);
    if (rest < 0) return -1;
    most = std::max(most, rest + (ours ? 0 : 1));
  }
  known[std::bit_cast<std::uint64_t>(state)] = most;
  return most;
}

TEST(PhaseOrders, WhenNeitherPeerActsEveryStateEndsInClosed) {
  std::unordered_map<std::uint64_t, int> known;
  int most = 0;
  for (const State& state : reachable_states()) {
    const int deadlines = deadlines_to_the_end(state, known);
    ASSERT_GE(deadlines, state.conn == Conn::closed ? 0 : 1) << name(state.conn);
    most = std::max(most, deadlines);
  }
  report("budgets_in_a_row_at_most", static_cast<std::uint64_t>(most));
  EXPECT_LE(most, 4);
}

}  // namespace
}  // namespace hushgate::proxy::phase
