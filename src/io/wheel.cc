#include "io/wheel.h"

#include <algorithm>
#include <bit>

namespace hushgate::io {

Wheel::Wheel(Loop& loop, Ms period)
    : loop_(loop),
      alarm_(*this),
      period_(period),
      swept_tick_(tick_of(loop.now()) - 1),
      slots_(std::make_unique<IntrusiveList<Deadline, WheelTag>[]>(kSlots)) {}

std::int64_t Wheel::tick_of(Time time) { return time.time_since_epoch() / kTick; }

void Wheel::set(Deadline& deadline, Time due) {
  deadline.clear();
  deadline.due_ = due;
  if (due == kNever) return;
  const std::int64_t tick = std::max(tick_of(due), swept_tick_ + 1);
  const std::size_t slot = static_cast<std::size_t>(tick) % kSlots;
  slots_[slot].push_back(deadline);
  may_hold_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  if (!alarm_.pending()) arm();
}

void Wheel::set_period(Ms period) {
  period_ = period;
  if (alarm_.pending() && loop_.now() + period < alarm_.due()) arm();
}

void Wheel::arm() { loop_.set_alarm(alarm_, loop_.now() + period_); }

// A deadline later than now shares the slot of an earlier round, or lies in the current tick: it
// stays.
void Wheel::sweep_slot(std::size_t slot) {
  IntrusiveList<Deadline, WheelTag>& list = slots_[slot];
  Deadline* deadline = list.empty() ? nullptr : &list.front();
  while (deadline != nullptr) {
    Deadline* const after = list.next(*deadline);
    if (deadline->due_ <= loop_.now()) {
      deadline->unlink();
      deadline->expired_ = true;
      loop_.ready(deadline->target_);
    }
    deadline = after;
  }
}

bool Wheel::empty() {
  for (std::size_t i = 0; i < may_hold_.size(); ++i) {
    std::uint64_t& word = may_hold_[i];
    while (word != 0) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(word));
      if (!slots_[i * 64 + bit].empty()) return false;
      word &= word - 1;
    }
  }
  return true;
}

void Wheel::run() {
  ++sweeps_;
  const std::int64_t now_tick = tick_of(loop_.now());
  const std::int64_t first =
      std::max(swept_tick_ + 1, now_tick - static_cast<std::int64_t>(kSlots) + 1);
  for (std::int64_t tick = first; tick <= now_tick; ++tick) {
    sweep_slot(static_cast<std::size_t>(tick) % kSlots);
  }
  swept_tick_ = now_tick - 1;  // the current tick is not over
  if (!empty()) arm();
}

}  // namespace hushgate::io
