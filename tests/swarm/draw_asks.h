// Asks and the answers to them, drawn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/swarm/dice.h"
#include "tests/swarm/plan.h"

namespace hushgate::swarm {

// What an upstream does with a request, besides the plain thing.
enum class AnswerKind : std::uint8_t {
  plain,
  late,  // up to beyond upstream_timeout
  large,
  dripped,   // in many small pieces
  bodyless,  // 204, 304
  until_eof,
  with_interims,
  cut,
  ends_silently,
  stale_timeout,
  never,
  nonsense,
  ambiguous,
  closes_soon,  // behind it, after a while
  says_close,
  stray,
  hints,         // Keep-Alive: timeout
  early,         // before the request is whole
  takes_slowly,  // the request
  ignores_close,
  switches,  // although nobody may have asked for it
  last = switches,
};

class Asks {
 public:
  // `dice` and `plan` must outlive it. The plan has all but its clients.
  Asks(Dice& dice, const Plan& plan, std::size_t all_bytes)
      : dice_(dice), plan_(plan), kinds_(dice), left_bytes_(all_bytes) {}

  // Each with its answers. GET, HEAD, OPTIONS without a body.
  Ask safe();
  // Anything else.
  Ask unsafe();
  // With a body of about so many bytes.
  Ask upload(std::size_t bytes);
  Ask upgrade();
  Ask faulty();
  Ask any() { return dice_.percent(70) ? safe() : unsafe(); }
  // Its first answer is a proper one of about so many bytes.
  void answer_with(Ask& ask, std::size_t bytes);
  // ... begins when a part of the request has come.
  void answer_early(Ask& ask);

 private:
  Ask begin();
  Body body(std::size_t bytes);
  std::size_t size();
  std::size_t afford(std::size_t bytes);
  void draw_answers(Ask& ask);
  Answer proper(std::size_t bytes);
  Answer answer(const Ask& ask, AnswerKind kind);
  void set_manner(Answer& answer, AnswerKind kind);
  void set_time(Answer& answer, const Ask& ask, AnswerKind kind);
  void set_end(Answer& answer, AnswerKind kind);
  void drip(Answer& answer);

  Dice& dice_;
  const Plan& plan_;
  Mix<AnswerKind, static_cast<std::size_t>(AnswerKind::last) + 1> kinds_;
  std::size_t left_bytes_;  // of all bodies
  std::uint32_t next_id_ = 1;
};

}  // namespace hushgate::swarm
