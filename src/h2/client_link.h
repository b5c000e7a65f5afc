// An HTTP/2 connection to an upstream, shared by exchanges: each has a leg of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "h2/link.h"

namespace hushgate::h2 {

inline constexpr std::uint32_t kStreamsBeforeSettings =
    100;  // RFC 9113 section 6.5.2 recommends no less

class ClientLink final : public Link {
 public:
  class Handler {
   public:
    // In the loop's turn in which it happened; more than one thing may have. From its run(), never
    // from within open() or ping(). The link may be destroyed here.
    virtual void link_changed(ClientLink& link) = 0;

   protected:
    ~Handler() = default;
  };
  // `wire` is connected (its handshake has ended).
  ClientLink(io::Loop& loop, Handler& handler, io::StreamPtr wire, const LinkSettings& settings);
  ~ClientLink();

  // Open, below the peer's limit of streams (100 until its SETTINGS have come), ids left.
  bool can_open() const;
  // A new leg, Role::asks. Needs can_open().
  io::StreamPtr open();
  std::uint32_t open_streams() const { return open_streams_; }  // and legs that will open one
  static Leg& leg(io::Stream& stream) { return static_cast<Leg&>(stream); }

  // Asks whether the peer is there. ponged_at() is later than the call once it has answered.
  void ping();
  std::optional<Time> ponged_at() const { return ponged_at_; }
  bool ping_pending() const { return ping_pending_; }

  bool settings_seen() const { return settings_seen_; }  // the peer's first SETTINGS
  bool allows_extended_connect() const;                  // valid with settings_seen()

 private:
  void changed() override;
  Leg* begin_leg(std::int32_t id) override;
  void ponged() override;
  void settings_came() override;
  void leg_gone(Leg& leg) override;
  void stream_left() override;

  Handler& handler_;
  std::uint32_t open_streams_ = 0;  // legs without a stream yet, and streams
  bool settings_seen_ = false;
  bool ping_pending_ = false;
  std::optional<Time> ponged_at_;
};

}  // namespace hushgate::h2
