// The client's doings between its bytes: leaving, and using up its budgets.
#include <array>

#include "proxy/exchange.h"
#include "proxy/session.h"

namespace hushgate::proxy {

using phase::ClientClock;
using phase::Conn;
using phase::Event;
using stats::Counter;

std::int64_t Session::acknowledged() {
  return static_cast<std::int64_t>(exchange_->client_accepted()) -
         static_cast<std::int64_t>(stream_->unacknowledged());
}

bool Session::look_at_client() {
  if (state_.conn != Conn::exchange) return false;
  if (stream_->failed()) {
    fail(ErrorKind::client_gone, Event::reset, stream_->error());
    return false;
  }
  return !stream_->peer_finished() || judge_fin();
}

// The FIN is timed when it is first seen, and judged once the whole request has been received:
// before that, its bytes may lie in front of the FIN, and reading will meet it. False: the exchange
// is over.
bool Session::judge_fin() {
  if (!fin_.seen()) {
    fin_.note(context_.loop.now() - exchange_->bytes_at, stream_->finish_delay());
  }
  // Judged or not: a pipelined request behind a half-close may be a cut one.
  if (!exchange_->request_received()) {
    return state_.in == phase::In::done || exchange_->request_can_end() || cut_off();
  }
  if (fin_.judged) return true;
  const config::HalfClose policy = exchange_->setup().config.client.half_close;
  const bool soon = stream_->half_closes() &&
                    (policy == config::HalfClose::serve ||
                     (policy == config::HalfClose::auto_ && fin_.delay() <= kHalfCloseWindow));
  if (soon && state_.in != phase::In::done) return true;  // waits for its connection
  fin_.judged = true;
  if (!soon) {
    fail(ErrorKind::client_gone, Event::fin_later);
    return state_.conn ==
           Conn::exchange;  // an answer of our own that is being written still goes out
  }
  stream_->set_keep_alive({kHalfCloseProbe, kHalfCloseProbe, kTcpKeepAliveProbes});
  apply(Event::fin_with);
  return true;
}

bool Session::cut_off() {
  fail_finished();
  return state_.conn == Conn::exchange;
}

void Session::fail_finished() {
  fin_.judged = true;
  if (exchange_->record.error.kind == ErrorKind::none) {
    exchange_->record.error.kind = ErrorKind::client_gone;
  }
  apply(Event::fin_later);
}

void Session::judge_client() {
  if (!timer_.expired() || state_.conn == Conn::closed) return;
  const ClientClock clock = timer_.clock();
  const Time now = context_.loop.now();
  const TimerVerdict verdict =
      timer_.judge(now, clock == ClientClock::send ? acknowledged() : 0,
                   clock == ClientClock::linger ? stream_->unacknowledged() : 0);
  if (verdict == TimerVerdict::goes_on) return;
  swept();
  const bool receiving = clock == ClientClock::head || clock == ClientClock::receive;
  // What is left of an overtaken request: the exchange has ended otherwise already.
  if (receiving && state_.answered) return apply(Event::client_deadline);
  if (receiving) return fail(ErrorKind::request_timeout, Event::client_deadline);
  const bool stalled = clock == ClientClock::send || clock == ClientClock::tunnel;
  fail(stalled ? ErrorKind::client_stalled : ErrorKind::none, Event::client_deadline);
}

void Session::swept() {
  static constexpr std::array kCounterOf{Counter::swept_idle,    Counter::swept_idle,
                                         Counter::swept_head,    Counter::swept_receiving,
                                         Counter::swept_sending, Counter::swept_tunnel,
                                         Counter::swept_closing};
  const ClientClock clock = timer_.clock();
  context_.counters.add(kCounterOf[static_cast<std::size_t>(clock)]);
  context_.log.line(context_.loop.now(), LogLevel::info, "swept")
      .text("client", stream_->peer().to_string())
      .text("phase", phase::name(state_.conn))
      .text("clock", phase::name(clock))
      .ms("age_ms", timer_.age(context_.loop.now()));
}

}  // namespace hushgate::proxy
