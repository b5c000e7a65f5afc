// I1: nothing stays in a budgeted state longer than its budget, what it was lengthened by, and one
// period of the sweep. I11 follows: where nobody makes progress, every exchange ends.
//
// Which state a connection is in is judged from the network alone. Where that leaves a doubt, the
// time counts for nobody: a bound here is never tighter than the contract's.
#include <algorithm>

#include "tests/swarm/checker.h"

namespace hushgate::swarm {
namespace {

constexpr Ms kLingerLook{250};  // how often an unacknowledged end is looked at while closing
constexpr Ms kLongestBackoff{30'000};

enum class Turn : std::uint8_t {
  idle,        // nothing is asked for
  head,        // part of a head is here
  reading,     // the request's body is the client's to send, and the upstream takes it
  connecting,  // there is no upstream connection
  serving,     // the upstream's turn
  sending,     // bytes of the answer wait because the client takes none
  tunnel,
  closing,
  doubtful,
};

class TurnsChecker final : public Checker {
 public:
  using Checker::Checker;

  void turn_ended() override {
    const Duration passed = now() - last_;
    last_ = now();
    for (const Link* link : facts_.open) {
      if (link->kind == Link::Kind::client && !link->over()) look(*link, passed);
    }
  }

 private:
  struct Stay {
    Turn turn = Turn::idle;
    Time since{};          // of `turn`
    Duration read{};       // of the call's reading, in all
    std::size_t call = 0;  // whose
    Time last_doubt{};     // when it was last not surely the upstream's turn
    Time mark{};           // sending: from when its window is counted
    std::uint64_t marked = 0;
  };

  static Turn judge(const Link& link) {
    const Call* const call = link.due();
    if (call != nullptr && call->is_tunnel()) return Turn::tunnel;
    if (link.finished) return Turn::closing;
    if (link.reader.state() == MessageReader::State::head) return Turn::doubtful;  // half an answer
    if (link.overtaken()) return Turn::reading;
    if (call == nullptr) return Turn::idle;
    if (!call->head_here()) return call->response.begun ? Turn::doubtful : Turn::head;
    const Try* const last = call->last_try();
    if (last == nullptr || last->link->over()) {
      return link.unacknowledged() > 0 ? Turn::doubtful : Turn::connecting;
    }
    const Link& upstream = *last->link;
    if (link.unacknowledged() > 0) {
      return upstream.arrived > upstream.taken ? Turn::sending : Turn::doubtful;
    }
    if (call->whole_here() || call->response.begun) return Turn::serving;
    const bool waits = call->ask->expects && call->interims == 0;
    if (waits || upstream.unacknowledged() > 0) return Turn::doubtful;
    return Turn::reading;
  }

  void look(const Link& link, Duration passed) {
    if (stays_.size() <= link.number) stays_.resize(link.number + 1);
    Stay& stay = stays_[link.number];
    const Turn turn = judge(link);
    const bool same = stay.call == link.answered && stay.turn == turn;
    if (same && turn == Turn::reading) stay.read += passed;
    // What is left of an overtaken request has its old stamp.
    if (stay.call != link.answered && !link.overtaken()) stay.read = Duration::zero();
    if (!same) {
      stay.call = link.answered;
      stay.turn = turn;
      stay.since = stay.mark = now();
      stay.marked = link.acknowledged;
    }
    if (turn == Turn::sending || turn == Turn::doubtful) stay.last_doubt = now();
    check(link, stay);
  }

  void check(const Link& link, Stay& stay) {
    switch (stay.turn) {
      case Turn::idle: return check_idle(link);
      case Turn::head: return check_head(link);
      case Turn::reading: return check_reading(link, stay);
      case Turn::connecting: return check_connecting(link, stay);
      case Turn::serving: return check_serving(link, stay);
      case Turn::sending: return check_sending(link, stay);
      case Turn::tunnel: return check_tunnel(link, stay);
      case Turn::closing: return check_closing(link);
      case Turn::doubtful: return check_doubtful(link, stay);
    }
  }

  // `used` of `budget`.
  void hold(const Link& link, std::string_view state, Duration used, Duration budget,
            std::string_view invariant = "I1") {
    const Duration late = facts_.period + facts_.slack + facts_.accept_pause;
    if (used <= budget + late) return;
    stage_.court.object(
        invariant, fmt::format("{} (client {}) is in {} for {} ms; {} ms are its budget",
                               link.socket.connection, link.client.value_or(0), state, to_ms(used),
                               to_ms(budget)));
  }

  static Time end_of_last(const Link& link) {
    if (link.answered == 0) return *link.accepted;
    const Call& last = *link.calls[link.answered - 1];
    return std::max(*last.response.complete, last.whole.value_or(Time{}));
  }

  void check_idle(const Link& link) {
    const Time since = std::max({*link.accepted, link.last_sent, link.last_taken});
    hold(link, "idle", now() - since, facts_.idle_longest);
  }

  void check_head(const Link& link) {
    const Time since = std::max(*link.due()->first_byte, end_of_last(link));
    const Duration budget = std::min<Duration>(
        {facts_.idle_longest, limits(*link.due()).request_timeout, kHeadBudgetCeiling});
    hold(link, "head", now() - since, budget);
  }

  void check_reading(const Link& link, const Stay& stay) {
    const Call& call = *link.calls[link.overtaken() ? link.answered - 1 : link.answered];
    Duration budget = limits(call).request_timeout;
    const std::uint64_t rate = limits(call).min_upload_bytes_per_second;
    const std::uint64_t raw =
        std::min(link.arrived, call.ends) - std::min(link.arrived, call.head_ends);
    if (rate != 0) budget += std::chrono::milliseconds(raw * 1'000 / rate + 1);
    hold(link, "receiving", stay.read, budget);
  }

  void check_connecting(const Link& link, const Stay& stay) {
    hold(link, "connecting", now() - stay.since, connecting_budget(*link.due()));
  }

  void check_serving(const Link& link, const Stay& stay) {
    const Call& call = *link.due();
    const Try& last = *call.last_try();
    const Link& upstream = *last.link;
    Time since =
        std::max({last.begun, upstream.last_taken, upstream.last_arrived, stay.last_doubt});
    if (!call.response.begun) since = std::max(since, upstream.last_sent);
    hold(link, "serving", now() - since, limits(call).upstream_timeout);
  }

  // Two windows: the one in which it took enough for the last time, and the next. Where more was
  // taken from the upstream, nothing waited for a moment, and a new window began.
  void check_sending(const Link& link, Stay& stay) {
    const Limits& limits = Checker::limits(*link.due());
    if (link.acknowledged - stay.marked >= limits.min_send_bytes) {
      stay.mark = now();
      stay.marked = link.acknowledged;
    }
    const Time since = std::max(stay.mark, link.due()->last_try()->link->last_taken);
    hold(link, "sending", now() - since, 2 * limits.send_timeout + facts_.period);
  }

  void check_tunnel(const Link& link, Stay& stay) {
    const Limits& limits = Checker::limits(*link.due());
    const Link& upstream = *link.due()->last_try()->link;
    const bool blocked = link.unacknowledged() > 0 && upstream.arrived > upstream.taken;
    if (!blocked || link.acknowledged - stay.marked >= limits.min_send_bytes) {
      stay.mark = now();
      stay.marked = link.acknowledged;
    }
    hold(link, "a blocked tunnel", now() - stay.mark, 2 * limits.send_timeout + facts_.period);
    // What waits for either end has another clock.
    if (link.unacknowledged() > 0 || upstream.unacknowledged() > 0) stay.last_doubt = now();
    if (limits.tunnel_idle_timeout.count() == 0) return;
    const Time active =
        std::max({link.last_taken, link.last_sent, upstream.last_taken, upstream.last_sent,
                  *link.due()->response.begun, stay.since, stay.last_doubt});
    hold(link, "an idle tunnel", now() - active, limits.tunnel_idle_timeout);
  }

  // Whoever's turn it is: where nothing moves at all, some budget ends it.
  void check_doubtful(const Link& link, const Stay& stay) {
    const Call* const call = link.due();
    if (call == nullptr) return;
    const Limits& limits = Checker::limits(*call);
    Time moved = std::max(stay.since, last_move(link));
    Duration budget = limits.request_timeout + limits.upstream_timeout + 2 * limits.send_timeout +
                      facts_.period + connecting_budget(*call);
    const std::uint64_t rate = limits.min_upload_bytes_per_second;
    const std::uint64_t bytes = call->ends - call->begins;
    if (rate != 0) budget += std::chrono::milliseconds(bytes * 1'000 / rate + 1);
    if (call->last_try() != nullptr) moved = std::max(moved, last_move(*call->last_try()->link));
    hold(link, "a state in which nothing moves", now() - moved, budget, "I11");
  }

  static Time last_move(const Link& link) {
    return std::max({link.last_sent, link.last_acknowledged, link.last_taken, link.last_arrived});
  }

  static Duration connecting_budget(const Call& call) {
    const Limits& limits = Checker::limits(call);
    const Duration round =
        limits.connect_total + std::min(limits.retry_backoff * 16, kLongestBackoff);
    return round * (limits.upstream_retries + 1);
  }

  void check_closing(const Link& link) {
    hold(link, "closing", now() - *link.finished, kLingerTotal);
    if (link.unacknowledged() > 0) return;
    const Time since = std::max({*link.finished, link.last_taken, link.last_acknowledged});
    hold(link, "silent closing", now() - since, kLingerSilence + kLingerLook);
    const bool timed_out = link.answered > 0 &&
                           link.calls[link.answered - 1]->response.error_type == "request_timeout";
    if (timed_out) hold(link, "closing behind a 408", now() - *link.finished, kLingerAfterTimeout);
  }

  std::vector<Stay> stays_;
  Time last_{};
};

}  // namespace

std::unique_ptr<Checker> make_turns_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<TurnsChecker>(facts, stage);
}

}  // namespace hushgate::swarm
