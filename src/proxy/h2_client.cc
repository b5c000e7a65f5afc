#include "proxy/h2_client.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "proxy/session.h"

namespace hushgate::proxy {

using stats::Counter;

namespace {

h2::LinkSettings settings_of(const Limits& limits) {
  return {.max_streams = limits.max_streams,
          .stream_window_bytes = limits.max_buffered_bytes,
          .max_head_bytes = limits.max_header_bytes,
          .linger_bytes = limits.linger_bytes};
}

}  // namespace

H2Client::H2Client(Context& context, io::StreamPtr stream, route::Site* site)
    : context_(context),
      site_(site),
      link_(context.loop, *this, std::move(stream), settings_of(context.limits())),
      deadline_(*this) {
  ++context_.session_count;
  context_.h2_clients.push_back(*this);
  context_.counters.add(Counter::h2_clients);
}

H2Client::~H2Client() {
  if (context_.shared_clients != nullptr) {
    context_.shared_clients->fetch_sub(1, std::memory_order_relaxed);
  }
  if (--context_.session_count == 0 && context_.drained != nullptr) {
    context_.loop.ready(*context_.drained);
  }
}

void H2Client::start(Context& context, io::StreamPtr stream, route::Site* site,
                     std::string_view taken) {
  H2Client& client = *std::make_unique<H2Client>(context, std::move(stream), site).release();
  if (context.stage == Stage::stopping) client.stop(context.loop.now() + kStopKeptGrace);
  client.link_.start(as_bytes(taken));
}

void H2Client::leg_opened(io::StreamPtr leg) {
  context_.counters.add(Counter::h2_streams);
  Session::start(context_, std::move(leg), site_, Session::Carrier::stream);
}

// --- events

void H2Client::link_changed() {
  if (link_.state() == h2::Link::State::ended) return end(io::CloseHow::reset);
  if (state_ == State::last && link_.legs() == 0 && link_.waiting() == 0 && !link_.over()) {
    return end(io::CloseHow::fin);
  }
  const Time now = context_.loop.now();
  note_idleness(now);
  if (!link_.within_head()) {
    head_since_.reset();
  } else if (!head_since_) {
    head_since_ = now;
  }
  if (link_.over() && !closing_since_) closing_since_ = now;
  const bool waits = link_.waiting() > 0;
  if (waits && !sending_) window_.begin(link_.acknowledged(), now, context_.limits());
  sending_ = waits;
  set_clocks();
}

// Idle ones stand in front in the order in which they came to be it: shortage takes the first.
void H2Client::note_idleness(Time now) {
  const bool idle = link_.legs() == 0;
  if (idle == idle_since_.has_value()) return;
  idle_since_ = idle ? std::optional(now) : std::nullopt;
  static_cast<ListNode<H2ClientTag>&>(*this).unlink();
  (idle ? context_.h2_idle : context_.h2_clients).push_back(*this);
}

void H2Client::flooded(h2::Flood kind) {
  context_.counters.add(Counter::h2_floods);
  context_.log.line(context_.loop.now(), LogLevel::warning, "h2_flood")
      .text("client", link_.wire().peer().to_string())
      .text("kind", h2::name(kind));
}

// --- clocks

Time H2Client::head_due() {
  const Limits& limits = context_.limits();
  return *head_since_ + std::min({limits.idle_timeout, limits.request_timeout, kHeadBudgetCeiling});
}

void H2Client::set_clocks() {
  Time due = kNever;
  if (closing_since_) {
    due = *closing_since_ + kLingerAfterTimeout;
  } else {
    if (idle_since_ && state_ != State::last) due = *idle_since_ + context_.limits().idle_timeout;
    if (head_since_) due = std::min(due, head_due());
    if (sending_) due = std::min(due, window_.due());
    if (state_ == State::ending) due = std::min(due, stop_due_);
  }
  if (due == kNever) return deadline_.clear();
  if (!deadline_.running() || deadline_.due() != due) context_.wheel.set(deadline_, due);
}

void H2Client::run() {
  if (!deadline_.expired()) return;
  deadline_.clear();
  judge(context_.loop.now());
}

void H2Client::judge(Time now) {
  const Limits& limits = context_.limits();
  if (closing_since_ && now >= *closing_since_ + kLingerAfterTimeout) return end(io::CloseHow::fin);
  if (sending_ && now >= window_.due() && !window_.passed(link_.acknowledged(), now, limits)) {
    context_.counters.add(Counter::swept_sending);
    return end(io::CloseHow::reset);
  }
  if (head_since_ && now >= head_due()) {
    context_.counters.add(Counter::swept_head);
    head_since_.reset();
    link_.go_away(h2::kEnhanceYourCalm, "a header block was not completed in its time");
  } else if (state_ == State::ending && now >= stop_due_) {
    say_last();
  } else if (idle_since_ && state_ == State::serving && now >= *idle_since_ + limits.idle_timeout) {
    context_.counters.add(Counter::swept_idle);
    say_last();
  }
  set_clocks();
}

void H2Client::say_last() {
  state_ = State::last;
  link_.go_away(h2::kNoError, {});
}

// --- from above

void H2Client::shed() {
  context_.counters.add(Counter::clients_shed);
  context_.log.line(context_.loop.now(), LogLevel::warning, "shed")
      .text("client", link_.wire().peer().to_string())
      .text("phase", "kept");
  link_.go_away(h2::kNoError, {});
  end(io::CloseHow::fin);
}

void H2Client::stop(Time idle_due) {
  if (state_ != State::serving) return;
  state_ = State::ending;
  stop_due_ = idle_due;
  link_.announce_end();
  set_clocks();
}

void H2Client::cut() { end(io::CloseHow::reset); }

// --- the end

void H2Client::log_end() {
  if (link_.why().empty()) return;
  context_.log.line(context_.loop.now(), LogLevel::info, "h2_client_ended")
      .text("detail", link_.why());
}

void H2Client::end(io::CloseHow how) {
  const std::unique_ptr<H2Client> ended(this);
  link_.end(how, {});
  log_end();
}

}  // namespace hushgate::proxy
