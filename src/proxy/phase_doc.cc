#include "proxy/phase_doc.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace hushgate::proxy::phase {
namespace {

constexpr std::string_view kIntroduction = R"(# Phases

Written by the program from `src/proxy/phase.cc`, the table that production code drives. Do not edit
it: change the table, then run the `proxy` tests with `HUSHGATE_WRITE_DOCS=1`.

A client connection is in one state at a time. Most are simple: nobody has asked for anything
(`fresh`, `kept`), a head is coming (`head`), a tunnel is open (`tunnel`), the last response is out
(`closing`), all is over (`closed`). An `exchange` is a request and its response, and since HTTP is
full duplex it has three parts that move by themselves:

- **in**, the request. `reading` is the client's turn. It is paused, and its clock stands still,
  while there is no upstream connection yet (`wait_connection`), while the client waits for a 100
  (`wait_continue`) and while the upstream takes no bytes (`wait_room`). `discarding` reads away
  what is left of a request whose response overtook it.
- **out**, the response. `serving` is the upstream's turn: nothing waits for the client. `sending`
  is the client's turn: bytes wait for it. `done` is complete and with the kernel.
- **attempt**, the upstream connection: `opening`, `waiting` for a response, `answering`; `none`
  while hushgate answers by itself; `finished`.

Every turn that belongs to a peer has a clock. Only in a tunnel both sides can have one at the same
time. A state without a clock is hushgate's own turn: its answer is being written, which ends at
once in `local_end` or `takes_not`.

)";

constexpr std::pair<std::string_view, std::string_view> kClientClocks[] = {
    {"idle", "`idleTimeoutMs` from the accept, or from the end of the last exchange"},
    {"head", "min(`idleTimeoutMs`, `requestTimeoutMs`, 60 s) from the first byte of the head"},
    {"receive",
     "`requestTimeoutMs` from the first byte of the head, plus received bytes ÷ "
     "`minUploadBytesPerSecond`; it stands still in every other state"},
    {"send", "less than `minSendBytes` taken in `sendTimeoutMs`, from when bytes first waited"},
    {"tunnel", "`tunnelIdleTimeoutMs` from the last byte either way; off unless it is set"},
    {"linger",
     "2 s without a byte once everything is acknowledged, 30 s in all (after a 408: 2 s in all)"},
};

constexpr std::pair<std::string_view, std::string_view> kUpstreamClocks[] = {
    {"connect",
     "`connectTimeoutMs` per address, `connectTotalMs` in all, from the begin of the attempt"},
    {"silence",
     "`upstreamTimeoutMs` from the last byte of the request or of the response, or from the pause"},
    {"send", "in a tunnel: `sendTimeoutMs` windows, from when bytes first waited for the upstream"},
};

constexpr std::string_view kLegend = R"(
What the client sees: **answer**, a response of hushgate's own; **cut**, a response that is visibly
incomplete; **keep**, an exchange that ended well; **linger**, the end of what we send, while its
bytes are still read; **close**, nothing at all. What the upstream sees: **open**, a connection and
the request; **reopen**, the same request on another connection, or another stream; **finish**, the
end of an exchange; **abort**, a reset.

`may be sent again` marks a safe bodyless request of whose response no byte has come. Any other one
is marked `if unprocessed`: it is sent again only if the upstream proves that it did not process it,
as HTTP/2 upstreams can. `asks for 100` marks a client that waits. `last` marks a connection on
which nothing may follow; it has a section only where there is none without that mark. Its steps are
the same but for the end: where others are `kept`, or read away what is left of a request, it
lingers in `closing`; so does an idle one when its clock runs out. `src/proxy/phase.h` says what
each event is.
)";

std::string clock_table(std::string_view of,
                        std::span<const std::pair<std::string_view, std::string_view>> clocks) {
  std::string text = "| clock of the " + std::string(of) + " | what it bounds |\n|---|---|\n";
  for (const auto& [clock, bounds] : clocks) {
    text += "| " + std::string(clock) + " | " + std::string(bounds) + " |\n";
  }
  return text;
}

