// A client's HTTP/2 connection: its clocks, its end, and a session for each of its streams, which
// live by the same law as an HTTP/1.1 connection's exchanges (docs/decisions/0010). It owns itself.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/intrusive_list.h"
#include "h2/server_link.h"
#include "io/runnable.h"
#include "io/wheel.h"
#include "proxy/context.h"
#include "proxy/timers.h"
#include "route/site.h"

namespace hushgate::proxy {

class H2Client final : public h2::ServerLink::Handler,
                       private io::Runnable,  // its deadline
                       public ListNode<H2ClientTag> {
 public:
  enum class State : std::uint8_t {
    serving,
    ending,  // the first GOAWAY has told that no more is wanted (stop); streams still come
    last,    // GOAWAY has named the last stream; closed behind it
  };

  // `stream`: a connection on which `taken` has been read, HTTP/2's preface or its beginning. It is
  // counted as a client already; ends by itself.
  static void start(Context& context, io::StreamPtr stream, route::Site* site,
                    std::string_view taken);
  H2Client(Context& context, io::StreamPtr stream, route::Site* site);  // see start()
  ~H2Client();

  // --- from above
  bool may_be_shed() const { return link_.legs() == 0 && !link_.within_head(); }
  void shed();
  // The process stops: who is idle stays until `idle_due`, whoever comes until then is served.
  void stop(Time idle_due);
  // The grace is over.
  void cut();
  // There are new limits.
  void adopt() { set_clocks(); }

 private:
  void leg_opened(io::StreamPtr leg) override;
  void link_changed() override;
  void flooded(h2::Flood kind) override;
  void run() override;

  void note_idleness(Time now);
  void set_clocks();
  Time head_due();
  void judge(Time now);
  void say_last();
  void log_end();
  void end(io::CloseHow how);  // of this object too

  Context& context_;
  route::Site* site_;
  h2::ServerLink link_;
  State state_ = State::serving;
  io::Deadline deadline_;
  // When each began; none: it is not so now.
  std::optional<Time> idle_since_;     // no stream is open
  std::optional<Time> head_since_;     // a header block is not complete
  std::optional<Time> closing_since_;  // all is said, the client's FIN is awaited
  bool sending_ = false;               // frames wait for the client; `window_` bounds it
  SendWindow window_;
  Time stop_due_{};  // State::ending: then the last stream is named
};

}  // namespace hushgate::proxy
