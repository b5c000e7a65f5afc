#include "tests/swarm/observer.h"

#include <algorithm>

namespace hushgate::swarm {
namespace {

// What follows `key` in `text`, up to one of `ends`.
std::string behind(std::string_view text, std::string_view key, std::string_view ends) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_of(ends)));
}

// Of an answer of the gateway's own. One to a HEAD has no body: then by its Proxy-Status.
std::string error_type(const Response& response) {
  const std::string type = behind(response.body, "\"type\":\"", "\"");
  if (!type.empty()) return type;
  if (response.status == 408) return "request_timeout";
  if (response.status == 413) return "body_too_large";
  const std::string error = behind(response.proxy_status, "error=", ";");
  return error == "destination_ip_unroutable" ? "connection_failed" : error;
}

// Does the gateway know its method? Of half a head only when it turns a client away.
bool is_read(const Call& call, std::string_view answer) {
  const bool asked = call.head_here() || answer.starts_with("HTTP/1.1 503");
  return asked && call.client->taken > call.begins + call.ask->method.size();
}

}  // namespace

Link* Observer::gate(io::SimSocket socket) {
  if (socket.connection >= by_connection_.size()) return nullptr;
  Link* const link = by_connection_[socket.connection];
  return link != nullptr && link->socket.side == socket.side ? link : nullptr;
}

void Observer::turn_ended() {
  for (const auto& checker : checkers_) checker->turn_ended();
  std::erase_if(facts_.open, [](const Link* link) { return link->over(); });
}

void Observer::connecting(io::SimSocket socket, const io::SimHost& from, const SocketAddress& to) {
  const bool ours = from.address == kGate;
  auto link = std::make_unique<Link>(ours ? Role::request : Role::response);
  link->kind = ours ? Link::Kind::upstream : Link::Kind::client;
  link->number = facts_.links.size();
  link->socket = ours ? socket : socket.other();
  link->opened = now();
  if (ours) {
    for (std::size_t i = 0; i < facts_.plan.upstreams.size(); ++i) {
      for (std::size_t k = 0; k < facts_.plan.upstreams[i].addresses.size(); ++k) {
        if (to.ip()->ip == upstream_address(i, k)) link->upstream = i;
      }
    }
  }
  by_connection_.resize(std::max(by_connection_.size(), socket.connection + 1));
  by_connection_[socket.connection] = link.get();
  if (ours) {
    journal_.note(now(), "gateway", "connects to upstream {} on {}", link->upstream,
                  socket.connection);
    facts_.open.push_back(link.get());
  }
  facts_.links.push_back(std::move(link));
}

void Observer::client_connects(std::size_t client, io::SimSocket socket) {
  Link& link = *by_connection_.at(socket.connection);
  link.client = client;
  std::uint64_t at = 0;
  for (const Ask& ask : facts_.plan.clients[client].asks) {
    const RawAsk raw = raw_of(ask);
    auto call = std::make_unique<Call>();
    call->ask = &ask;
    call->client = &link;
    call->begins = at;
    call->head_ends = at + raw.head_bytes;
    call->ends = at += raw.bytes.size();
    call->rules = &facts_.in_force();
    by_id_.resize(std::max<std::size_t>(by_id_.size(), ask.id + 1));
    by_id_[ask.id] = call.get();
    link.calls.push_back(std::move(call));
  }
  journal_.note(now(), "net", "client {} is connection {}", client, socket.connection);
}

void Observer::established(io::SimSocket socket) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  link->established = now();
  if (link->kind == Link::Kind::client) link->opened = now();
  journal_.note(now(), "net", "{} is open", socket.connection);
}

void Observer::accepted(io::SimSocket socket) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  link->accepted = now();
  facts_.open.push_back(link);
  journal_.note(now(), "gateway", "accepts {}", socket.connection);
}

void Observer::sent(io::SimSocket socket, Bytes bytes) {
  Link* const link = gate(socket);
  if (link == nullptr) return follow_upstream(socket, as_text(bytes));
  journal_.note(now(), "gateway", "sends {} bytes on {}", bytes.size(), socket.connection);
  link->last_sent = now();
  if (link->kind == Link::Kind::client) {
    read_response(*link, as_text(bytes));
  } else {
    read_request(*link, as_text(bytes));
  }
  link->sent += bytes.size();
}