std::string introduction() {
  return std::string(kIntroduction) + clock_table("client", kClientClocks) + "\n" +
         clock_table("upstream", kUpstreamClocks) + std::string(kLegend);
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

// `in · out · attempt`, or the connection's state.
std::string title(const State& s) {
  std::string text = code(name(s.conn));
  if (s.conn == Conn::tunnel) {
    if (s.out == Out::sending) text += ", the client takes no bytes";
    if (s.in == In::wait_room) text += ", the upstream takes no bytes";
  }
  if (s.conn == Conn::exchange) {
    text = code(name(s.in)) + " · " + code(name(s.out)) + " · " + code(name(s.attempt));
  }
  if (s.replay == Replay::once) text += ", may be sent again";
  if (s.replay == Replay::refused) text += ", if unprocessed";
  if (s.expects_continue) text += ", asks for 100";
  if (s.after == After::close) text += ", last";
  return text;
}

std::string clocks(const State& s) {
  const bool client = client_clock(s) != ClientClock::none;
  const bool upstream = upstream_clock(s) != UpstreamClock::none;
  std::string text;
  if (client) text += "client: " + std::string(name(client_clock(s)));
  if (client && upstream) text += ", ";
  if (upstream) text += "upstream: " + std::string(name(upstream_clock(s)));
  return text.empty() ? "none" : text;
}

// Calls `visit(event, step)` for every event that can happen in `state`.
template <typename Visit>
void for_each_step(const State& state, Visit visit) {
  for (int i = 0; i < kEvents; ++i) {
    const Event event = static_cast<Event>(i);
    if (applicable(state, event)) visit(event, step(state, event));
  }
}

// The rows of a state. Events with the same outcome share one.
std::string table(const State& state) {
  std::vector<std::pair<std::string, std::string>> rows;  // outcome, events
  for_each_step(state, [&](Event event, const Step& to) {
    const bool same = to.state == state;
    const std::string outcome =
        (same ? "the same" : title(to.state)) + " | " + (same ? "the same" : clocks(to.state)) +
        " | " + std::string(name(to.client)) + " | " + std::string(name(to.upstream)) + " |\n";
    const auto row = std::ranges::find(rows, outcome, &std::pair<std::string, std::string>::first);
    if (row == rows.end()) {
      rows.emplace_back(outcome, code(name(event)));
    } else {
      row->second += ", " + code(name(event));
    }
  });
  std::string text =
      "| event | next | clocks then | the client sees | the upstream sees |\n"
      "|---|---|---|---|---|\n";
  for (const auto& [outcome, events] : rows) text += "| " + events + " | " + outcome;
  return text;
}

std::string section(const State& state, std::string_view heading) {
  return "\n" + std::string(heading) + " " + title(state) + "\n\nClocks: " + clocks(state) +
         ". Shown as " + std::string(name(shown(state))) + ".\n\n" +
         (state.conn == Conn::closed ? "Nothing happens any more.\n" : table(state));
}

// The order of the sections: as an exchange goes.
std::array<int, 6> order(const State& s) {
  return {static_cast<int>(s.attempt), static_cast<int>(s.in),    static_cast<int>(s.out),
          static_cast<int>(s.replay),  static_cast<int>(s.after), s.expects_continue ? 1 : 0};
}

// One part of the state as a Mermaid graph, drawn from all steps for which `part` gives two names.
template <typename Part>
std::string graph(const std::vector<State>& states, std::string_view start, Part part) {
  using Edge = std::pair<std::string, std::string>;
  std::map<Edge, std::set<Event>> edges;
  for (const State& state : states) {
    for_each_step(state, [&](Event event, const Step& to) {
      const Edge edge{part(state), part(to.state)};
      if (edge.first != edge.second && !edge.first.empty()) edges[edge].insert(event);
    });
  }
  std::string text = "\n```mermaid\nstateDiagram-v2\n";
  if (!start.empty()) text += "  [*] --> " + std::string(start) + "\n";
  for (const auto& [edge, events] : edges) {
    constexpr std::size_t kShownEvents = 4;
    text += "  " + edge.first + " --> " + (edge.second.empty() ? "[*]" : edge.second) + " : ";
    std::size_t count = 0;
    for (const Event event : events) {
      if (count == kShownEvents) text += ", …";
      if (count++ < kShownEvents) text += (count > 1 ? ", " : "") + std::string(name(event));
    }
    text += "\n";
  }
  return text + "```\n";
}

std::string graphs(const std::vector<State>& states) {
  const auto in_exchange = [](const State& s, std::string_view text) {
    return s.conn == Conn::exchange ? std::string(text) : std::string();
  };
  std::string text = "\n## The connection\n";
  text +=
      graph(states, name(Conn::fresh), [](const State& s) { return std::string(name(s.conn)); });
  text += "\n## The request of an exchange: in\n\n`[*]` is the end of the exchange.\n";
  text += graph(states, "", [&](const State& s) { return in_exchange(s, name(s.in)); });
  text += "\n## The response of an exchange: out\n\n`[*]` is the end of the exchange.\n";
  text += graph(states, "", [&](const State& s) { return in_exchange(s, name(s.out)); });
  text += "\n## The attempt of an exchange\n\n`[*]` is the end of the exchange.\n";
  text += graph(states, "", [&](const State& s) { return in_exchange(s, name(s.attempt)); });
  return text;
}

}  // namespace

std::vector<State> reachable_states() {
  std::vector<State> states{State{}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    for_each_step(State(states[i]), [&](Event, const Step& to) {
      if (std::ranges::find(states, to.state) == states.end()) states.push_back(to.state);
    });
  }
  return states;
}

State last_twin(State state) {
  state.after = After::close;
  return state;
}

std::string document() {
  std::vector<State> states = reachable_states();
  std::string text = introduction() + graphs(states);
  std::erase_if(states, [all = states](const State& state) {
    State twin = state;
    twin.after = After::keep;
    return state.after == After::close && std::ranges::find(all, twin) != all.end();
  });
  for (const Conn conn : {Conn::fresh, Conn::kept, Conn::head, Conn::exchange, Conn::tunnel,
                          Conn::closing, Conn::closed}) {
    if (conn == Conn::exchange) {
      text += "\n## `exchange`\n\nEach state is named `in` · `out` · `attempt`.\n";
    }
    std::vector<State> of_conn;
    std::ranges::copy_if(states, std::back_inserter(of_conn),
                         [&](const State& state) { return state.conn == conn; });
    std::ranges::sort(of_conn, {}, order);
    for (const State& state : of_conn)
      text += section(state, conn == Conn::exchange ? "###" : "##");
  }
  return text;
}

}  // namespace hushgate::proxy::phase
