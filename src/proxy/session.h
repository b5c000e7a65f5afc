// A client's connection, from accept to close. Its coroutine tells the story: head → exchange → … →
// closing. Every event goes through apply(), which asks the phase table, moves the clocks and
// carries out the effects.
#pragma once

#include <cstdint>
#include <memory>

#include "base/intrusive_list.h"
#include "base/recycled.h"
#include "io/stream.h"
#include "io/task.h"
#include "proxy/client_fin.h"
#include "proxy/context.h"
#include "proxy/phase.h"
#include "proxy/timers.h"
#include "route/site.h"

namespace hushgate::proxy {

inline constexpr int kTurnExchanges = 16;              // of one connection in one turn
inline constexpr std::size_t kMaxSpareSessions = 512;  // per worker

class Session final : public io::Wakeup,
                      public ListNode<SessionTag>,
                      public Recycled<Session, kMaxSpareSessions> {
 public:
  // What its io::Stream is.
  enum class Carrier : std::uint8_t {
    connection,     // a client's; it counts as one of maxConnections
    connection_h1,  // the same, and HTTP/2 is not spoken on it
    stream,         // of an HTTP/2 connection, which counts itself
  };

  // Owns itself: it ends when its connection is closed and its coroutine has returned.
  // `site`: what answers it; null: the routes of each exchange's setup.
  static void start(Context& context, io::StreamPtr stream, route::Site* site, Carrier carrier);
  Session(Context& context, io::StreamPtr stream, route::Site* site, Carrier carrier);
  ~Session();

  // --- from above
  // Nothing is asked for, and no byte of a next request is here, nor with the kernel.
  bool may_be_shed() const { return idle() && nothing_taken() && stream_->untaken() == 0; }
  // Closes one that may_be_shed().
  void shed();
  // The process stops: nothing follows the exchange under way; an idle one stays until `idle_due`.
  void stop(Time idle_due);
  // The grace is over.
  void cut();
  // There is a new setup: what is not an exchange follows it at once.
  void adopt();

  // Who this is and what it does, for people who wait for it.
  void describe(LogLine& line) const;

  // --- for its exchange
  const phase::State& state() const { return state_; }
  void apply(phase::Event event);
  // The same, `error` being why.
  void fail(ErrorKind kind, phase::Event event, int os_error = 0);
  // Bytes of the request were taken.
  void note_bytes();
  // Reading its request met its FIN.
  void fail_finished();
  // A FIN or a reset of the client is looked at. False: the exchange is over.
  bool look_at_client();
  void judge_client();
  io::Stream& stream() { return *stream_; }
  ClientTimer& timer() { return timer_; }
  route::Site* site() { return site_; }
  // Of this exchange's bytes, as the peer's TCP has it; below 0 while it lacks some of an earlier
  // one's.
  std::int64_t acknowledged();

 private:
  bool idle() const {
    return state_.conn == phase::Conn::fresh || state_.conn == phase::Conn::kept;
  }
  // No byte of a next request has been taken.
  bool nothing_taken() const;
  void begin();
  io::Task<> live();
  io::Task<> linger();
  void after_run() override;

  bool judge_fin();
  bool cut_off();  // the request can never become complete; as judge_fin()
  bool has_had_its_share();
  bool take_head_once();
  bool speaks_http2() const;
  void become_http2();
  bool lost();
  void discard_once(std::uint64_t& discarded);
  void begin_exchange();
  void run_clocks(const phase::State& before);
  void count_turn(const phase::State& before);
  void move_to_list(const phase::State& before);
  void perform(phase::UpstreamEffect effect);
  void perform(phase::ClientEffect effect);
  void end_exchange();
  void retire_exchange();
  void begin_closing();
  void close(io::CloseHow how);
  void swept();

  Context& context_;
  io::StreamPtr stream_;
  route::Site* site_;
  phase::State state_;
  Carrier carrier_;
  [[no_unique_address]] ClientTimer timer_;  // its padding has room for:
  ClientFin fin_;
  std::unique_ptr<Exchange> exchange_;  // while idle: only if a part of the next request is there
  io::Task<> life_;
};

}  // namespace hushgate::proxy
