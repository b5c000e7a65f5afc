// Points in time at which a runnable is to run: the sweep, the steps of an address race, backoff,
// the accept pause. Few and short; budgets live in the wheel.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "io/runnable.h"

namespace hushgate::io {

class AlarmQueue;

// Rings once: makes its target ready at the first turn that begins at or after `due`. Cancels
// itself when destroyed.
class Alarm {
 public:
  explicit Alarm(Runnable& target) : target_(target) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { cancel(); }

  bool pending() const { return queue_ != nullptr; }
  Time due() const { return due_; }
  void cancel();

 private:
  friend class AlarmQueue;

  Runnable& target_;
  AlarmQueue* queue_ = nullptr;
  Time due_{};
  std::size_t index_ = 0;
};

// A binary heap ordered by `due`.
class AlarmQueue {
 public:
  AlarmQueue() = default;
  AlarmQueue(const AlarmQueue&) = delete;
  AlarmQueue& operator=(const AlarmQueue&) = delete;
  ~AlarmQueue();

  // Sets or moves an alarm.
  void set(Alarm& alarm, Time due);
  void remove(Alarm& alarm);
  Time earliest() const { return heap_.empty() ? kNever : heap_.front()->due_; }
  // Takes out every alarm that is due and makes its target ready.
  void ring(Time now, ReadyList& ready);

 private:
  void place(Alarm& alarm, std::size_t index);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Alarm*> heap_;
};

}  // namespace hushgate::io
