#include "tests/swarm/upstream_connection.h"

#include <fmt/format.h>

#include <algorithm>

namespace hushgate::swarm {

void UpstreamConnection::begin(std::unique_ptr<io::SimPeer> peer) {
  const std::optional<Duration> idle = upstream_.plan().idle_timeout;
  if (idle) later<&UpstreamConnection::close_idle>(*idle);
  party_.begin(std::move(peer));
}

template <void (UpstreamConnection::*what)()>
void UpstreamConnection::later(Duration time) {
  stage_.network.at(stage_.network.now() + time, [this, epoch = epoch_] {
    if (epoch == epoch_ && !party_.over()) (this->*what)();
  });
}

void UpstreamConnection::quit(Leave how) {
  if (party_.over()) return;
  const bool fin = how == Leave::finish || how == Leave::close;
  const bool speaks = stance_ == Stance::answering && answer_->body.shape == BodyShape::eof;
  if (fin && speaks && !delivery().answer_whole) delivery().eof_by_fin = true;
  leave(how);
}

// What it hears.

void UpstreamConnection::heard(std::string_view bytes) {
  while (!party_.over()) {
    if (stance_ == Stance::left) return;
    if (stance_ == Stance::tunnel) return tunnel_came(bytes);
    const MessageReader::Event event = reader_.read(bytes);
    if (event == MessageReader::Event::none) return;
    perceive(event);
    if (event == MessageReader::Event::fault) return;
  }
}

void UpstreamConnection::perceive(MessageReader::Event event) {
  switch (event) {
    case MessageReader::Event::head: return head_came();
    case MessageReader::Event::body: return body_came(reader_.payload());
    case MessageReader::Event::trailer: trailer_came_ = reader_.field("X-Trailer") == "yes"; return;
    case MessageReader::Event::end: return request_ended();
    case MessageReader::Event::fault: return object("peer", reader_.fault());
    default: return;
  }
}

// A request that is over is not closed upon while it is being answered.
void UpstreamConnection::heard_fin() {
  const bool whole = reader_.state() == MessageReader::State::start;
  const bool thinks = stance_ == Stance::listening && whole;
  const bool speaks = (stance_ == Stance::answering || stance_ == Stance::tunnel) && said_ < last_;
  if (!thinks && !speaks) leave(Leave::close);
}

void UpstreamConnection::head_came() {
  const std::optional<std::size_t> number = upstream_.deliver(reader_.target());
  if (!number) return object("peer", "a request that is nobody's");
  const bool early = stance_ != Stance::idle && !delivery().answer_whole;
  delivery_ = *number;
  object_if(early, "a request before the answer to the one before it was whole");
  begin_exchange();
  check_head();
  if (answer_->reads_bytes) party_.take_slowly(*answer_->reads_bytes, answer_->read_gap);
  if (answer_->continues && !reader_.field("Expect").empty()) {
    later<&UpstreamConnection::say_continue>(answer_->continue_after);
  }
  answer_if_early();
}

void UpstreamConnection::begin_exchange() {
  ++epoch_;
  stance_ = party_.finished() ? Stance::silent : Stance::listening;
  delivery().connection = party_.socket().connection;
  delivery().ordinal = requests_++;
  answer_ = &ask().answers[std::min<std::size_t>(delivery().number, ask().answers.size() - 1)];
  request_says_close_ = reader_.field("Connection") == "close";
  trailer_came_ = false;
  raw_.clear();
  said_ = allowed_ = last_ = 0;
  stage_.journal.note(stage_.network.now(), party_.who(), "is asked r{}, delivery {}", ask().id,
                      delivery().number);
}

void UpstreamConnection::check_head() {
  const bool readable = ask().fault == Fault::none || ask().fault > Fault::last_in_head;
  object_if(!readable, "a request that could be read in two ways");
  object_if(reader_.method() != ask().method, "another method");
  object_if(reader_.count("Host") != 1, "not one Host");
  object_if(reader_.count("Via") == 0, "no Via");
  check_field("Idempotency-Key", ask().keyed ? key_of(ask()) : "");
  check_field("Upgrade", ask().upgrades ? "echo" : "");
  // Without content there is nothing to wait for (RFC 9110 section 10.1.1).
  const Body& body = ask().body;
  const bool has_content = body.shape == BodyShape::chunked || body.bytes > 0;
  check_field("Expect", ask().expects && has_content && !ask().http10 ? "100-continue" : "");
  const bool chunked = ask().body.shape == BodyShape::chunked || ask().fault > Fault::last_in_head;
  check_field("Transfer-Encoding", chunked ? "chunked" : "");
}

void UpstreamConnection::check_field(std::string_view name, std::string_view wanted) {
  const std::size_t count = wanted.empty() ? 0 : 1;
  if (reader_.count(name) == count && reader_.field(name) == wanted) return;
  object("peer", fmt::format("{}: {}", name, reader_.field(name)));
}

void UpstreamConnection::body_came(std::string_view payload) {
  const std::uint64_t before = reader_.body_bytes() - payload.size();
  if (!is_body_piece(request_key(ask()), before, payload)) object("I5", "a byte that was not sent");
  delivery().request_bytes = reader_.body_bytes();
  answer_if_early();
}

void UpstreamConnection::request_ended() {
  delivery().request_complete = true;
  stage_.journal.note(stage_.network.now(), party_.who(), "has heard r{}: {} bytes", ask().id,
                      reader_.body_bytes());
  const Body& body = ask().body;
  const bool whole = reader_.body_bytes() == (body.shape == BodyShape::none ? 0 : body.bytes);
  if (!whole || ask().fault != Fault::none) object("I5", "a request that was cut, and looks whole");
  const bool trailers = body.shape == BodyShape::chunked && body.trailers;
  object_if(trailer_came_ != trailers, "another trailer");
  if (stance_ == Stance::answered) return exchange_ended();
  if (stance_ != Stance::listening) return;
  if (answer_->think == Duration::zero()) return answer();
  later<&UpstreamConnection::answer>(answer_->think);
}

// Behind a 101 that came too early nobody can tell what is the body's and what the tunnel's.
void UpstreamConnection::tunnel_came(std::string_view payload) {
  if (!delivery().request_complete) return;
  if (!is_body_piece(tunnel_up_key(ask()), tunnel_bytes_, payload)) {
    object("I5", "a byte that was not sent through the tunnel");
  }
  tunnel_bytes_ += payload.size();
}

// What it says.

void UpstreamConnection::say_continue() {
  if (stance_ != Stance::listening || reader_.body_bytes() > 0) return;
  raw_ += kContinue;
  allowed_ = last_ = raw_.size();
  say_on();
}

void UpstreamConnection::answer_if_early() {
  const bool early = answer_->early_at && reader_.body_bytes() >= *answer_->early_at;
  if (early && stance_ == Stance::listening) answer();
}

void UpstreamConnection::answer() {
  if (stance_ != Stance::listening) return;
  stage_.journal.note(stage_.network.now(), party_.who(), "answers r{}", ask().id);
  switch (answer_->manner) {
    case Answer::Manner::silent_end: return leave(answer_->leave);
    case Answer::Manner::never: stance_ = Stance::silent; break;
    case Answer::Manner::switches:
      stance_ = ask().upgrades ? Stance::tunnel : Stance::answering;
      break;
    default: stance_ = Stance::answering; break;
  }
  if (stance_ != Stance::silent) {
    return say(response_to(ask(), delivery().number, *answer_,
                           closes() ? Keeping::closes : Keeping::open));
  }
  if (party_.fin_heard()) leave(Leave::close);
}

void UpstreamConnection::say(RawResponse response) {
  final_at_ = raw_.size() + response.interim_bytes;
  body_at_ = final_at_ + response.head_bytes;
  raw_ += response.bytes;
  last_ = is_cut() ? std::min(raw_.size(), final_at_ + *answer_->cut_at) : raw_.size();
  allow_piece();
  say_on();
}

void UpstreamConnection::allow_piece() {
  const bool at_once = answer_->manner == Answer::Manner::stale_timeout;
  allowed_ = at_once ? last_ : std::min(last_, allowed_ + answer_->piece_bytes);
}

void UpstreamConnection::say_next_piece() {
  allow_piece();
  say_on();
}

void UpstreamConnection::say_on() {
  while (said_ < allowed_ && !party_.over()) {
    const std::size_t taken = party_.send(std::string_view(raw_).substr(said_, allowed_ - said_));
    if (taken == 0) return;
    said_ += taken;
    count_said();
    if (said_ == allowed_) piece_said();
  }
}

void UpstreamConnection::piece_said() {
  if (said_ == last_) return all_said();
  const bool tunnel = stance_ == Stance::tunnel;
  const Duration gap = tunnel ? answer_->tunnel_gap : answer_->piece_gap;
  if (gap == Duration::zero()) return allow_piece();
  later<&UpstreamConnection::say_next_piece>(gap);
}

void UpstreamConnection::count_said() {
  delivery().answer_begun = true;
  if (answer_->manner == Answer::Manner::proper && stance_ != Stance::listening) {
    delivery().body_sent = payload_within(answer_->body, said_ - std::min(said_, body_at_));
  }
}

void UpstreamConnection::all_said() {
  if (stance_ == Stance::listening) return;
  const bool whole = last_ == raw_.size();
  delivery().answer_whole = whole;
  const bool fin = answer_->leave == Leave::finish || answer_->leave == Leave::close;
  delivery().eof_by_fin = !whole && fin && answer_->body.shape == BodyShape::eof;
  if (is_cut()) return leave(answer_->leave);
  if (stance_ == Stance::tunnel) {
    if (party_.fin_heard()) return leave(Leave::close);
    if (!answer_->tunnel_stays) party_.leave(answer_->tunnel_leave);
    return;
  }
  stance_ = Stance::answered;
  if (delivery().request_complete) return exchange_ended();
  if (closes()) party_.leave(Leave::finish);
}

bool UpstreamConnection::closes() {
  const bool eof = answer_->body.shape == BodyShape::eof;
  const bool obeys = request_says_close_ && !answer_->ignores_close;
  return answer_->says_close || answer_->manner == Answer::Manner::stale_timeout || eof || obeys;
}

void UpstreamConnection::exchange_ended() {
  if (closes() || party_.fin_heard()) return leave(Leave::close);
  ++epoch_;
  stance_ = Stance::idle;
  if (answer_->reads_bytes) party_.take_all();
  if (answer_->stray_bytes > 0) later<&UpstreamConnection::say_stray>(answer_->stray_after);
  const std::optional<Duration> idle =
      answer_->closes_after ? answer_->closes_after : upstream_.plan().idle_timeout;
  if (idle) later<&UpstreamConnection::close_idle>(*idle);
}

void UpstreamConnection::say_stray() {
  if (reader_.state() == MessageReader::State::start)
    party_.send(stray_piece(answer_->stray_bytes));
}

void UpstreamConnection::close_idle() {
  if (reader_.state() == MessageReader::State::start) leave(Leave::close);
}

void UpstreamConnection::leave(Leave how) {
  stance_ = Stance::left;
  party_.leave(how);
}

void UpstreamConnection::object(std::string_view invariant, std::string_view what) {
  stage_.court.object(invariant,
                      fmt::format("{}: {} ({})", party_.who(), what, reader_.start_line()));
}

void UpstreamConnection::object_if(bool wrong, std::string_view what) {
  if (wrong) object("peer", what);
}

}  // namespace hushgate::swarm
