// I3, I4 and I13: how often a request reaches upstreams, on which connections, and that nobody pays
// for a stale one.
#include "tests/swarm/checker.h"

namespace hushgate::swarm {
namespace {

class ReplayChecker final : public Checker {
 public:
  using Checker::Checker;

  // I10: what the kernel had delivered before the request is never taken for its response.
  void request_begins(const Try& attempt) override {
    if (!attempt.reused()) return;
    const io::SimEnd& end = stage_.network.end(attempt.link->socket);
    const bool quiet =
        end.readable_bytes() == 0 && !end.fin_received() && end.state() != io::SimEnd::State::dead;
    if (quiet && !lies_behind_an_answer(*attempt.link)) return;
    stage_.court.object("I10",
                        fmt::format("a request was given to {}, on which bytes lay ({} unread)",
                                    attempt.link->socket.connection, end.readable_bytes()));
  }

  void request_known(const Try& attempt) override {
    const Ask& ask = *attempt.call->ask;
    if (ask.fault != Fault::none && ask.fault <= Fault::last_in_head) {
      return object("I6", attempt, "could be read in two ways, and was forwarded");
    }
    if (!ask.safe_bodyless()) return check_unsafe(attempt);
    check_company(attempt);
    if (attempt.call->tries.size() == 2) check_second(attempt);
    if (attempt.call->tries.size() > 2) object("I4", attempt, "was sent a third time");
  }

  void response_begins(const Call& call) override {
    if (!call.response.stray || (call.last_try() != nullptr && may_stray(*call.last_try()->link)))
      return;
    stage_.court.object("I6",
                        fmt::format("r{} was given an answer that is nobody's", call.ask->id));
  }

  // A safe request whose first connection ended without a byte has been tried again.
  void response_complete(const Call& call) override {
    if (call.response.error_type != "connection_terminated" || !call.ask->safe_bodyless()) return;
    const Try& last = *call.last_try();
    if (last.answer_bytes() > 0 || call.tries.size() > 1) return;
    object("I13", last, "failed on its first connection and was not sent again");
  }

 private:
  void object(std::string_view invariant, const Try& attempt, std::string_view what) {
    stage_.court.object(
        invariant,
        fmt::format("r{} ({}) {}; on {}, try {}", attempt.call->ask->id, attempt.call->ask->method,
                    what, attempt.link->socket.connection, attempt.call->tries.size()));
  }

  void check_unsafe(const Try& attempt) {
    if (attempt.call->tries.size() > 1) object("I3", attempt, "is unsafe and was sent again");
    if (attempt.reused()) object("I3", attempt, "is unsafe and met a used connection");
  }

  // Unasked bytes came behind the last answer, and were not taken for it.
  static bool lies_behind_an_answer(const Link& link) {
    if (!link.strays_from || link.arrived <= *link.strays_from) return false;
    const Try& before = *link.tries[link.tries.size() - 2];
    return before.call != nullptr && !before.call->response.stray;
  }

  // A connection that carried an unsafe request carries nothing else.
  void check_company(const Try& attempt) {
    for (const Try* other : attempt.link->tries) {
      if (other->call == nullptr || other->call->ask->safe_bodyless()) continue;
      object("I3", attempt,
             fmt::format("shares its connection with r{}, which is unsafe", other->call->ask->id));
    }
  }

  void check_second(const Try& second) {
    const Try& first = *second.call->tries.front();
    if (second.reused()) object("I4", second, "was sent again on a used connection");
    if (first.answer_bytes() == 0 || is_stale_timeout(*second.call, first)) return;
    object("I4", second, "was sent again behind the first bytes of an answer");
  }

  static bool is_stale_timeout(const Call& call, const Try& attempt) {
    const bool first = call.tries.front().get() == &attempt;
    return first && attempt.reused() &&
           call.ask->answers[0].manner == Answer::Manner::stale_timeout;
  }
};

}  // namespace

std::unique_ptr<Checker> make_replay_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<ReplayChecker>(facts, stage);
}

}  // namespace hushgate::swarm