// Where in its stream an upstream says something that nobody has asked for.
void Observer::follow_upstream(io::SimSocket socket, std::string_view bytes) {
  Link* const link = gate(socket.other());
  if (link == nullptr || link->kind != Link::Kind::upstream) return;
  MessageReader& said = link->said;
  while (!link->strays_from && said.state() != MessageReader::State::tunnel) {
    if (said.state() == MessageReader::State::start && !bytes.empty()) {
      if (link->asked == link->tries.size()) {
        link->strays_from = link->said_bytes;
        return;
      }
      if (!link->interim) {
        const Call* const call = link->tries[link->asked]->call;
        said.expect(call == nullptr ? "GET" : std::string_view(call->ask->method));
      }
    }
    const std::size_t before = bytes.size();
    const MessageReader::Event event = said.read(bytes);
    link->said_bytes += before - bytes.size();
    if (event == MessageReader::Event::none || event == MessageReader::Event::fault) return;
    if (event == MessageReader::Event::head) link->interim = said.status() < 200;
    if (event == MessageReader::Event::end && !link->interim) ++link->asked;
  }
}

void Observer::begin_try(Link& link) {
  auto attempt = std::make_unique<Try>();
  attempt->link = &link;
  attempt->begun = now();
  attempt->sent_before = link.sent;
  attempt->arrived_before = link.arrived;
  attempt->taken_before = link.taken;
  link.tries.push_back(attempt.get());
  for (const auto& checker : checkers_) checker->request_begins(*attempt);
  unknown_.push_back(std::move(attempt));
}

// Gives the try to the call that its target names.
void Observer::know_try(Link& link) {
  const std::optional<std::uint32_t> id = id_of(link.reader.target());
  if (!id || *id >= by_id_.size() || by_id_[*id] == nullptr) {
    return court_.object("I6", fmt::format("a request for {} was sent on {}: nobody asked for it",
                                           link.reader.target(), link.socket.connection));
  }
  const auto at = std::ranges::find(unknown_, link.tries.back(), &std::unique_ptr<Try>::get);
  Try& attempt = **at;
  attempt.call = by_id_[*id];
  attempt.call->tries.push_back(std::move(*at));
  unknown_.erase(at);
  journal_.note(now(), "gateway", "the request on {} is r{}, try {}", link.socket.connection, *id,
                attempt.call->tries.size());
  for (const auto& checker : checkers_) checker->request_known(attempt);
}

void Observer::read_request(Link& link, std::string_view bytes) {
  const std::uint64_t sent_after = link.sent + bytes.size();
  for (;;) {
    Try* const last = link.tries.empty() ? nullptr : link.tries.back();
    if (last != nullptr && last->complete && last->call->ask->upgrades) last->tunnel = true;
    if (last != nullptr && last->tunnel) return;
    if (link.reader.state() == MessageReader::State::start) {
      if (bytes.empty()) return;
      begin_try(link);
    }
    Try& attempt = *link.tries.back();
    switch (link.reader.read(bytes)) {
      case MessageReader::Event::none: return;
      case MessageReader::Event::start_line: know_try(link); break;
      case MessageReader::Event::body: attempt.body_bytes += link.reader.payload().size(); break;
      case MessageReader::Event::end:
        attempt.complete = now();
        attempt.sent_at_end = sent_after - bytes.size();
        break;
      case MessageReader::Event::fault:
        return court_.object("peer",
                             "the gateway sent an upstream no HTTP: " + link.reader.fault());
      default: break;
    }
    if (court_.objected()) return;
  }
}

// The call that the next response is the answer to.
Call& Observer::due(Link& link) {
  if (link.answered == link.calls.size()) {
    auto call = std::make_unique<Call>();
    call->ask = &nobody_;
    call->client = &link;
    call->begins = call->head_ends = call->ends = ~std::uint64_t{0};
    call->rules = &facts_.in_force();
    link.calls.push_back(std::move(call));
  }
  return *link.calls[link.answered];
}

void Observer::read_response(Link& link, std::string_view bytes) {
  for (;;) {
    const bool between = link.reader.state() == MessageReader::State::start;
    if (between && bytes.empty()) return;
    Call& call = due(link);
    if (call.response.status == 101) {
      call.response.body_bytes += bytes.size();
      return;
    }
    if (between && call.interims == 0) {
      link.reader.expect(is_read(call, bytes) ? std::string_view(call.ask->method) : "GET");
    }
    switch (link.reader.read(bytes)) {
      case MessageReader::Event::none: return;
      case MessageReader::Event::head: begin_response(link, call); break;
      case MessageReader::Event::body:
        call.response.body_bytes += link.reader.payload().size();
        if (call.response.of_gateway) call.response.body += link.reader.payload();
        break;
      case MessageReader::Event::end: complete_response(link, call); break;
      case MessageReader::Event::fault:
        return court_.object("peer", "the gateway sent a client no HTTP: " + link.reader.fault());
      default: break;
    }
    if (court_.objected()) return;
  }
}

