#include "app/check_probe.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/limits.h"
#include "h2/client_link.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/scanner.h"
#include "io/alarm.h"
#include "io/stream.h"
#include "tls/sessions.h"
#include "tls/stream.h"

namespace hushgate::app {
namespace {

constexpr std::uint64_t kOwnDescriptors = 32;

std::string request_of(const config::Upstream& upstream) {
  return "HEAD " + upstream.prefix + "/ HTTP/1.1\r\nHost: " + upstream.authority +
         "\r\nUser-Agent: hushgate-check\r\nAccept: */*\r\n\r\n";
}

class Probe final : public io::Runnable, public h2::ClientLink::Handler {
 public:
  Probe(io::Loop& loop, upstream::NameSource& names, const config::Upstream& upstream,
        tls::Scratch& scratch, tls::ClientContext::Pointer tls, const Limits& limits, Ms wait)
      : loop_(loop),
        scratch_(scratch),
        upstream_(upstream),
        limits_(limits),
        wait_(wait),
        name_(make_name(loop, names, upstream)),
        scanner_(http::ScanRole::response, http::ScanBounds::of(limits)) {
    if (tls) sessions_.emplace(std::move(tls));
  }

  void start();
  bool ended() const { return state_ == State::ended; }
  const Probed& probed() const { return probed_; }

  void run() override;
  void link_changed(h2::ClientLink&) override { run(); }

 private:
  enum class State : std::uint8_t {
    idle,        // not started
    resolving,   // name_wait_ may be linked
    connecting,  // attempts_ runs parallel to probed_.tried; null: it has ended
    handshake,   // of TLS, on stream_
    asking,      // the request is on its way, received_ holds what has come of the response. Over
                 // HTTP/2 stream_ is a leg of link_
    watching,    // the response is here, since_ is when. Over HTTP/2 only link_ is left
    ended,       // probed_ is complete; nothing is open
  };

  static upstream::Name make_name(io::Loop& loop, upstream::NameSource& names,
                                  const config::Upstream& upstream) {
    // What needs no resolving is never asked for.
    if (upstream.scheme == config::Scheme::unix_socket) return {loop, names, IpAddress()};
    if (upstream.literal) return {loop, names, *upstream.literal};
    return {loop, names, upstream.host};
  }

  void enter(State state, Duration budget);
  bool out_of_time() const { return loop_.now() >= due_; }
  void end(ProbeEnd how);
  void step_resolving();
  void begin_connecting();
  void step_connecting();
  void settle(std::size_t index);
  void choose();
  void step_handshake();
  void ask();
  bool begin_http2();
  void hang_up(int os_error);
  void step_asking();
  void send();
  bool read_head();
  void head_complete(const http::ResponseHead& head, std::size_t surplus_bytes);
  void step_watching();
  bool watch_stream();

