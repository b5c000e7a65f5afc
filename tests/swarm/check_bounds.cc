// I7: what is held of a body is bounded. I10: nothing stays in a pool beyond its time.
#include <algorithm>

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
      if (link->over() || link->tries.empty()) continue;
      const Try& attempt = *link->tries.back();
      if (attempt.call == nullptr || attempt.call->last_try() != &attempt) continue;
      if (attempt.call->response.complete) {
        check_rest(attempt);
      } else if (!attempt.tunnel && !attempt.call->is_tunnel()) {
        check_request(attempt);
        check_response(attempt);
      }
    }
  }

 private:
  // What a buffer may hold and one receive on top of it.
  std::uint64_t bound() const { return 2ULL * limits().max_buffered_bytes; }

  void check_request(const Try& attempt) {
    const Call& call = *attempt.call;
    const std::uint64_t taken = call.client->taken;
    if (taken <= call.head_ends) return;
    const std::uint64_t raw = std::min(taken, call.ends) - call.head_ends;
    const std::uint64_t payload = payload_within(call.ask->body, raw);
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

  Duration rest_limit(const Try& attempt) const {
    const Call& call = *attempt.call;
    const Answer& answer = call.ask->answers[call.response.answer];
    const auto hint = answer.keep_alive_hint_s;
    const bool pooled = call.ask->safe_bodyless() && !answer.says_close && hint.value_or(2) > 1;
    if (!pooled) return facts_.plan.upstreams[attempt.link->upstream].close_wait;
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