void Observer::begin_response(Link& link, Call& call) {
  const int status = link.reader.status();
  const std::string_view name = link.reader.field("X-Answer");
  const std::optional<AnswerName> answer = answer_named(name);
  if (answer && (answer->id != call.ask->id || answer->number >= call.tries.size())) {
    return court_.object("I6", fmt::format("client {} was given answer {} for r{}",
                                           link.client.value_or(0), name, call.ask->id));
  }
  if (status < 200 && status != 101) {
    ++call.interims;
    return;
  }
  Response& response = call.response;
  response.begun = now();
  response.status = status;
  response.of_gateway = !link.reader.field("Proxy-Status").empty();
  response.stray = !answer && !response.of_gateway;
  response.answer = answer ? answer->number : 0;
  response.proxy_status = link.reader.field("Proxy-Status");
  response.says_close = link.reader.field("Connection") == "close";
  journal_.note(now(), "gateway", "answers r{} with {} on {}", call.ask->id, status,
                link.socket.connection);
  for (const auto& checker : checkers_) checker->response_begins(call);
}

// An exchange begins with its first byte, or when the one before it is over: with the rules of
// then.
void Observer::settle(Link& link) {
  Call* const call = link.due();
  if (call == nullptr || call->settled || link.taken <= call->begins) return;
  call->settled = true;
  call->rules = &facts_.in_force();
}

void Observer::complete_response(Link& link, Call& call) {
  if (!call.response.begun) return;  // an interim one
  call.response.complete = now();
  if (call.response.of_gateway) call.response.error_type = error_type(call.response);
  ++link.answered;
  settle(link);
  journal_.note(now(), "gateway", "has answered r{}", call.ask->id);
  for (const auto& checker : checkers_) checker->response_complete(call);
}

void Observer::arrived(io::SimSocket socket, std::size_t bytes) {
  Link* const link = gate(socket);
  if (link == nullptr || link->over()) return;
  const std::uint64_t before = link->arrived;
  link->arrived += bytes;
  link->last_arrived = now();
  journal_.note(now(), "net", "{} bytes have come on {}", bytes, socket.connection);
  if (!link->tries.empty() && !link->tries.back()->answered) link->tries.back()->answered = now();
  for (const auto& call : link->calls) {
    if (call->ends <= before) continue;
    if (call->begins >= link->arrived) break;
    if (!call->first_byte) call->first_byte = now();
    if (!call->head && call->head_ends <= link->arrived) call->head = now();
    if (!call->whole && call->ends <= link->arrived) call->whole = now();
  }
}

void Observer::received(io::SimSocket socket, std::size_t bytes) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  link->taken += bytes;
  link->last_taken = now();
  for (const auto& call : link->calls) {
    if (!call->taken && call->ends <= link->taken) call->taken = now();
  }
  settle(*link);
  journal_.note(now(), "gateway", "takes {} bytes from {}", bytes, socket.connection);
}

void Observer::acknowledged(io::SimSocket socket, std::size_t bytes) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  link->acknowledged += bytes;
  link->acknowledgements.emplace_back(now(), link->acknowledged);
  link->last_acknowledged = now();
}

void Observer::finished(io::SimSocket socket) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  link->finished = now();
  journal_.note(now(), "gateway", "sends FIN on {}", socket.connection);
  if (link->kind == Link::Kind::client) client_left(*link);
}

void Observer::fin_arrived(io::SimSocket socket) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  if (link->over()) return;
  link->fin_arrived = now();
  const Call* const call = link->due();
  link->fin_rules = call != nullptr && call->settled ? call->rules : &facts_.in_force();
  journal_.note(now(), "net", "FIN has come on {}", socket.connection);
}

void Observer::failed(io::SimSocket socket, int error) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  if (link->over()) return;
  link->failed = now();
  link->error = error;
  journal_.note(now(), "net", "{} has failed with errno {}", socket.connection, error);
}

void Observer::closed(io::SimSocket socket, io::CloseHow how) {
  Link* const link = gate(socket);
  if (link == nullptr) return;
  link->closed = now();
  link->how = how;
  journal_.note(now(), "gateway", "closes {} with {}", socket.connection,
                how == io::CloseHow::reset ? "a reset" : "FIN");
  if (link->kind == Link::Kind::client) return client_left(*link);
  for (const auto& checker : checkers_) checker->upstream_left(*link);
}

// An orderly end may be what completes a response.
void Observer::client_left(Link& link) {
  const bool orderly = link.finished || link.how == io::CloseHow::fin;
  const Call* const call = link.due();
  const bool is_tunnel = call != nullptr && call->is_tunnel();  // its FIN is not its end
  const bool first = !link.finished || !link.closed;
  if (!link.accepted || (!first && !is_tunnel)) return;
  if (orderly && link.reader.state() == MessageReader::State::body && link.reader.until_eof() &&
      link.reader.finish() == MessageReader::Event::end) {
    complete_response(link, due(link));
  }
  for (const auto& checker : checkers_) checker->client_left(link);
}

}  // namespace hushgate::swarm
