// Test only: all orders of events, against a witness that knows only the contract's words. Orders
// are counted exactly; what is checked is every distinct step of (state, witness), until nothing
// new is reachable: orders of any length.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proxy/phase.h"

namespace hushgate::proxy::phase {

inline constexpr int kDepth = 8;

// What is under test: the table, or a mutant of it.
struct Law {
  bool (*applicable)(const State&, Event) = phase::applicable;
  Step (*step)(const State&, Event) = phase::step;
  ClientClock (*client_clock)(const State&) = phase::client_clock;
  UpstreamClock (*upstream_clock)(const State&) = phase::upstream_clock;
};

enum class Kind : std::uint8_t { none, safe, bodyless, body, expect, local, refused };
enum class Final : std::uint8_t { none, upstreams, ours };

// The name of a broken rule, or nullptr.
using Broken = const char*;

// The witness: what has happened, in the contract's words. It never looks into a State but for
// `conn`.
struct Witness {
  Conn conn = Conn::fresh;
  Kind kind = Kind::none;
  Final final = Final::none;  // whose final head is on its way
  bool asked = false;         // an attempt of this exchange has begun
  bool replayed = false;      // ... and one more, because the fate of the first was unknown
  bool open = false;          // one has not ended
  bool connected = false;     // ... and has a connection
  bool complete = false;      // the request
  bool over = false;          // the response
  bool spoke = false;         // a byte of the response has come
  bool interim = false;       // a 1xx has come
  bool awaits = false;      // Expect: nothing has come back, and the client has not begun the body
  bool discards = false;    // what is left of the request is only read away
  bool full = false;        // the upstream takes no bytes
  bool waits = false;       // bytes wait for the client
  bool must_close = false;  // 400, 408, 413, 431, or a body that may or may not come
  bool last = false;        // one side said close, or the process is stopping

  bool in_exchange() const { return conn == Conn::exchange; }
  bool half_out() const { return final != Final::none && !over; }
  bool reads_body() const {
    return in_exchange() && !complete && (discards || (connected && !full));
  }
  bool clients_turn() const { return reads_body() && !awaits; }

  ClientClock client_clock() const;
  UpstreamClock upstream_clock() const;
  Shown shown() const;
  bool possible(Event event) const;
  Broken watch(Event event, const State& before, const Step& step, const Law& law);

 private:
  void note(Event event);
  Broken upstream_sees(Event event, const Step& step, const Witness& was);
  Broken client_sees(Event event, const Step& step, const Witness& was);
  Broken owed(Event event, const State& before, const Step& step, const Witness& was) const;
  Broken owed_to_clocks(Event event, const Step& step, const Witness& was) const;
  Broken owed_at_the_end(const Step& step) const;
  Broken clocks(const State& state, const Law& law) const;
};

// A state with its witness, as a key.
struct Node {
  State state{};
  Witness witness{};
};
struct Key {
  std::uint64_t state;
  std::array<std::uint8_t, sizeof(Witness)> witness;
  bool operator==(const Key&) const = default;
};
static_assert(sizeof(State) == 8, "one byte for each field, and none between them");

inline Key key_of(const Node& node) {
  return {std::bit_cast<std::uint64_t>(node.state),
          std::bit_cast<std::array<std::uint8_t, sizeof(Witness)>>(node.witness)};
}

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = key.state * 0x9e3779b97f4a7c15U;
    for (const std::uint8_t byte : key.witness) hash = (hash ^ byte) * 0x100000001b3U;
    return hash ^ (hash >> 29U);
  }
};

struct Edge {
  std::size_t from;
  std::size_t to;
};

// Everything that is reachable, in order of distance, until a rule breaks.
class Graph {
 public:
  explicit Graph(const Law& law) : law_(law) {
    add({}, 0, 0, Event::last);
    for (std::size_t i = 0; i < nodes_.size() && broken_.empty(); ++i) expand(i);
  }

  const std::string& broken() const { return broken_; }
  const std::string& order() const { return order_; }
  int depth_of_breach() const { return breach_depth_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  std::size_t nodes_within(int depth) const {
    std::size_t count = 0;
    for (const int d : depths_) count += d <= depth ? 1U : 0U;
    return count;
  }
  std::size_t steps_within(int depth) const {
    std::size_t count = 0;
    for (const Edge& edge : edges_) count += depths_[edge.from] < depth ? 1U : 0U;
    return count;
  }
  // Orders of `depth` events, and those that ended in `closed` before.
  std::uint64_t orders(int depth) const {
    std::vector<std::uint64_t> now(nodes_.size(), 0);
    now[0] = 1;
    std::uint64_t ended = 0;
    for (int d = 0; d < depth; ++d) {
      std::vector<std::uint64_t> next(nodes_.size(), 0);
      for (const Edge& edge : edges_) next[edge.to] += now[edge.from];
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].state.conn == Conn::closed) ended += now[i];
      }
      now = std::move(next);
    }
    for (const std::uint64_t count : now) ended += count;
    return ended;
  }
  int deepest() const { return depths_.back(); }
  std::size_t steps() const { return edges_.size(); }

 private:
  std::size_t add(const Node& node, int depth, std::size_t parent, Event event) {
    const auto [at, fresh] = ids_.try_emplace(key_of(node), nodes_.size());
    if (fresh) {
      nodes_.push_back(node);
      depths_.push_back(depth);
      parents_.emplace_back(parent, event);
    }
    return at->second;
  }

  void expand(std::size_t i) {
    for (int e = 0; e < kEvents; ++e) {
      const Event event = static_cast<Event>(e);
      Node node = nodes_[i];
      if (!law_.applicable(node.state, event)) continue;
      const Step step = law_.step(node.state, event);
      if (const Broken broken = node.witness.watch(event, node.state, step, law_)) {
        broken_ = broken;
        order_ = path_to(i) + std::string(name(event));
        breach_depth_ = depths_[i] + 1;
        return;
      }
      node.state = step.state;
      edges_.push_back({i, add(node, depths_[i] + 1, i, event)});
    }
  }

  std::string path_to(std::size_t i) const {
    if (i == 0) return {};
    return path_to(parents_[i].first) + std::string(name(parents_[i].second)) + ", ";
  }

  Law law_;
  std::string broken_;
  std::string order_;
  int breach_depth_ = 0;
  std::vector<Node> nodes_;
  std::vector<int> depths_;
  std::vector<std::pair<std::size_t, Event>> parents_;
  std::vector<Edge> edges_;
  std::unordered_map<Key, std::size_t, KeyHash> ids_;
};

// hushgate's own turn: its answer is being written, which ends in local_end or takes_not at once.
bool is_our_turn(const State& state);

// Into the test's output and its properties.
void report(const char* what, std::uint64_t count);

}  // namespace hushgate::proxy::phase
