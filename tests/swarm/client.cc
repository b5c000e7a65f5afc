#include "tests/swarm/client.h"

#include <fmt/format.h>

#include <algorithm>

namespace hushgate::swarm {
namespace {

// A trailer that the client of this ask gets: there are no chunks in HTTP/1.0.
bool has_trailer(const Ask& ask, const Answer& answer) {
  return has_body(ask, answer) && answer.body.shape == BodyShape::chunked && answer.body.trailers &&
         !ask.http10;
}

// Nobody can tell such a body's end from its cut.
bool may_end_anywhere(const Answer& answer) {
  return answer.body.shape == BodyShape::eof && answer.cut_at.has_value();
}

const Answer& answer_of(const Client::Heard& heard) {
  return heard.ask->answers[std::min<std::size_t>(heard.answer, heard.ask->answers.size() - 1)];
}

}  // namespace

Client::Client(const Stage& stage, std::size_t index)
    : stage_(stage),
      index_(index),
      party_(stage, fmt::format("client {}", index), *this),
      stream_(plan().asks),
      heard_(plan().asks.size()) {
  for (std::size_t i = 0; i < heard_.size(); ++i) heard_[i].ask = &plan().asks[i];
}

void Client::start() {
  stage_.network.at(stage_.network.now() + plan().start, [this] { connect(); });
}

void Client::connect() {
  stage_.journal.note(stage_.network.now(), party_.who(), "connects");
  auto peer = std::make_unique<io::SimPeer>(stage_.network, stage_.network.host(kClients),
                                            IpPort{kGate, kGatePort});
  stage_.registry.client_connects(index_, peer->socket());
  party_.begin(std::move(peer));
}

// Its steps.

void Client::advance() {
  if (party_.state() != Party::State::open) return;
  while (step_ < plan().steps.size() && !party_.over()) {
    const Step& step = plan().steps[step_];
    if (!step_begun_) begin_step(step);
    if (!step_done(step)) return;
    step_begun_ = false;
    ++step_;
  }
  if (party_.fin_heard()) leave(Leave::close);
}

void Client::begin_step(const Step& step) {
  step_begun_ = true;
  stage_.journal.note(stage_.network.now(), party_.who(), "step {}", step_);
  left_bytes_ = step.bytes;
  step_ends_ = stage_.network.now() + step.time;
  const bool timed = step.kind == Step::Kind::pause || step.kind == Step::Kind::await_continue;
  if (timed) stage_.network.at(step_ends_, [this] { advance(); });
}

bool Client::step_done(const Step& step) {
  const bool late = stage_.network.now() >= step_ends_;
  switch (step.kind) {
    case Step::Kind::send: return all_sent();
    case Step::Kind::pause: return late;
    case Step::Kind::await: return answered_ >= step.bytes || party_.fin_heard();
    case Step::Kind::await_continue: {
      const Heard* const last = stream_.begun() > 0 ? &heard_[stream_.begun() - 1] : nullptr;
      const bool told = last && (last->interims > 0 || last->state != Heard::State::nothing);
      return told || late || party_.fin_heard();
    }
    case Step::Kind::read_rate: party_.take_slowly(step.bytes, step.time); return true;
    case Step::Kind::read_all: party_.take_all(); return true;
    case Step::Kind::leave: leave(step.leave); return true;
  }
  return true;
}

// Nobody begins an ask on a connection that the other end has finished.
bool Client::all_sent() {
  while (left_bytes_ > 0 && !(party_.fin_heard() && stream_.between_asks())) {
    const std::string_view bytes = stream_.next(left_bytes_);
    if (bytes.empty()) return true;
    const std::size_t before = stream_.begun();
    const std::size_t sent = party_.send(bytes);
    if (sent == 0) return false;
    stream_.took(sent);
    left_bytes_ -= sent;
    if (stream_.begun() > before) reader_.expect(plan().asks[before].method);
  }
  return true;
}

void Client::leave(Leave how) {
  party_.leave(how);
  if (party_.over()) cut_short();
}

// Its answers.

Client::Heard& Client::due() { return answered_ < stream_.begun() ? heard_[answered_] : unasked_; }

// A client that has said nothing may be told that there is no room for it, once.
void Client::prepare_for_unasked() {
  const bool first = unasked_.state == Heard::State::nothing && answered_ == 0;
  if (stream_.begun() == 0 && first) reader_.expect("GET");
}

void Client::heard(std::string_view bytes) {
  if (reader_.state() == MessageReader::State::start) prepare_for_unasked();
  while (!deaf_) {
    const MessageReader::Event event = reader_.read(bytes);
    if (event == MessageReader::Event::none) return;
    perceive(event);
  }
}

void Client::perceive(MessageReader::Event event) {
  switch (event) {
    case MessageReader::Event::head: return head_came();
    case MessageReader::Event::body:
      if (tunnel_open()) return tunnel_came(reader_.payload());
      return body_came(due(), reader_.payload());
    case MessageReader::Event::trailer: due().trailer = reader_.field("X-Trailer") == "yes"; return;
    case MessageReader::Event::end: return answer_ended(due());
    case MessageReader::Event::fault: return reader_failed();
    default: return;
  }
}

void Client::head_came() {
  Heard& heard = due();
  const int status = reader_.status();
  stage_.journal.note(stage_.network.now(), party_.who(), "is told {} {}", status,
                      reader_.field("X-Answer"));
  if (status < 200 && status != 101) return interim_came(heard);
  final_came(heard);
}

void Client::interim_came(Heard& heard) {
  ++heard.interims;
  if (heard.ask == nullptr) return object("peer", heard, "an interim response to nobody");
  object_if(heard.ask->http10, heard, "an interim response in HTTP/1.0");
  if (reader_.status() == 100) return object_if(!heard.ask->expects, heard, "an unasked 100");
  const std::optional<AnswerName> name = answer_named(reader_.field("X-Answer"));
  if (!name || name->id != heard.ask->id) object("I6", heard, "an interim response of another");
}

void Client::final_came(Heard& heard) {
  heard.state = Heard::State::begun;
  heard.status = reader_.status();
  name_came(heard);
  check_final(heard);
  if (!tunnel_open()) return;
  object_if(heard.ask == nullptr || !heard.ask->upgrades, heard, "a 101 that was not asked for");
  heard.state = Heard::State::complete;
  ++answered_;
  stream_.open_tunnel();
}

void Client::name_came(Heard& heard) {
  const std::string_view text = reader_.field("X-Answer");
  const std::optional<AnswerName> name = answer_named(text);
  const bool due = name && heard.ask != nullptr && name->id == heard.ask->id;
  heard.of_gateway = !reader_.field("Proxy-Status").empty();
  heard.stray = !due && !heard.of_gateway;
  if (due) heard.answer = name->number;
  if (name && !due) object("I6", heard, fmt::format("answer {}", text));
}

void Client::check_final(const Heard& heard) {
  if (stage_.court.objected() || heard.stray) return;
  if (heard.ask != nullptr && heard.ask->http10) {
    object_if(reader_.count("Transfer-Encoding") > 0, heard, "chunks in HTTP/1.0");
  }
  if (heard.of_gateway) {
    object_if(heard.status < 400, heard, "a success of the gateway's own");
    object_if(heard.ask == nullptr && heard.status != 503, heard, "an answer to no request");
    return;
  }
  const Answer& answer = answer_of(heard);
  const bool readable = answer.manner == Answer::Manner::proper ||
                        answer.manner == Answer::Manner::switches ||
                        answer.manner == Answer::Manner::stale_timeout;
  object_if(!readable, heard, "an answer that could be read in two ways");
  object_if(heard.status != status_of(answer), heard, "another status than was said");
}

void Client::body_came(Heard& heard, std::string_view payload) {
  if (!heard.of_gateway && !heard.stray) {
    const std::uint64_t key = answer_key(heard.ask->id, heard.answer);
    const bool same = is_body_piece(key, heard.body_bytes, payload);
    if (!same) object("I5", heard, "a byte that was not said");
  }
  heard.body_bytes = reader_.body_bytes();
}

void Client::tunnel_came(std::string_view payload) {
  const Heard& heard = heard_[answered_ - 1];
  if (!is_body_piece(tunnel_down_key(*heard.ask), tunnel_bytes_, payload)) {
    object("I5", heard, "a byte that was not said through the tunnel");
  }
  tunnel_bytes_ += payload.size();
}

bool Client::restarts(std::size_t upstream) const {
  return std::ranges::any_of(stage_.plan.ordeals, [upstream](const Ordeal& ordeal) {
    return ordeal.kind == Ordeal::Kind::restart && ordeal.which == upstream;
  });
}

void Client::answer_ended(Heard& heard) {
  heard.state = Heard::State::complete;
  stage_.journal.note(stage_.network.now(), party_.who(), "has been told {} bytes",
                      heard.body_bytes);
  if (&heard != &unasked_) ++answered_;
  // A HEAD whose method the gateway may not have read: its answer may have a body after all.
  deaf_ = heard.of_gateway && heard.ask != nullptr && heard.ask->method == "HEAD" &&
          reader_.field("Connection") == "close";
  if (heard.of_gateway || heard.stray || stage_.court.objected()) return;
  const Answer& answer = answer_of(heard);
  const bool may_restart = answer.body.shape == BodyShape::eof && restarts(heard.ask->upstream);
  if (may_restart || may_end_anywhere(answer)) return;
  const std::size_t said = has_body(*heard.ask, answer) ? answer.body.bytes : 0;
  if (heard.body_bytes != said) object("I5", heard, "a body of another size than was said");
  object_if(heard.trailer != has_trailer(*heard.ask, answer), heard, "another trailer");
}

void Client::heard_fin() {
  if (tunnel_open() || deaf_) return;
  const bool ends = reader_.finish() == MessageReader::Event::end;
  if (!ends) return cut_short();
  due().ended_with_eof = true;
  answer_ended(due());
}

void Client::reader_failed() {
  deaf_ = true;
  object("peer", due(), reader_.fault());
}

void Client::cut_short() {
  if (due().state == Heard::State::begun) due().state = Heard::State::cut;
}

void Client::object(std::string_view invariant, const Heard& heard, std::string_view what) {
  const std::string ask = heard.ask != nullptr ? fmt::format("r{}", heard.ask->id) : "nothing";
  stage_.court.object(invariant, fmt::format("client {}, in answer to {}: {} ({})", index_, ask,
                                             what, reader_.start_line()));
}

void Client::object_if(bool wrong, const Heard& heard, std::string_view what) {
  if (wrong) object("peer", heard, what);
}

}  // namespace hushgate::swarm
