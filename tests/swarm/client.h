// A client of a life: does its plan's steps, one behind the other, and hears what it is answered.
//
// It judges at once what only it can: that an answer is to the ask that is due, that its bytes are
// those that were said, that it can be read in one way only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/swarm/ask_stream.h"
#include "tests/swarm/message_reader.h"
#include "tests/swarm/party.h"
#include "tests/swarm/stage.h"

namespace hushgate::swarm {

class Client final : private Party::Owner {
 public:
  // What it was told in answer to one of its asks.
  struct Heard {
    const Ask* ask = nullptr;
    enum class State : std::uint8_t {
      nothing,
      begun,     // its final head has come
      complete,  // and its end, as far as this client can tell
      cut,       // the connection ended before
    };
    State state = State::nothing;
    int status = 0;
    bool of_gateway = false;  // no X-Answer that names an answer: the gateway's own ...
    bool stray = false;       // ... or, then, what an upstream said unasked (kStrayName): right
                              // only where the gateway could not know
    unsigned answer = 0;      // which of the upstream's answers, by X-Answer
    std::uint64_t body_bytes = 0;  // of it, all as they must be (or the court was told)
    bool trailer = false;          // kTrailer came behind it
    bool ended_with_eof = false;   // complete because of a FIN, not by its own framing
    int interims = 0;
  };

  // Must not be destroyed before the network's last step.
  Client(const Stage& stage, std::size_t index);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Asks the network to connect at the plan's time.
  void start();
  // One per ask of the plan.
  const std::vector<Heard>& heard() const { return heard_; }
  bool tunnel_open() const { return reader_.state() == MessageReader::State::tunnel; }
  std::uint64_t tunnel_bytes() const { return tunnel_bytes_; }  // heard through a tunnel
  // The connection was made and has ended, as far as it can see.
  bool over() const { return party_.over() || party_.fin_heard(); }
  // All steps are done.
  bool idle() const { return party_.over() || step_ == plan().steps.size(); }

 private:
  const ClientPlan& plan() const { return stage_.plan.clients[index_]; }
  void connect();

  // Party::Owner
  void heard(std::string_view bytes) override;
  void heard_fin() override;
  void heard_reset() override { cut_short(); }
  void changed() override { advance(); }

  // Its steps.
  void advance();
  void begin_step(const Step& step);
  bool step_done(const Step& step);
  bool all_sent();
  void leave(Leave how);

  // Its answers.
  void perceive(MessageReader::Event event);
  Heard& due();
  void prepare_for_unasked();
  void head_came();
  void interim_came(Heard& heard);
  void final_came(Heard& heard);
  void name_came(Heard& heard);
  void check_final(const Heard& heard);
  void body_came(Heard& heard, std::string_view payload);
  void tunnel_came(std::string_view payload);
  bool restarts(std::size_t upstream) const;
  void answer_ended(Heard& heard);
  void reader_failed();
  void cut_short();
  void object(std::string_view invariant, const Heard& heard, std::string_view what);
  void object_if(bool wrong, const Heard& heard, std::string_view what);

  Stage stage_;
  std::size_t index_;
  Party party_;
  AskStream stream_;
  MessageReader reader_{Role::response};
  std::vector<Heard> heard_;
  Heard unasked_;             // an answer to nobody: turned away before a word
  std::size_t answered_ = 0;  // final answers that have ended
  bool deaf_ = false;         // what comes is taken, and nothing is made of it
  std::uint64_t tunnel_bytes_ = 0;
  std::size_t step_ = 0;
  bool step_begun_ = false;
  std::size_t left_bytes_ = 0;  // of a send step
  Time step_ends_{};            // of those with a time
};

}  // namespace hushgate::swarm
