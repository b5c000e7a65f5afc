// A worker's loop. A turn: collect events → ring alarms → take posted work → run what is ready →
// reap. The clock is read once a turn, after the wait. No side effect happens while events are
// collected.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "io/alarm.h"
#include "io/backend.h"
#include "io/runnable.h"

namespace hushgate::io {

class Loop {
 public:
  explicit Loop(std::unique_ptr<Backend> backend);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Backend& backend() { return *backend_; }
  Time now() const { return now_; }

  // Runs it in this turn if the ready list is being run and it is not running itself, else in the
  // next one.
  void ready(Runnable& runnable) {
    if (!runnable.linked()) (&runnable == running_ ? next_ : ready_).push_back(runnable);
  }
  // Runs it in the next turn, behind the events that have come meanwhile: for who has used up its
  // share of this one.
  void ready_next_turn(Runnable& runnable) {
    if (!runnable.linked()) next_.push_back(runnable);
  }

  void set_alarm(Alarm& alarm, Time due) { alarms_.set(alarm, due); }

  // Runs `work` on this loop's thread in one of its next turns. From any thread; the only way in
  // from outside.
  void post(std::function<void()> work);

  // Turns until stop() was called.
  void run();
  // One turn; waits no longer than `until`.
  void turn(Time until);
  // Ends run() after the current turn. On the loop's own thread (post() it from others).
  void stop() { stopping_ = true; }

 private:
  void take_posted();

  std::unique_ptr<Backend> backend_;
  ReadyList ready_;
  ReadyList next_;
  Runnable* running_ = nullptr;  // compared only: it may be gone before its run() returns
  AlarmQueue alarms_;
  Time now_;
  bool stopping_ = false;

  std::atomic<bool> any_posted_{false};
  std::mutex posted_mutex_;  // guards posted_; off the data path
  std::vector<std::function<void()>> posted_;
};

}  // namespace hushgate::io
