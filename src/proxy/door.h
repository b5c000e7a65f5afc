// A listener's handler: lets clients in, makes room for them, or tells them that there is none.
#pragma once

#include <memory>

#include "io/alarm.h"
#include "io/stream.h"
#include "proxy/context.h"
#include "proxy/gateway.h"
#include "proxy/session.h"
#include "route/site.h"

namespace hushgate::proxy {

class Gateway::Door final : public io::AcceptHandler, public io::Runnable {
 public:
  Door(Gateway& gateway, std::size_t index)
      : gateway_(gateway), index_(index), resume_alarm_(*this) {}
  Door(Gateway& gateway, route::Site& site)
      : gateway_(gateway), site_(&site), resume_alarm_(*this) {}

  Result<SocketAddress> open(const SocketAddress& address);
  // Takes what the kernel has queued, then closes for good.
  void close();

  void accepted(io::StreamPtr stream) override;
  bool out_of_descriptors() override;
  void run() override;  // the pause is over

 private:
  // Shortage ends when somebody was let in again.
  enum class Shortage : std::uint8_t {
    none,
    pausing,    // accepting stands still for kAcceptPause
    answering,  // the pause did not help: who comes now is told 503
    closing,    // terminal: there is no later for whom there is no room now
  };

  bool will_not_wait() const { return shortage_ >= Shortage::answering; }
  bool admit();
  void admit_held();
  void pause();
  tls::ServerContext::Pointer tls() const;
  Session::Carrier carrier() const;
  void let_in(io::StreamPtr stream);
  void turn_away(io::StreamPtr stream);

  Gateway& gateway_;
  std::size_t index_ = 0;        // in Config::listen, of the routes' listeners
  route::Site* site_ = nullptr;  // null: the routes
  std::unique_ptr<io::Listener> listener_;
  io::Alarm resume_alarm_;
  Shortage shortage_ = Shortage::none;
  io::StreamPtr held_;         // accepted when there was no room: waits for the pause's end
  bool reserve_lent_ = false;  // the next one is accepted on the reserve, to be told
};

}  // namespace hushgate::proxy
