// I9: who is gone is not served any more, from the turn on in which it can be seen. And what a stop
// promises at once (I12): nobody new is let in, and every answer says that it is the last.
#include "tests/swarm/checker.h"

namespace hushgate::swarm {
namespace {

class LeavingChecker final : public Checker {
 public:
  using Checker::Checker;

  void turn_ended() override {
    for (const Link* link : facts_.open) {
      if (link->kind == Link::Kind::client) {
        check_accept(*link);
      } else if (!link->over() && !link->tries.empty()) {
        check_served(*link->tries.back());
      }
    }
  }

  void response_begins(const Call& call) override {
    const Response& response = call.response;
    if (!facts_.stopped_at || response.says_close || response.status == 101) return;
    const Time late = *facts_.stopped_at + facts_.slack;
    const Try* const last = call.last_try();
    const bool asked_late = call.head && *call.head > late;
    const bool answered_late = last != nullptr && last->answered && *last->answered > late &&
                               call.interims == 0 && call.client->unacknowledged() == 0;
    if (!asked_late && !answered_late) return;
    stage_.court.object("I12", fmt::format("r{} was answered during the stop, and not told that "
                                           "its connection ends",
                                           call.ask->id));
  }

 private:
  void check_accept(const Link& link) {
    if (!facts_.stopped_at || *link.accepted <= *facts_.stopped_at + facts_.slack) return;
    stage_.court.object("I12",
                        fmt::format("{} was accepted {} ms after the stop", link.socket.connection,
                                    to_ms(*link.accepted - *facts_.stopped_at)));
  }

  // The upstream connection of an exchange that is under way.
  void check_served(const Try& attempt) {
    if (attempt.call == nullptr || attempt.call->last_try() != &attempt) return;
    const Call& call = *attempt.call;
    if (call.response.complete || !is_gone(call)) return;
    stage_.court.object("I9", fmt::format("the client of r{} is gone, and {} is still open",
                                          call.ask->id, attempt.link->socket.connection));
  }

  // Of chunks nobody knows that they will never end before the last of them was taken and given on.
  static bool all_given(const Call& call) {
    const Link& client = *call.client;
    if (client.taken < client.arrived || client.taken <= call.head_ends) return false;
    const std::size_t raw = client.taken - call.head_ends;
    return payload_within(call.ask->body, raw) == call.last_try()->body_bytes;
  }

  bool is_gone(const Call& call) const {
    const Link& client = *call.client;
    const bool left_by_us = client.over() || (client.finished && !call.is_tunnel());
    if (client.failed || left_by_us) return true;
    if (!client.fin_arrived || call.is_tunnel()) return false;
    if (!call.whole_here()) return call.ask->body.shape == BodyShape::length || all_given(call);
    if (!call.taken) return false;  // its FIN lies behind bytes that wait for room
    // A reload between its coming and its being judged leaves a doubt.
    if (client.fin_rules != call.rules) return false;
    switch (call.rules->half_close) {
      case config::HalfClose::serve: return false;
      case config::HalfClose::cancel: return true;
      case config::HalfClose::auto_: break;
    }
    return *client.fin_arrived - std::max(*call.taken, client.last_arrived) >
           kHalfCloseWindow + facts_.slack;
  }
};

}  // namespace

std::unique_ptr<Checker> make_leaving_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<LeavingChecker>(facts, stage);
}

}  // namespace hushgate::swarm
