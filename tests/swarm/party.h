// An end of a connection in a life, as its program has it: takes what comes at its pace, sends, and
// leaves in one of the ways there are. Tells its owner what it perceives, and the journal of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/sim_peer.h"
#include "tests/swarm/stage.h"

namespace hushgate::swarm {

class Party {
 public:
  // Called in the network's step; may do anything to the party but destroy it.
  class Owner {
   public:
    virtual void heard(std::string_view bytes) = 0;
    virtual void heard_fin() = 0;    // all that came before it has been taken
    virtual void heard_reset() = 0;  // or a refusal: the party is over
    virtual void changed() = 0;      // anything else, and behind each of these unless it is over
   protected:
    ~Owner() = default;
  };
  enum class State : std::uint8_t {
    absent,      // no connection yet
    connecting,  // or accepted, and not looked at yet
    open,
    left,   // by itself: closed, reset or vanished
    reset,  // by the other end, or refused
  };

  // Must not be destroyed before the network's last step. `who` is its name in the journal.
  Party(const Stage& stage, std::string who, Owner& owner)
      : stage_(stage), who_(std::move(who)), owner_(owner) {}
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  void begin(std::unique_ptr<io::SimPeer> peer);
  const std::string& who() const { return who_; }
  io::SimSocket socket() const { return peer_->socket(); }
  State state() const { return state_; }
  bool over() const { return state_ == State::left || state_ == State::reset; }
  bool fin_heard() const { return fin_heard_; }
  bool finished() const { return finished_; }  // it has sent FIN

  // From now on it takes at most `bytes` in each `time`; 0: nothing.
  void take_slowly(std::size_t bytes, Duration time);
  void take_all();
  // How much the socket took.
  std::size_t send(std::string_view bytes);
  void leave(Leave how);

 private:
  static constexpr std::size_t kUnlimited = ~std::size_t{0};

  void look();
  void take();
  void take_later();
  void end_of_stream();
  std::size_t allowance();

  Stage stage_;
  std::string who_;
  Owner& owner_;
  std::unique_ptr<io::SimPeer> peer_;
  State state_ = State::absent;
  bool fin_heard_ = false;
  bool finished_ = false;
  std::size_t rate_bytes_ = kUnlimited;
  Duration rate_time_{};
  std::size_t taken_bytes_ = 0;  // in the window that began at window_start_
  Time window_start_{};
  Time wakes_{};  // the last time for which a look was asked
};

}  // namespace hushgate::swarm
