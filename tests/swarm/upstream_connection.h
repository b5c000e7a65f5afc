// A connection that an upstream of a life has accepted: reads requests, judges at once what only it
// can (that a request is one of the plan's, byte for byte), and answers as the plan says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/swarm/message_reader.h"
#include "tests/swarm/party.h"
#include "tests/swarm/response.h"
#include "tests/swarm/upstream.h"

namespace hushgate::swarm {

class UpstreamConnection final : private Party::Owner {
 public:
  UpstreamConnection(const Stage& stage, Upstream& upstream, std::string who)
      : stage_(stage), upstream_(upstream), party_(stage, std::move(who), *this) {}

  void begin(std::unique_ptr<io::SimPeer> peer);
  // The process ends, in the middle of whatever it does.
  void quit(Leave how);

 private:
  enum class Stance : std::uint8_t {
    idle,       // before the first exchange, and between two
    listening,  // a request's head has come, its answer was not begun
    answering,  // raw_ is being said
    answered,   // it was, and the request has not ended
    tunnel,     // raw_, with its 101 in front, is being said, or was
    silent,     // nothing more is said, whatever comes
    left,       // it has left; what still comes is nothing to it
  };

  // Party::Owner
  void heard(std::string_view bytes) override;
  void heard_fin() override;
  void heard_reset() override { stance_ = Stance::left; }
  void changed() override { say_on(); }

  // What it hears.
  void perceive(MessageReader::Event event);
  void head_came();
  void begin_exchange();
  void check_head();
  void check_field(std::string_view name, std::string_view wanted);
  void body_came(std::string_view payload);
  void request_ended();
  void tunnel_came(std::string_view payload);

  // What it says.
  void say_continue();
  void answer_if_early();
  void answer();
  void say(RawResponse response);
  void say_on();
  void piece_said();
  void allow_piece();
  void say_next_piece();
  void count_said();
  void all_said();
  void exchange_ended();
  void say_stray();
  void close_idle();
  void leave(Leave how);

  // Calls `what` so much later, unless another exchange has begun or the one that is has ended.
  template <void (UpstreamConnection::*what)()>
  void later(Duration time);

  Upstream::Delivery& delivery() { return upstream_.deliveries_[delivery_]; }
  const Ask& ask() { return *delivery().ask; }
  bool closes();
  bool is_cut() const { return answer_->cut_at.has_value(); }
  void object(std::string_view invariant, std::string_view what);
  void object_if(bool wrong, std::string_view what);

  Stage stage_;
  Upstream& upstream_;
  Party party_;
  MessageReader reader_{Role::request};
  Stance stance_ = Stance::idle;
  unsigned epoch_ = 0;  // grows with the beginning and the end of each exchange
  unsigned requests_ = 0;
  // Of the exchange.
  std::size_t delivery_ = 0;
  const Answer* answer_ = nullptr;
  bool request_says_close_ = false;
  bool trailer_came_ = false;
  std::uint64_t tunnel_bytes_ = 0;  // heard through it
  std::string raw_;                 // what is said in it
  std::size_t final_at_ = 0;        // in raw_: the final response's head, its body
  std::size_t body_at_ = 0;
  std::size_t said_ = 0;     // of raw_
  std::size_t allowed_ = 0;  // of raw_, before the next pause
  std::size_t last_ = 0;     // of raw_, in all
};

}  // namespace hushgate::swarm
