// Budgets: one hashed wheel per worker for the deadlines of both sides. Setting, moving and
// clearing are O(1); a sweep costs what has expired (and what shares its slots in a later round),
// not what is open.
//
// Nothing expires before its deadline. A sweep happens every `period` while anything is linked, so
// nothing outlives its deadline by more than one period.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/intrusive_list.h"
#include "io/alarm.h"
#include "io/loop.h"

namespace hushgate::io {

class Wheel;
struct WheelTag {};

// A budget that somebody may use up. When it has expired the target is made ready and finds
// expired() true; it decides what that means (a deadline that was lengthened meanwhile is simply
// set again).
class Deadline : public ListNode<WheelTag> {
 public:
  explicit Deadline(Runnable& target) : target_(target) {}

  bool running() const { return linked(); }
  bool expired() const { return expired_; }
  Time due() const { return due_; }
  // Takes it off the wheel, and forgets an expiry.
  void clear() {
    unlink();
    expired_ = false;
  }

 private:
  friend class Wheel;

  Runnable& target_;
  Time due_{};
  bool expired_ = false;
};

class Wheel final : private Runnable {
 public:
  // `period`: the sweep's, 25 ms to 1 s.
  Wheel(Loop& loop, Ms period);

  void set(Deadline& deadline, Time due);
  // A reload changed the budgets: the next sweep happens a period from now at the latest.
  void set_period(Ms period);
  Ms period() const { return period_; }
  std::uint64_t sweeps() const { return sweeps_; }

 private:
  static constexpr std::size_t kSlots = 2048;
  static constexpr Duration kTick = std::chrono::milliseconds(25);

  static std::int64_t tick_of(Time time);
  void run() override;
  void sweep_slot(std::size_t slot);
  bool empty();
  void arm();

  Loop& loop_;
  Alarm alarm_;
  Ms period_;
  std::int64_t swept_tick_;  // every deadline of this tick and those before it has been looked at
  std::uint64_t sweeps_ = 0;
  std::unique_ptr<IntrusiveList<Deadline, WheelTag>[]> slots_;
  // A bit for each slot: clear when it holds nothing. Deadlines leave by themselves, so one that is
  // set may be out of date; empty() clears it then.
  std::array<std::uint64_t, kSlots / 64> may_hold_{};
};

}  // namespace hushgate::io
