// I5: what a client is told is complete is the upstream's body, all of it. (That each byte is the
// right one, and of the right answer, the peers have checked as they came: I5, I6.)
#include "tests/swarm/checker.h"

namespace hushgate::swarm {
namespace {

const Upstream::Delivery* delivery_of(const Aftermath& aftermath, const Client::Heard& heard) {
  for (const auto& upstream : aftermath.upstreams) {
    for (const Upstream::Delivery& delivery : upstream->deliveries()) {
      if (delivery.ask == heard.ask && delivery.number == heard.answer) return &delivery;
    }
  }
  return nullptr;
}

void check_heard(const Aftermath& aftermath, const Client::Heard& heard) {
  if (heard.state != Client::Heard::State::complete || heard.of_gateway || heard.stray) return;
  const auto object = [&](std::string_view invariant, std::string_view what) {
    aftermath.court.object(invariant, fmt::format("r{}: {}", heard.ask->id, what));
  };
  const Upstream::Delivery* const delivery = delivery_of(aftermath, heard);
  if (delivery == nullptr) return object("I6", "its answer is one that no upstream gave");
  if (heard.status == 101) return;
  if (heard.body_bytes > delivery->body_sent) return object("I5", "more came than was sent");
  if (!delivery->answer_whole && !delivery->eof_by_fin) {
    return object("I5", "an answer that its upstream never ended was told as complete");
  }
  if (heard.ask->method != "HEAD" && heard.body_bytes < delivery->body_sent) {
    object("I5", fmt::format("told as complete with {} of {} bytes", heard.body_bytes,
                             delivery->body_sent));
  }
}

}  // namespace

void check_messages(const Aftermath& aftermath) {
  for (const auto& client : aftermath.clients) {
    for (const Client::Heard& heard : client->heard()) check_heard(aftermath, heard);
  }
}

}  // namespace hushgate::swarm
