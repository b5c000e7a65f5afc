#include "proxy/session.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "proxy/access_log.h"
#include "proxy/exchange.h"
#include "proxy/h2_client.h"

namespace hushgate::proxy {

using phase::ClientClock;
using phase::ClientEffect;
using phase::Conn;
using phase::Event;
using phase::UpstreamClock;
using phase::UpstreamEffect;
using stats::Counter;

namespace {

Standing standing(Conn conn) {
  if (conn == Conn::fresh) return Standing::fresh;
  return conn == Conn::kept ? Standing::kept : Standing::busy;
}

// Whose turn a state's time is told as in the log; none outside of an exchange.
std::optional<std::size_t> turn_of(const phase::State& state) {
  if (state.conn == Conn::head) return 0;
  if (state.conn != Conn::exchange) return std::nullopt;
  switch (phase::shown(state)) {
    case phase::Shown::receiving: return 0;
    case phase::Shown::sending: return 2;
    default: return 1;
  }
}

}  // namespace

Session::Session(Context& context, io::StreamPtr stream, route::Site* site, Carrier carrier)
    : context_(context),
      stream_(std::move(stream)),
      site_(site),
      carrier_(carrier),
      timer_(context.wheel, *this, context.limits()) {
  stream_->set_owner(this);
  ++context_.session_count;
  context_.list(Standing::fresh).push_back(*this);
  timer_.run(ClientClock::idle, context_.loop.now(), 0);
}

Session::~Session() {
  retire_exchange();
  if (carrier_ != Carrier::stream && context_.shared_clients != nullptr) {
    context_.shared_clients->fetch_sub(1, std::memory_order_relaxed);
  }
  if (--context_.session_count == 0 && context_.drained != nullptr) {
    context_.loop.ready(*context_.drained);
  }
}

void Session::start(Context& context, io::StreamPtr stream, route::Site* site, Carrier carrier) {
  const bool is_stream = carrier == Carrier::stream;
  if (!is_stream) context.counters.add(Counter::clients_accepted);
  Session& session =
      *std::make_unique<Session>(context, std::move(stream), site, carrier).release();
  if (is_stream) session.apply(Event::last);  // a stream has one exchange
  session.begin();
}

void Session::begin() {
  life_ = live();
  life_.start();
  after_run();
}

void Session::after_run() {
  if (life_.done()) const std::unique_ptr<Session> end(this);
}

io::Task<> Session::live() {
  do {
    if (has_had_its_share()) {
      context_.loop.ready_next_turn(*this);
      co_await *this;
    }
    while (idle() || state_.conn == Conn::head) {
      if (take_head_once()) continue;
      judge_client();
      if (!idle() && state_.conn != Conn::head) break;
      co_await *this;
    }
    if (state_.conn == Conn::exchange) co_await exchange_->run();
    if (state_.conn == Conn::tunnel) co_await exchange_->run_tunnel();
    retire_exchange();
  } while (state_.conn == Conn::kept);
  if (state_.conn == Conn::closing) co_await linger();
  HG_ASSERT(state_.conn == Conn::closed);
}

// --- head

// A client that pipelines has its share of a turn, and no more.
bool Session::has_had_its_share() {
  Share& share = context_.share;
  const Time now = context_.loop.now();
  if (share.session != this || share.turn != now) share = {.session = this, .turn = now};
  return ++share.exchanges > kTurnExchanges;
}

void Session::note_bytes() {
  exchange_->bytes_at = context_.loop.now();
  fin_.note_bytes();
}

bool Session::nothing_taken() const { return !exchange_ || exchange_->rest.empty(); }

// False when there is nothing to take now.
bool Session::take_head_once() {
  bool complete = false;
  if (!nothing_taken()) {
    if (idle()) begin_exchange();
    complete = exchange_->take_head_from_rest();
  } else {
    if (!stream_->readable()) return false;
    const io::Take take = stream_->take();
    switch (take.kind) {
      case io::Take::Kind::nothing: return false;
      case io::Take::Kind::fin: apply(Event::fin_later); return true;
      case io::Take::Kind::failed: return lost();
      case io::Take::Kind::data: break;
    }
    if (idle()) begin_exchange();
    note_bytes();
    complete = exchange_->take_head(take.lease.bytes());
  }
  if (!complete) return true;
  if (speaks_http2()) {
    become_http2();
  } else {
    exchange_->act_on_head();
  }
  return true;
}

// HTTP/2's preface looks like a head (RFC 9113 section 3.4), also behind ALPN.
bool Session::speaks_http2() const {
  return carrier_ == Carrier::connection && exchange_->is_http2_preface();
}

// What this connection is, it is from now on as an H2Client, which counts as the client too.
void Session::become_http2() {
  const std::string taken = exchange_->give_up_head();
  carrier_ = Carrier::stream;
  H2Client::start(context_, std::move(stream_), site_, taken);
  apply(Event::reset);
}

// Always true: the connection is over. Why TLS has ended it is worth a line.
bool Session::lost() {
  if (const std::string why = stream_->failure_text(); !why.empty()) {
    context_.log.line(context_.loop.now(), LogLevel::info, "client_tls_failed")
        .text("client", stream_->peer().to_string())
        .text("detail", why);
  }
  apply(Event::reset);
  return true;
}

void Session::begin_exchange() {
  if (!exchange_) exchange_ = context_.take_exchange();
  const Time now = context_.loop.now();
  exchange_->begin(*this, now);
  timer_.use(exchange_->limits());
  timer_.begin_request(exchange_->request_clock, now);
  apply(Event::client_bytes);
}

void Session::retire_exchange() {
  if (!exchange_) return;
  timer_.use(context_.limits());
  timer_.end_request();
  exchange_->reset();
  if (state_.conn == Conn::kept && !exchange_->rest.empty()) return;
  clear_warm(exchange_->rest);
  context_.give_back(std::move(exchange_));
}

// --- events

void Session::apply(Event event) {
  const phase::State before = state_;
  const phase::Step step = phase::step(before, event);
  state_ = step.state;
  count_turn(before);
  move_to_list(before);
  run_clocks(before);
  perform(step.upstream);
  perform(step.client);
}

void Session::fail(ErrorKind kind, Event event, int os_error) {
  if (exchange_) exchange_->record.error = {kind, os_error};
  apply(event);
}

void Session::count_turn(const phase::State& before) {
  const auto was = turn_of(before);
  if (was == turn_of(state_) || !exchange_) return;
  const Time now = context_.loop.now();
  Record& record = exchange_->record;
  if (was) record.turns[*was] += now - record.turn_since;
  record.turn_since = now;
}

void Session::move_to_list(const phase::State& before) {
  const Standing now = standing(state_.conn);
  if (standing(before.conn) == now) return;
  static_cast<ListNode<SessionTag>&>(*this).unlink();
  context_.list(now).push_back(*this);
}

void Session::run_clocks(const phase::State& before) {
  const Time now = context_.loop.now();
  const ClientClock client = phase::client_clock(state_);
  if (client != timer_.clock()) {
    if (client == ClientClock::idle) timer_.use(context_.limits());
    timer_.run(client, now, client == ClientClock::send ? acknowledged() : 0);
  }
  const UpstreamClock upstream = phase::upstream_clock(state_);
  if (!exchange_ || upstream == phase::upstream_clock(before)) return;
  exchange_->run_upstream_clock(upstream);
}

void Session::perform(UpstreamEffect effect) {
  switch (effect) {
    case UpstreamEffect::none: return;
    case UpstreamEffect::open: return exchange_->open_attempt();
    case UpstreamEffect::reopen: return exchange_->reopen_attempt();
    case UpstreamEffect::finish: return exchange_->finish_upstream();
    case UpstreamEffect::abort: return exchange_->abort_upstream();
  }
}

void Session::perform(ClientEffect effect) {
  switch (effect) {
    case ClientEffect::none: return;
    case ClientEffect::answer: return exchange_->write_error_answer();
    case ClientEffect::keep:
      end_exchange();
      if (context_.stage == Stage::stopping) stop(context_.loop.now() + kStopKeptGrace);
      return;
    case ClientEffect::linger: return begin_closing();
    case ClientEffect::close: end_exchange(); return close(io::CloseHow::fin);
    case ClientEffect::cut:
      if (state_.conn == Conn::closing && !(exchange_ && exchange_->close_delimited())) {
        return begin_closing();
      }
      end_exchange();
      close(io::CloseHow::reset);
      if (state_.conn == Conn::closing) apply(Event::reset);
      return;
  }
}

void Session::end_exchange() {
  if (!exchange_ || exchange_->record.ended) return;
  exchange_->record.ended = context_.loop.now();
  const ErrorKind error = exchange_->record.error.kind;
  if (error == ErrorKind::client_gone) {
    context_.counters.add(Counter::clients_gone);
  } else if (error != ErrorKind::none) {
    context_.counters.add(Counter::exchanges_failed);
  }
  if (exchange_->setup().config.access_log == config::AccessLog::off) return;
  log_exchange(context_, *exchange_, stream_->peer());
}

void Session::begin_closing() {
  end_exchange();
  const bool timed_out = exchange_ && exchange_->record.error.kind == ErrorKind::request_timeout;
  if (timed_out) timer_.shorten_linger();
  timer_.run(ClientClock::linger, context_.loop.now(), 0);
  stream_->finish_writing();
}

void Session::close(io::CloseHow how) { io::close(std::move(stream_), how); }

// --- closing

io::Task<> Session::linger() {
  std::uint64_t discarded = 0;
  while (state_.conn == Conn::closing) {
    discard_once(discarded);
    if (state_.conn == Conn::closing) judge_client();
    if (state_.conn == Conn::closing) co_await *this;
  }
}

void Session::discard_once(std::uint64_t& discarded) {
  for (int takes = 0; stream_->readable(); ++takes) {
    if (takes == kTurnTakes) return context_.loop.ready_next_turn(*this);
    const io::Take take = stream_->take();
    switch (take.kind) {
      case io::Take::Kind::nothing: return;
      case io::Take::Kind::fin: return apply(Event::fin_later);
      case io::Take::Kind::failed: return apply(Event::reset);
      case io::Take::Kind::data: break;
    }
    timer_.note_activity(context_.loop.now());
    discarded += take.lease.bytes().size();
    if (discarded > context_.limits().linger_bytes) return apply(Event::drained);
  }
}

// --- from above

void Session::shed() {
  HG_ASSERT(idle() && nothing_taken());  // the kernel may have bytes since it was asked
  context_.counters.add(Counter::clients_shed);
  context_.log.line(context_.loop.now(), LogLevel::warning, "shed")
      .text("client", stream_->peer().to_string())
      .text("phase", phase::name(state_.conn));
  apply(Event::reset);
  context_.loop.ready(*this);
}

void Session::stop(Time idle_due) {
  if (state_.conn == Conn::closed) return;
  // A head that has left without Connection: close has promised that another request may come.
  const bool promised = state_.conn == Conn::exchange && state_.answered;
  if (!promised) apply(Event::last);
  timer_.cap_idle(idle_due);
}

void Session::adopt() {
  if (!exchange_ || idle()) timer_.adopt(context_.limits());
}

void Session::describe(LogLine& line) const {
  if (stream_) line.text("client", stream_->peer().to_string());
  line.text("phase", phase::name(phase::shown(state_)));
  if (!exchange_) return;
  line.text("method", exchange_->head.method_text).text("path", exchange_->head.path);
  if (exchange_->has_decision()) line.text("upstream", exchange_->decision().upstream->name);
  line.ms("age_ms", context_.loop.now() - exchange_->record.began);
}

void Session::cut() {
  if (state_.conn == Conn::closed) return;
  fail(ErrorKind::stopping, Event::grace_over);
  context_.loop.ready(*this);
}

}  // namespace hushgate::proxy