  io::Loop& loop_;
  tls::Scratch& scratch_;
  std::optional<tls::Sessions> sessions_;  // none: no TLS
  const config::Upstream& upstream_;
  const Limits& limits_;
  Ms wait_;
  State state_ = State::idle;
  upstream::Name name_;
  upstream::NameWait name_wait_{*this};
  io::Alarm alarm_{*this};
  Time due_{};    // the alarm's
  Time since_{};  // when the state began
  std::vector<io::StreamPtr> attempts_;
  std::unique_ptr<h2::ClientLink> link_;
  io::StreamPtr stream_;
  std::string unsent_;
  http::HeadScanner scanner_;
  std::string received_;
  Probed probed_;
};

void Probe::enter(State state, Duration budget) {
  state_ = state;
  since_ = loop_.now();
  due_ = since_ + budget;
  loop_.set_alarm(alarm_, due_);
}

void Probe::end(ProbeEnd how) {
  alarm_.cancel();
  attempts_.clear();
  stream_.reset();
  link_.reset();
  probed_.end = how;
  state_ = State::ended;
}

void Probe::start() {
  if (upstream_.scheme == config::Scheme::unix_socket) {
    probed_.tried.push_back({.address = SocketAddress::unix_socket(upstream_.unix_path)});
    return begin_connecting();
  }
  enter(State::resolving, limits_.connect_total);
  name_.need(name_wait_, loop_.now());
  run();
}

void Probe::run() {
  switch (state_) {
    case State::resolving: return step_resolving();
    case State::connecting: return step_connecting();
    case State::handshake: return step_handshake();
    case State::asking: return step_asking();
    case State::watching: return step_watching();
    case State::idle:
    case State::ended: return;
  }
}

void Probe::step_resolving() {
  switch (name_.state()) {
    case upstream::Name::State::known:
      for (const IpAddress& ip : name_.addresses()) {
        probed_.tried.push_back({.address = IpPort{.ip = ip, .port = upstream_.port}});
      }
      return begin_connecting();
    case upstream::Name::State::failed:
      probed_.error = name_.error();
      return end(ProbeEnd::unresolved);
    case upstream::Name::State::unasked:
    case upstream::Name::State::asking: break;
  }
  if (!out_of_time()) return;
  probed_.error = {.kind = ErrorKind::dns_timeout};
  end(ProbeEnd::unresolved);
}

void Probe::begin_connecting() {
  enter(State::connecting, limits_.connect_timeout);
  const auto& sources = upstream_.source_addresses;
  attempts_.resize(probed_.tried.size());
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    ProbedAddress& tried = probed_.tried[i];
    const IpPort* ip = tried.address.ip();
    io::ConnectOptions options;
    if (ip != nullptr) {
      const auto source = std::ranges::find(sources, ip->ip.family(), &IpAddress::family);
      if (source != sources.end()) options.source = *source;
    }
    auto stream = loop_.backend().connect(tried.address, options, this);
    if (stream)
      attempts_[i] = std::move(*stream);
    else
      tried.outcome = stream.error().os_error;
  }
  step_connecting();
}

// The first that accepts is asked; the others have a moment more to show what they do.
void Probe::step_connecting() {
  for (std::size_t i = 0; i < attempts_.size(); ++i) settle(i);
  const bool open = std::ranges::any_of(
      probed_.tried, [](const ProbedAddress& tried) { return !tried.outcome.has_value(); });
  if (open && !out_of_time()) return;
  if (!stream_) return end(ProbeEnd::unreachable);
  attempts_.clear();
  choose();
}

void Probe::settle(std::size_t index) {
  io::StreamPtr& attempt = attempts_[index];
  if (!attempt || attempt->connecting()) return;
  probed_.tried[index].outcome = attempt->failed() ? attempt->error() : 0;
  if (!attempt->failed() && !stream_) {
    stream_ = std::move(attempt);
    probed_.address = probed_.tried[index].address;
    probed_.connect_time = loop_.now() - since_;
    due_ = std::min(due_, loop_.now() + kAddressRaceDelay);
    loop_.set_alarm(alarm_, due_);
  }
  attempt.reset();
}

void Probe::choose() {
  if (!sessions_) return ask();
  enter(State::handshake, limits_.connect_timeout);
  stream_ = tls::Stream::connect(scratch_, *sessions_, std::move(stream_), this);
  step_handshake();
}

void Probe::step_handshake() {
  if (stream_->connecting() && !out_of_time()) return;
  if (stream_->connecting() || stream_->failed()) {
    probed_.why = stream_->failed() ? stream_->failure_text() : "it did not end in time";
    return end(ProbeEnd::tls_failed);
  }
  probed_.tls_time = loop_.now() - since_;
  probed_.http2 = static_cast<const tls::Stream&>(*stream_).alpn() == "h2";
  if (upstream_.protocol == config::Protocol::http2 && !probed_.http2) {
    probed_.why = "it did not choose h2 (ALPN), and its protocol is \"http2\"";
    return end(ProbeEnd::tls_failed);
  }
  ask();
}

// False: it has hung up.
bool Probe::begin_http2() {
  link_ = std::make_unique<h2::ClientLink>(
      loop_, *this, std::move(stream_),
      h2::LinkSettings{.stream_window_bytes = limits_.max_buffered_bytes,
                       .max_head_bytes = limits_.max_header_bytes});
  if (!link_->can_open()) return false;
  stream_ = link_->open();
  stream_->set_owner(this);
  return true;
}

void Probe::ask() {
  enter(State::asking, wait_);
  if (upstream_.protocol == config::Protocol::h2c) probed_.http2 = true;
  if (probed_.http2 && !begin_http2()) return hang_up(0);
  unsent_ = request_of(upstream_);
  step_asking();
}

void Probe::send() {
  if (unsent_.empty()) return;
  const std::array<Bytes, 1> pieces{as_bytes(unsent_)};
  const auto accepted = stream_->write(pieces);
  if (accepted) unsent_.erase(0, *accepted);  // a failure is seen by take()
}

void Probe::step_asking() {
  send();
  for (;;) {
    io::Take take = stream_->take();
    switch (take.kind) {
      case io::Take::Kind::data:
        received_ += as_text(take.lease.bytes());
        take.lease = {};
        if (!read_head()) return;
        continue;
      case io::Take::Kind::nothing:
        if (out_of_time()) end(ProbeEnd::silent);
        return;
      case io::Take::Kind::failed: return hang_up(take.os_error);
      case io::Take::Kind::fin: return hang_up(0);
    }
  }
}

void Probe::hang_up(int os_error) {
  if (link_ && !link_->settings_seen()) return end(ProbeEnd::not_http);
  if (os_error != 0) {
    probed_.error = {.kind = ErrorKind::connection_terminated, .os_error = os_error};
  }
  end(ProbeEnd::hung_up);
}

// Returns whether the final response's head is still to come. The scanner bounds what is held.
bool Probe::read_head() {
  http::ResponseHead head;
  for (;;) {
    const http::Scan scan = scanner_.scan(received_);
    if (scan.event == http::ScanEvent::need_more) return true;
    if (scan.event == http::ScanEvent::refused ||
        !http::parse_response_head(scan.head(received_), head)) {
      end(ProbeEnd::not_http);
      return false;
    }
    if (!head.interim()) {
      head_complete(head, received_.size() - scan.length);
      return false;
    }
    received_.erase(0, scan.length);
    scanner_.reset();
  }
}

void Probe::head_complete(const http::ResponseHead& head, std::size_t surplus_bytes) {
  probed_.status = head.status;
  probed_.answer_time = loop_.now() - since_;
  probed_.keep_alive_s = head.keep_alive_timeout_s;
  const bool closes = head.connection.close ||
                      (head.version == http::Version::http10 && !head.connection.keep_alive);
  if (closes) return end(ProbeEnd::closes_each);
  if (surplus_bytes > 0) return end(ProbeEnd::spoke);
  enter(State::watching, wait_);
  if (link_) io::close(std::move(stream_), io::CloseHow::fin);
  loop_.ready(*this);  // what follows may have come already
}

void Probe::step_watching() {
  const bool open = link_ ? link_->state() == h2::Link::State::open : watch_stream();
  if (state_ != State::watching) return;
  if (!open) {
    probed_.idle = loop_.now() - since_;
    return end(ProbeEnd::closed_idle);
  }
  if (out_of_time()) end(ProbeEnd::kept_open);
}

// Whether it is still open.
bool Probe::watch_stream() {
  const io::Take::Kind kind = stream_->take().kind;
  if (kind == io::Take::Kind::data) end(ProbeEnd::spoke);
  return kind == io::Take::Kind::nothing;
}

}  // namespace

