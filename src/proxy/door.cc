#include "proxy/door.h"

#include <array>
#include <utility>

#include "base/assert.h"
#include "proxy/errors.h"
#include "proxy/session.h"
#include "tls/stream.h"

namespace hushgate::proxy {

using stats::Counter;

Result<SocketAddress> Gateway::Door::open(const SocketAddress& address) {
  const int backlog = static_cast<int>(gateway_.context_.limits().backlog);
  auto listener = gateway_.loop_.backend().listen(address, {.backlog = backlog}, *this);
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  return listener_->address();
}

void Gateway::Door::close() {
  shortage_ = Shortage::closing;
  resume_alarm_.cancel();
  static_cast<ListNode<io::ReadyTag>&>(*this).unlink();  // it may have rung in this turn
  admit_held();
  if (listener_) listener_->drain_and_close();
}

// One more client fits under maxConnections, or an older one made room for it.
bool Gateway::Door::admit() {
  Shared& shared = gateway_.shared_;
  if (shared.clients.fetch_add(1, std::memory_order_relaxed) < shared.max_clients) return true;
  if (gateway_.shed_oldest_client()) return true;
  shared.clients.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void Gateway::Door::accepted(io::StreamPtr stream) {
  // Whoever the reserve was lent for may have gone, and this one may have a descriptor of its own.
  const bool on_reserve = std::exchange(reserve_lent_, false) && !gateway_.reserve_.refill();
  if (on_reserve) return turn_away(std::move(stream));
  if (admit()) return let_in(std::move(stream));
  if (will_not_wait()) return turn_away(std::move(stream));
  held_ = std::move(stream);
  pause();
}

// Of the configuration in force: a reload may have changed it.
tls::ServerContext::Pointer Gateway::Door::tls() const {
  return site_ == nullptr ? gateway_.context_.setup().listener_tls(index_) : nullptr;
}

Session::Carrier Gateway::Door::carrier() const {
  const bool is_off = site_ == nullptr &&
                      gateway_.context_.setup().config.listen[index_].http2 == config::Http2::off;
  return is_off ? Session::Carrier::connection_h1 : Session::Carrier::connection;
}

void Gateway::Door::let_in(io::StreamPtr stream) {
  if (shortage_ != Shortage::closing) shortage_ = Shortage::none;
  if (tls::ServerContext::Pointer context = tls()) {
    stream = tls::Stream::accept(gateway_.scratch_, std::move(context), std::move(stream));
  }
  Session::start(gateway_.context_, std::move(stream), site_, carrier());
}

// No descriptor for the next client. First room is made; if there is none, accepting stands still
// once; if that did not help, the reserve lets one in to be told.
bool Gateway::Door::out_of_descriptors() {
  if (gateway_.make_room()) return true;
  reserve_lent_ = will_not_wait() && gateway_.reserve_.release();
  if (!reserve_lent_ && shortage_ != Shortage::closing) pause();
  return reserve_lent_;
}

void Gateway::Door::pause() {
  gateway_.counters_.add(Counter::accept_pauses);
  shortage_ = Shortage::pausing;
  listener_->pause();
  gateway_.loop_.set_alarm(resume_alarm_, gateway_.loop_.now() + kAcceptPause);
  gateway_.log_.line(gateway_.loop_.now(), LogLevel::warning, "accept_paused")
      .text("listener", listener_->address().to_string())
      .number("clients", gateway_.shared_.clients.load(std::memory_order_relaxed));
}

void Gateway::Door::run() {
  HG_ASSERT(shortage_ == Shortage::pausing);
  shortage_ = Shortage::answering;
  admit_held();
  listener_->resume();
}

// Whoever was accepted when there was no room.
void Gateway::Door::admit_held() {
  if (!held_) return;
  if (admit()) return let_in(std::move(held_));
  turn_away(std::move(held_));
}

// Told and closed at once: lingering would keep the descriptor that is missing. In TLS telling
// would take a handshake first: reset.
void Gateway::Door::turn_away(io::StreamPtr stream) {
  gateway_.counters_.add(Counter::clients_shed);
  gateway_.log_.line(gateway_.loop_.now(), LogLevel::warning, "turned_away")
      .text("client", stream->peer().to_string());
  if (tls()) {
    stream.reset();
    static_cast<void>(gateway_.reserve_.refill());
    return;
  }
  // What is here is taken first: unread bytes would turn the FIN into a reset, and a HEAD is told
  // without a body.
  const io::Take asked = stream->take();
  const bool is_head =
      asked.kind == io::Take::Kind::data && as_text(asked.lease.bytes()).starts_with("HEAD ");
  std::string text;
  write_error(text, {.kind = ErrorKind::shedding,
                     .method = is_head ? http::Method::head : http::Method::get,
                     .should_retry = ShouldRetry::yes,
                     .server = gateway_.context_.setup().via_token,
                     .request_id = {}});
  const std::array pieces{as_bytes(text)};
  static_cast<void>(stream->write(pieces));
  stream->finish_writing();
  io::close(std::move(stream), io::CloseHow::fin);
  static_cast<void>(gateway_.reserve_.refill());
}

}  // namespace hushgate::proxy
