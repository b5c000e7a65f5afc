// The clocks of an exchange's two sides: which one runs is the phase table's word, what it measures
// is here, when it falls due is the wheel's. Nothing that arrives restamps a clock; some lengthen
// by amount.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/limits.h"
#include "io/stream.h"
#include "io/wheel.h"
#include "proxy/phase.h"

namespace hushgate::proxy {

// A receiver must take min_send_bytes in each window of send_timeout. Measured at its end by what
// the peer has acknowledged, never by what was offered.
class SendWindow {
 public:
  // The window starts now; `acknowledged` in all so far.
  void begin(std::int64_t acknowledged, Time now, const Limits& limits) {
    mark_ = acknowledged;
    due_ = now + limits.send_timeout;
  }
  Time due() const { return due_; }
  // At or after due(): false if too little was taken; else the next window has begun.
  bool passed(std::int64_t acknowledged, Time now, const Limits& limits) {
    if (acknowledged - mark_ < static_cast<std::int64_t>(limits.min_send_bytes)) return false;
    begin(acknowledged, now, limits);
    return true;
  }

 private:
  std::int64_t mark_ = 0;
  Time due_{};
};

enum class TimerVerdict : std::uint8_t { goes_on, ran_out };

// What is measured of one request. Its exchange holds it, so that an idle connection need not.
struct RequestClock {
  Time first_byte{};        // the stamp that head and body are measured from
  Duration receive_used{};  // of the receive budget, by the turns that are over
  std::uint64_t body_bytes = 0;
  std::uint64_t upload_rate = 0;  // bytes per second; 0: no lengthening
  SendWindow window;
};

// The client's side.
class ClientTimer {
 public:
  ClientTimer(io::Wheel& wheel, io::Runnable& target, const Limits& limits)
      : wheel_(wheel), limits_(&limits), deadline_(target) {}

  // Clocks that start from now on are measured by these; they stay where they are until the next
  // call.
  void use(const Limits& limits) { limits_ = &limits; }
  // As use(), and an idle clock that runs is measured by them at once, from its start.
  void adopt(const Limits& limits);

  // Starts `clock` in place of the one that ran. `acknowledged`: bytes the client has acknowledged
  // so far (send).
  void run(phase::ClientClock clock, Time now, std::int64_t acknowledged);
  phase::ClientClock clock() const { return clock_; }
  // Since the running clock's first event (for head and receive: since the head's first byte).
  Duration age(Time now) const {
    const bool of_request =
        clock_ == phase::ClientClock::head || clock_ == phase::ClientClock::receive;
    return now - (of_request ? request_->first_byte : since_);
  }

  // The head's first byte has come. `request` is used for all clocks but idle, tunnel and linger,
  // until end_request().
  void begin_request(RequestClock& request, Time first_byte) {
    request = {};
    request.first_byte = first_byte;
    request_ = &request;
  }
  void end_request() { request_ = nullptr; }
  void set_upload_rate(std::uint64_t bytes_per_second) { request_->upload_rate = bytes_per_second; }
  void count_body(std::uint64_t bytes) { request_->body_bytes += bytes; }

  // Bytes moved through the tunnel, or unread bytes came while closing.
  void note_activity(Time now) { last_activity_ = now; }
  // `closing` begins after a 408: it gets 2 s in all.
  void shorten_linger() { after_timeout_ = true; }
  // While stopping, kept and fresh connections stay so long and no longer.
  void cap_idle(Time due);

  bool expired() const { return deadline_.expired(); }
  // After expired(): whether the budget is used up, or was lengthened and goes on.
  TimerVerdict judge(Time now, std::int64_t acknowledged, std::size_t unacknowledged);

 private:
  Time receive_due(Time now) const;
  Ms linger_total() const { return after_timeout_ ? kLingerAfterTimeout : kLingerTotal; }
  TimerVerdict judge_linger(Time now, std::size_t unacknowledged);
  TimerVerdict unless_due(Time due, Time now);

  io::Wheel& wheel_;
  const Limits* limits_;
  RequestClock* request_ = nullptr;
  Time since_{};  // the running clock's start
  Time last_activity_{};
  [[no_unique_address]] io::Deadline deadline_;  // its padding has room for:
  phase::ClientClock clock_ = phase::ClientClock::none;
  bool after_timeout_ = false;
};

// The upstream's silence, and, in a tunnel, its taking nothing.
class UpstreamTimer {
 public:
  UpstreamTimer(io::Wheel& wheel, io::Runnable& target) : wheel_(wheel), deadline_(target) {}

  void run_silence(Ms timeout, Time now);
  void stop();
  // A byte of the response came, or a byte of the request was taken after none had been. Cheap:
  // nothing is moved.
  void note_progress(Time now) { last_progress_ = now; }

  // In a tunnel, bytes began to wait for the upstream.
  void run_send(std::int64_t acknowledged, Time now, const Limits& limits);

  bool expired() const { return deadline_.expired(); }
  TimerVerdict judge_silence(Time now);
  TimerVerdict judge_send(Time now, std::int64_t acknowledged, const Limits& limits);

 private:
  io::Wheel& wheel_;
  io::Deadline deadline_;
  Ms timeout_{0};
  Time last_progress_{};
  SendWindow window_;
};

}  // namespace hushgate::proxy
