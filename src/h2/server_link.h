// An HTTP/2 connection from a client: each request becomes a leg.
#pragma once

#include <vector>

#include "h2/link.h"

namespace hushgate::h2 {

class ServerLink final : public Link {
 public:
  class Handler {
   public:
    // A request's head is complete in it: it has bytes to be taken. Called while frames are read:
    // start nothing that runs at once, except making things ready.
    virtual void leg_opened(io::StreamPtr leg) = 0;
    // State, legs, within_head() or waiting() have changed; at the end of run(). The link may be
    // destroyed here.
    virtual void link_changed() = 0;
    virtual void flooded(Flood kind) = 0;

   protected:
    ~Handler() = default;
  };
  ServerLink(io::Loop& loop, Handler& handler, io::StreamPtr wire, const LinkSettings& settings);
  ~ServerLink();
  // Once, at first. `taken`: what was read of the wire before it was known that this is HTTP/2, the
  // preface's start ("PRI * ...") included.
  void start(Bytes taken);

  // The first of two GOAWAYs (RFC 9113 section 6.8): streams that are under way to us still come.
  void announce_end();

 private:
  void changed() override;
  Leg* begin_leg(std::int32_t id) override;
  void leg_ready(Leg& leg) override;
  void flooded(Flood kind) override;
  void open_legs();

  Handler& handler_;
  std::vector<Leg*> opened_;  // ours until open_legs() hands them on
};

}  // namespace hushgate::h2
