#include "tests/swarm/draw_asks.h"

#include <algorithm>

namespace hushgate::swarm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostChunks = 200;
constexpr std::size_t kMostPieces = 60;

}  // namespace

Ask Asks::begin() {
  Ask ask;
  ask.id = next_id_++;
  ask.upstream = dice_.between(0, plan_.upstreams.size() - 1);
  return ask;
}

// Nobody takes more than a fourth of what is left for all.
std::size_t Asks::afford(std::size_t bytes) {
  const std::size_t afforded = std::min(bytes, left_bytes_ / 4);
  left_bytes_ -= afforded;
  return afforded;
}

std::size_t Asks::size() {
  if (dice_.percent(10)) return 0;
  if (dice_.percent(75)) return dice_.spread(1, 2'000);
  return dice_.percent(95) ? dice_.spread(2'000, 32'000) : dice_.spread(32'000, 300'000);
}

Body Asks::body(std::size_t bytes) {
  Body body;
  body.shape = dice_.one_of({BodyShape::length, BodyShape::length, BodyShape::chunked});
  body.bytes = afford(bytes);
  body.chunk_bytes = std::max(dice_.spread(1, 8'192), body.bytes / kMostChunks);
  body.trailers = dice_.percent(25);
  return body;
}

Ask Asks::safe() {
  Ask ask = begin();
  ask.method = dice_.one_of({"GET", "GET", "GET", "HEAD", "OPTIONS"});
  if (dice_.percent(5)) ask.body.shape = BodyShape::length;
  ask.keyed = dice_.percent(5);
  ask.says_close = dice_.percent(5);
  draw_answers(ask);
  return ask;
}

Ask Asks::unsafe() {
  Ask ask = begin();
  ask.method = dice_.one_of({"POST", "POST", "PUT", "DELETE", "PATCH", "PURGE", "QUERY", "GET"});
  const bool bodyless = ask.method != "GET" && dice_.percent(30);
  if (!bodyless) ask.body = body(std::max<std::size_t>(size(), 1));
  if (ask.method == "GET" && ask.body.bytes == 0) ask.method = "POST";
  ask.keyed = dice_.percent(40);
  ask.says_close = dice_.percent(5);
  draw_answers(ask);
  return ask;
}

Ask Asks::upload(std::size_t bytes) {
  Ask ask = begin();
  ask.method = dice_.one_of({"POST", "PUT", "PATCH"});
  ask.body = body(bytes);
  draw_answers(ask);
  return ask;
}

Ask Asks::upgrade() {
  Ask ask = begin();
  ask.upgrades = true;
  ask.tunnel_bytes = afford(size());
  draw_answers(ask);
  Answer& first = ask.answers.front();
  if (dice_.percent(80)) first.manner = Answer::Manner::switches;
  if (dice_.percent(30)) {
    first.reads_bytes = dice_.spread(1, 4'096);
    first.read_gap = dice_.time(1ms, 200ms);
  }
  return ask;
}

Ask Asks::faulty() {
  Ask ask = begin();
  ask.method = dice_.one_of({"GET", "POST", "PUT"});
  ask.fault = static_cast<Fault>(dice_.between(1, static_cast<unsigned>(Fault::chunk_without_lf)));
  if (dice_.percent(60)) ask.body = body(dice_.spread(1, 2'000));
  if (ask.fault > Fault::last_in_head) {
    ask.body.shape = BodyShape::chunked;
    ask.body.trailers = false;
  }
  draw_answers(ask);
  return ask;
}

void Asks::answer_with(Ask& ask, std::size_t bytes) { ask.answers.front() = proper(bytes); }

void Asks::answer_early(Ask& ask) {
  Answer& first = ask.answers.front();
  first.early_at = dice_.between(0, ask.body.bytes);
  if (dice_.percent(50)) first.status = dice_.one_of({401, 413, 200});
  if (dice_.percent(50)) drip(first);
}

// Behind a bad answer, mostly a proper one follows.
void Asks::draw_answers(Ask& ask) {
  ask.answers[0] = answer(ask, kinds_.pick(dice_));
  ask.answers[1] =
      dice_.percent(85) ? proper(dice_.spread(1, 500)) : answer(ask, kinds_.pick(dice_));
}

Answer Asks::proper(std::size_t bytes) {
  Answer answer;
  answer.body = body(bytes);
  answer.status = dice_.one_of({200, 200, 200, 201, 404, 500, 503});
  if (dice_.percent(50)) answer.think = dice_.time(10us, 20ms);
  return answer;
}

Answer Asks::answer(const Ask& ask, AnswerKind kind) {
  Answer drawn = proper(kind == AnswerKind::large ? dice_.spread(16'000, 300'000) : size());
  drawn.continues = dice_.percent(80);
  if (dice_.percent(50)) drawn.continue_after = dice_.time(10us, 50ms);
  if (dice_.percent(20)) drip(drawn);
  set_manner(drawn, kind);
  set_time(drawn, ask, kind);
  set_end(drawn, kind);
  return drawn;
}

void Asks::set_manner(Answer& answer, AnswerKind kind) {
  switch (kind) {
    case AnswerKind::ends_silently:
      answer.manner = Answer::Manner::silent_end;
      answer.leave = dice_.one_of({Leave::close, Leave::reset, Leave::finish, Leave::vanish});
      break;
    case AnswerKind::stale_timeout: answer.manner = Answer::Manner::stale_timeout; break;
    case AnswerKind::never: answer.manner = Answer::Manner::never; break;
    case AnswerKind::nonsense: answer.manner = Answer::Manner::nonsense; break;
    case AnswerKind::ambiguous: answer.manner = Answer::Manner::ambiguous; break;
    case AnswerKind::switches: answer.manner = Answer::Manner::switches; break;
    case AnswerKind::bodyless: answer.status = dice_.one_of({204, 304}); break;
    case AnswerKind::until_eof: answer.body.shape = BodyShape::eof; break;
    case AnswerKind::with_interims:
      answer.interims =
          static_cast<int>(dice_.percent(90) ? dice_.between(1, 4) : dice_.between(30, 34));
      break;
    default: break;
  }
  answer.tunnel_bytes = answer.manner == Answer::Manner::switches ? afford(size()) : 0;
  answer.tunnel_gap = dice_.percent(50) ? Duration::zero() : dice_.time(1ms, 500ms);
  answer.tunnel_leave = dice_.one_of({Leave::finish, Leave::finish, Leave::close, Leave::reset});
  answer.tunnel_stays = dice_.percent(40);
}

void Asks::set_time(Answer& answer, const Ask& ask, AnswerKind kind) {
  switch (kind) {
    case AnswerKind::late:
      answer.think = dice_.time(1ms, plan_.limits.upstream_timeout * 3 / 2);
      break;
    case AnswerKind::dripped: drip(answer); break;
    case AnswerKind::early: answer.early_at = dice_.between(0, ask.body.bytes); break;
    case AnswerKind::takes_slowly:
      answer.reads_bytes = dice_.percent(25) ? 0 : dice_.spread(100, 10'000);
      answer.read_gap = dice_.time(1ms, plan_.limits.upstream_timeout * 5 / 4);
      break;
    default: break;
  }
}

void Asks::set_end(Answer& answer, AnswerKind kind) {
  switch (kind) {
    case AnswerKind::cut:
      answer.cut_at = dice_.spread(1, answer.body.bytes + 200);
      answer.leave = dice_.one_of({Leave::close, Leave::reset, Leave::finish, Leave::vanish});
      if (dice_.percent(30)) answer.body.shape = BodyShape::eof;
      break;
    case AnswerKind::closes_soon: answer.closes_after = dice_.time(1ms, 4s); break;
    case AnswerKind::says_close: answer.says_close = true; break;
    case AnswerKind::stray:
      answer.stray_bytes = dice_.spread(1, 200);
      answer.stray_after = dice_.percent(30) ? Duration::zero() : dice_.time(10us, 100ms);
      break;
    case AnswerKind::hints:
      answer.keep_alive_hint_s = static_cast<unsigned>(dice_.between(0, 3));
      break;
    case AnswerKind::ignores_close: answer.ignores_close = true; break;
    default: break;
  }
}

// Now and then there are a few long pauses instead of many short ones.
void Asks::drip(Answer& answer) {
  const bool patient = dice_.percent(20);
  const std::size_t pieces = patient ? 4 : kMostPieces;
  answer.piece_bytes = std::max(dice_.spread(1, 2'000), (answer.body.bytes + 200) / pieces);
  const Duration longest = patient ? plan_.limits.upstream_timeout * 5 / 4 : 20ms;
  answer.piece_gap = dice_.percent(20) ? Duration::zero() : dice_.time(10us, longest);
}

}  // namespace hushgate::swarm
