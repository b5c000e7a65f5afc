// What is known of a life from outside of the gateway: every connection that has an end there, as
// the network carried it, and every exchange, put together from what its client sent and what the
// gateway submitted. The checkers read this and the plan; where a kernel would know more (what
// lies unread at an end), they ask the network.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/sim_network.h"
#include "tests/swarm/message_reader.h"
#include "tests/swarm/plan.h"

namespace hushgate::swarm {

struct Call;
struct Link;

// A request on an upstream connection, from its first byte on.
struct Try {
  Call* call = nullptr;  // null until its target is known
  Link* link = nullptr;
  Time begun{};
  std::uint64_t sent_before = 0, arrived_before = 0, taken_before = 0;  // on the link
  std::optional<Time> answered;  // a first byte of an answer has come to the gateway's end
  bool reused() const { return sent_before > 0; }
  std::uint64_t answer_bytes() const;
  std::uint64_t body_bytes = 0;   // payload submitted
  std::optional<Time> complete;   // all of the request was submitted ...
  std::uint64_t sent_at_end = 0;  // ... with so many bytes sent on the link
  bool tunnel = false;
};

// What the gateway gave a client in answer.
struct Response {
  std::optional<Time> begun;  // its final head was submitted; a 101 too
  std::optional<Time> complete;
  int status = 0;
  bool of_gateway = false;
  bool stray = false;  // bytes of an upstream's that nobody had asked for were taken for it
  bool says_close = false;
  unsigned answer = 0;           // which of the upstream's
  std::uint64_t body_bytes = 0;  // payload submitted
  // Of the gateway's own.
  std::string error_type;
  std::string proxy_status;
  std::string body;
};

// What is in force: a reload puts others in their place, for exchanges that begin from then on.
struct Rules {
  Limits limits;
  config::HalfClose half_close = config::HalfClose::auto_;
};

// An exchange as its client meant it.
struct Call {
  const Ask* ask = nullptr;
  Link* client = nullptr;
  // In the client's stream: where it begins, where its head and where all of it ends.
  std::uint64_t begins = 0, head_ends = 0, ends = 0;
  std::optional<Time> first_byte, head, whole;  // arrived at the gateway's end
  std::optional<Time> taken;                    // all of it, by the gateway
  const Rules* rules = nullptr;                 // in force when its first byte was taken
  bool settled = false;                         // it was
  std::vector<std::unique_ptr<Try>> tries;
  int interims = 0;
  Response response;

  bool head_here() const { return head.has_value(); }
  bool whole_here() const { return whole.has_value(); }
  // The one that may still bring an answer.
  Try* last_try() const { return tries.empty() ? nullptr : tries.back().get(); }
  bool is_tunnel() const { return response.status == 101; }
};

// A connection with an end at the gateway. All counts and times are those of that end.
struct Link {
  explicit Link(Role reads) : reader(reads) {}

  enum class Kind : std::uint8_t { client, upstream };
  Kind kind = Kind::client;
  std::size_t number = 0;  // in Facts::links
  io::SimSocket socket;    // the gateway's end
  Time opened{};           // connect() was called here, or the client's SYN was queued
  std::optional<Time> established;
  std::optional<Time> accepted;  // clients: taken out of the queue

  std::uint64_t sent = 0, acknowledged = 0, arrived = 0, taken = 0;
  std::vector<std::pair<Time, std::uint64_t>> acknowledgements;  // `acknowledged`, after each
  Time last_sent{}, last_acknowledged{}, last_arrived{}, last_taken{};
  std::optional<Time> fin_arrived;
  const Rules* fin_rules = nullptr;  // in force for whom it met
  std::optional<Time> failed;        // reset, refused, timed out
  int error = 0;
  std::optional<Time> finished;  // the gateway sent FIN
  std::optional<Time> closed;    // the gateway has closed it
  io::CloseHow how = io::CloseHow::fin;

  MessageReader reader;  // of what the gateway sends

  // The last answer overtook a request of which something has not come.
  bool overtaken() const;
  // Clients: the calls in the order of their asks; `answered` of them have been answered whole.
  std::optional<std::size_t> client;
  std::vector<std::unique_ptr<Call>> calls;
  std::size_t answered = 0;
  // Upstreams: what was sent on it, in order.
  std::vector<Try*> tries;
  std::size_t upstream = 0;
  // What its other end says, as it is said.
  MessageReader said{Role::response};
  std::uint64_t said_bytes = 0;
  std::size_t asked = 0;                     // of the tries: so many have been answered
  bool interim = false;                      // the last head was that of a 1xx
  std::optional<std::uint64_t> strays_from;  // in its stream: nobody asked for what follows

  // No more than a kernel would still do for it.
  bool over() const { return closed.has_value(); }
  // The call that is next to be answered, if a byte of it has come.
  Call* due() const;
  // The call before the one that is due.
  const Call* before() const { return answered == 0 ? nullptr : calls[answered - 1].get(); }
  // How much the other end had acknowledged at that time.
  std::uint64_t acknowledged_at(Time time) const;
  std::uint64_t unacknowledged() const { return sent - acknowledged; }
};

inline std::uint64_t Try::answer_bytes() const { return link->arrived - arrived_before; }

inline Call* Link::due() const {
  if (answered >= calls.size()) return nullptr;
  Call* const call = calls[answered].get();
  return call->first_byte ? call : nullptr;
}

inline bool Link::overtaken() const { return answered > 0 && !before()->whole_here(); }

inline std::uint64_t Link::acknowledged_at(Time time) const {
  std::uint64_t count = 0;
  for (auto at = acknowledgements.rbegin(); at != acknowledgements.rend(); ++at) {
    if (at->first <= time) {
      count = at->second;
      break;
    }
  }
  return count;
}

// Bytes that its upstream says unasked may come behind the next request: nobody can tell then.
inline bool may_stray(const Link& link) {
  for (const Try* attempt : link.tries) {
    if (attempt->call == nullptr) continue;
    for (const Answer& answer : attempt->call->ask->answers) {
      if (answer.stray_bytes > 0) return true;
    }
  }
  return false;
}

// The gateway as a whole: what it was told, and what bounds it.
struct Facts {
  explicit Facts(const Plan& the_plan) : plan(the_plan) {}

  const Plan& plan;
  // Of all settings that were in force: a reload changes these.
  Ms idle_shortest{}, idle_longest{};
  Ms period{};                        // the longest of a sweep
  std::vector<Ms> pool_idle_longest;  // by upstream
  Duration slack{};  // how late a loop may be for reasons of its own: stalls, turns that cost time

  Duration accept_pause{};  // under shortage: a client's clocks begin so much later
  std::vector<std::unique_ptr<Rules>> rules;  // all that were in force, the last one is
  std::vector<std::unique_ptr<Link>> links;   // in the order of their opening
  std::vector<Link*> open;                    // those that the gateway has not closed
  std::optional<Time> stopped_at;             // stop() was called
  std::optional<Time> cut_at;                 // cut() was called
  std::optional<Time> ended_at;               // the stop was told to have ended

  const Rules& in_force() const { return *rules.back(); }
};

}  // namespace hushgate::swarm