std::size_t probes_at_once(std::uint64_t descriptor_limit) {
  const std::uint64_t room = descriptor_limit - std::min(descriptor_limit, kOwnDescriptors);
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(room / upstream::kMaxAddresses, 1, config::kMaxUpstreams));
}

std::vector<Probed> probe(io::Loop& loop, upstream::NameSource& names, const config::Config& config,
                          const proxy::TlsSetup& tls, const ProbeOptions& options) {
  HG_ASSERT(options.at_once > 0);
  tls::Scratch scratch(loop);
  std::vector<std::unique_ptr<Probe>> probes;
  for (std::size_t i = 0; i < config.upstreams.size(); ++i) {
    tls::ClientContext::Pointer context = i < tls.upstreams.size() ? tls.upstreams[i] : nullptr;
    probes.push_back(std::make_unique<Probe>(loop, names, config.upstreams[i], scratch,
                                             std::move(context), config.limits, options.wait));
  }
  const auto ended = [&] {
    return static_cast<std::size_t>(
        std::ranges::count_if(probes, [](const auto& each) { return each->ended(); }));
  };
  std::size_t started = 0;
  while (ended() < probes.size()) {
    while (started < probes.size() && started - ended() < options.at_once) {
      probes[started++]->start();
    }
    if (ended() < started) loop.turn(kNever);
  }
  std::vector<Probed> results;
  for (const auto& each : probes) results.push_back(each->probed());
  return results;
}

}  // namespace hushgate::app
