// I7: what is held of a body is bounded. I10: nothing stays in a pool beyond its time.
#include <algorithm>
#include <vector>

#include "tests/swarm/checker.h"

namespace hushgate::swarm {
namespace {

constexpr std::uint64_t kHeadBytes = 4'096;  // more than any head of a peer's has
constexpr std::uint64_t kChunkFraming = 12;  // bytes around a chunk, at most

class BoundsChecker final : public Checker {
 public:
  using Checker::Checker;

  void turn_ended() override {
    for (const Link* link : facts_.open) {
      if (link->over()) continue;
      if (link->kind == Link::Kind::client) {
        check_unconnected(*link);
      } else if (!link->tries.empty()) {
        check_try(*link->tries.back());
      } else if (link->established && !link->failed) {
        stage_.court.object("I8",
                            fmt::format("{} is open and nobody uses it", link->socket.connection));
      }
    }
    check_pools();
  }

 private:
  void check_try(const Try& attempt) {
    if (attempt.call == nullptr || attempt.call->last_try() != &attempt) return;
    if (attempt.call->response.complete) return check_rest(attempt);
    check_response(attempt);
    if (attempt.tunnel) return check_tunnel(attempt);
    if (!attempt.call->is_tunnel()) check_request(attempt);
  }

  // Before there is a connection, a client is read no further than its head.
  void check_unconnected(const Link& link) {
    const Call* const call = link.due();
    if (call == nullptr || call->last_try() != nullptr || call->response.begun) return;
    if (link.finished || answer_waits(link)) return;  // it is read away
    if (link.taken <= call->begins + kHeadBytes + bound()) return;
    stage_.court.object("I7", fmt::format("{} bytes of r{} are held without a connection",
                                          link.taken - call->begins, call->ask->id));
  }

  // Half an answer has gone out, or its client takes nothing of it.
  bool answer_waits(const Link& link) const {
    return link.reader.state() == MessageReader::State::head ||
           stage_.network.end(link.socket).send_room() == 0;
  }

  void check_tunnel(const Try& attempt) {
    if (attempt.link->failed) return;  // what is meant for it is dropped
    const Call& call = *attempt.call;
    const std::uint64_t taken = call.client->taken - std::min(call.client->taken, call.ends);
    const std::uint64_t given = attempt.link->sent - attempt.sent_at_end;
    if (taken <= given + bound()) return;
    stage_.court.object(
        "I7", fmt::format("{} bytes of the tunnel of r{} are held", taken - given, call.ask->id));
  }

  // No pool holds more than it may.
  void check_pools() {
    std::vector<unsigned> pooled(facts_.plan.upstreams.size());
    for (const Link* link : facts_.open) {
      if (link->over() || link->tries.empty()) continue;
      const Try& attempt = *link->tries.back();
      if (attempt.call == nullptr || attempt.call->last_try() != &attempt) continue;
      if (!attempt.call->response.complete || !is_pooled(attempt)) continue;
      if (++pooled[link->upstream] <= facts_.plan.upstreams[link->upstream].max_idle) continue;
      stage_.court.object("I10", fmt::format("upstream {} has {} idle connections", link->upstream,
                                             pooled[link->upstream]));
    }
  }

  // What a buffer may hold and one receive on top of it.
  std::uint64_t bound() const { return 2ULL * facts_.plan.limits.max_buffered_bytes; }

  void check_request(const Try& attempt) {
    const Call& call = *attempt.call;
    const std::uint64_t taken = call.client->taken;
    if (taken <= call.head_ends) return;
    const std::uint64_t raw = std::min(taken, call.ends) - call.head_ends;
    const std::uint64_t ahead = taken - std::min(taken, call.ends);
    const std::uint64_t payload = payload_within(call.ask->body, raw) + ahead;
    const std::uint64_t most = limits(call).max_body_bytes;
    if (most != 0 && attempt.body_bytes > most + bound()) {
      stage_.court.object("I7", fmt::format("{} bytes of the body of r{} were let through",
                                            attempt.body_bytes, call.ask->id));
    }
    if (payload <= attempt.body_bytes + bound()) return;
    stage_.court.object("I7", fmt::format("{} bytes of the body of r{} are held",
                                          payload - attempt.body_bytes, call.ask->id));
  }

  void check_response(const Try& attempt) {
    const Call& call = *attempt.call;
    const std::uint64_t raw = attempt.link->taken - attempt.taken_before;
    std::uint64_t framing = 0;
    for (const Answer& answer : call.ask->answers) {
      if (answer.body.shape != BodyShape::chunked) continue;
      framing = std::max(framing, raw / answer.body.chunk_bytes * kChunkFraming);
    }
    if (raw <= call.response.body_bytes + bound() + kHeadBytes + framing) return;
    stage_.court.object("I7", fmt::format("{} bytes of the answer to r{} are held",
                                          raw - call.response.body_bytes, call.ask->id));
  }

  static bool is_pooled(const Try& attempt) {
    if (attempt.call->response.stray) return false;  // it said close
    const Answer& answer = attempt.call->ask->answers[attempt.call->response.answer];
    const bool lasts = answer.manner == Answer::Manner::proper && !answer.says_close &&
                       answer.body.shape != BodyShape::eof;
    return attempt.call->ask->safe_bodyless() && lasts && answer.keep_alive_hint_s.value_or(2) > 1;
  }

  Duration rest_limit(const Try& attempt) const {
    const Call& call = *attempt.call;
    const Answer& answer = call.ask->answers[call.response.answer];
    const auto hint = answer.keep_alive_hint_s;
    if (!is_pooled(attempt)) return facts_.plan.upstreams[attempt.link->upstream].close_wait;
    const Duration longest = facts_.pool_idle_longest[attempt.link->upstream];
    return hint ? std::min<Duration>(longest, std::chrono::seconds(*hint) - Ms{1'000}) : longest;
  }

  // The exchange is over: pooled, or its upstream's FIN is awaited.
  void check_rest(const Try& attempt) {
    const Call& call = *attempt.call;
    const Duration limit = rest_limit(attempt);
    const Duration rested =
        now() - std::max(*call.response.complete, attempt.complete.value_or(Time{}));
    if (rested <= limit + facts_.period + facts_.slack) return;
    stage_.court.object("I10",
                        fmt::format("{} has rested for {} ms, {} ms are allowed",
                                    attempt.link->socket.connection, to_ms(rested), to_ms(limit)));
  }
};

}  // namespace

std::unique_ptr<Checker> make_bounds_checker(const Facts& facts, const Stage& stage) {
  return std::make_unique<BoundsChecker>(facts, stage);
}

}  // namespace hushgate::swarm
