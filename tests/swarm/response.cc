#include "tests/swarm/response.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace hushgate::swarm {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNonsense = {
    "\x16\x03\x01 no HTTP\r\n\r\n"sv,
    "ICY 200 OK\r\n\r\n"sv,
    "HTTP/1.1 abc OK\r\n\r\n"sv,
    "HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n"sv,
    "\r\n\r\n\r\n"sv,
};
// Behind X-Answer.
constexpr std::array kAmbiguous = {
    "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"sv,
    "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab"sv,
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv,
    "Transfer-Encoding: gzip, chunked, chunked\r\n\r\n0\r\n\r\n"sv,
    "X-Bare: lf\nContent-Length: 0\r\n\r\n"sv,
    "X-Fold: one\r\n two\r\nContent-Length: 0\r\n\r\n"sv,
    "X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n"sv,
    "Content-Length : 0\r\n\r\n"sv,
};
// It says close: who takes it for an answer (nobody can tell, when it comes behind a request) must
// not take the answer proper for that of the next request.
constexpr std::string_view kStray =
    "HTTP/1.1 200 OK\r\nX-Answer: stray\r\nConnection: close\r\nContent-Length: 5\r\n\r\nstray";

std::string begin_head(int status, const AnswerName& name) {
  return fmt::format("HTTP/1.1 {} Swarm\r\nX-Answer: {}\r\n", status, answer_name(name));
}

std::string framing_of(const Answer& answer) {
  if (answer.status == 204 || answer.status == 304) return {};
  switch (answer.body.shape) {
    case BodyShape::none: return "Content-Length: 0\r\n";
    case BodyShape::length: return fmt::format("Content-Length: {}\r\n", answer.body.bytes);
    case BodyShape::chunked: return "Transfer-Encoding: chunked\r\n";
    case BodyShape::eof: return {};
  }
  return {};
}

std::string proper_head(const AnswerName& name, const Answer& answer, Keeping keeping) {
  std::string head = begin_head(answer.status, name);
  if (keeping == Keeping::closes) head += "Connection: close\r\n";
  if (answer.keep_alive_hint_s) {
    head += fmt::format("Keep-Alive: timeout={}\r\n", *answer.keep_alive_hint_s);
  }
  return head + framing_of(answer) + "\r\n";
}

std::string head_of(const Ask& ask, const AnswerName& name, const Answer& answer, Keeping keeping) {
  switch (answer.manner) {
    case Answer::Manner::proper: return proper_head(name, answer, keeping);
    case Answer::Manner::nonsense: return std::string(kNonsense[ask.id % kNonsense.size()]);
    case Answer::Manner::ambiguous:
      return begin_head(answer.status, name) + std::string(kAmbiguous[ask.id % kAmbiguous.size()]);
    case Answer::Manner::stale_timeout:
      return begin_head(status_of(answer), name) + "Connection: close\r\nContent-Length: 0\r\n\r\n";
    case Answer::Manner::switches:
      return begin_head(status_of(answer), name) + "Connection: upgrade\r\nUpgrade: echo\r\n\r\n";
    case Answer::Manner::silent_end:
    case Answer::Manner::never: break;
  }
  return {};
}

}  // namespace

RawResponse response_to(const Ask& ask, unsigned number, const Answer& answer, Keeping keeping) {
  const AnswerName name{.id = ask.id, .number = number};
  RawResponse raw;
  const bool proper = answer.manner == Answer::Manner::proper;
  const bool http = proper || answer.manner == Answer::Manner::switches;
  for (int i = 0; http && i < answer.interims; ++i) raw.bytes += begin_head(103, name) + "\r\n";
  raw.interim_bytes = raw.bytes.size();
  raw.bytes += head_of(ask, name, answer, keeping);
  raw.head_bytes = raw.bytes.size() - raw.interim_bytes;
  if (proper && has_body(ask, answer)) {
    raw.bytes += framed(answer.body, answer_key(ask.id, number));
  }
  if (answer.manner == Answer::Manner::switches) {
    raw.bytes += body_piece(tunnel_down_key(ask), 0, answer.tunnel_bytes);
  }
  return raw;
}

// Whole answers, then what is no HTTP: never half an answer, which the next one would complete.
std::string stray_piece(std::size_t bytes) {
  std::string piece;
  while (piece.size() + kStray.size() <= bytes) piece += kStray;
  return piece.append(bytes - piece.size(), '?');
}

}  // namespace hushgate::swarm
