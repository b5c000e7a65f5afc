// What is to happen in a simulated network, in order of time, then in the order in which it was
// asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "io/sim_connection.h"

namespace hushgate::io {

struct SimEvent {
  enum class Kind : std::uint8_t {
    segment,  // arrives at `socket`
    timer,    // of the end `socket`
    nudge,    // the user of `socket` is to look again
    script,   // `what`
  };
  Kind kind = Kind::script;
  SimSocket socket{};
  SimSegment segment{};
};

class SimEvents {
 public:
  bool empty() const { return heap_.empty(); }
  // Of the first.
  Time time() const { return heap_.front().time; }
  const SimEvent& first() const { return slots_[heap_.front().slot()]; }

  void push(Time time, const SimEvent& event) {
    const std::size_t slot = take_slot();
    slots_[slot] = event;
    add({time, next_order_++ << kSlotBits | slot});
  }
  void push(Time time, std::function<void()> script) {
    const std::size_t slot = take_slot();
    slots_[slot] = {.kind = SimEvent::Kind::script};
    scripts_.resize(std::max(scripts_.size(), slot + 1));
    scripts_[slot] = std::move(script);
    add({time, next_order_++ << kSlotBits | slot});
  }
  // The first is for a later time. It still comes before what was asked for after it.
  void put_off(Time time) {
    Entry entry = heap_.front();
    drop_entry();
    entry.time = time;
    add(entry);
  }
  // Takes the first away. `script` is set if it is one.
  SimEvent pop(std::function<void()>& script) {
    const std::size_t slot = heap_.front().slot();
    drop_entry();
    free_.push_back(static_cast<std::uint32_t>(slot));
    const SimEvent event = slots_[slot];
    if (event.kind == SimEvent::Kind::script) script = std::exchange(scripts_[slot], nullptr);
    return event;
  }

 private:
  static constexpr unsigned kSlotBits = 24;

  struct Entry {
    Time time;
    std::uint64_t rank;  // the order in which it was asked for, and below it the slot
    std::size_t slot() const { return rank & ((1U << kSlotBits) - 1); }
    bool operator<(const Entry& other) const {  // for a heap with the earliest on top
      // Without a branch, which could only be guessed.
      const int later = static_cast<int>(time > other.time);
      const int same = static_cast<int>(time == other.time);
      return (later | (same & static_cast<int>(rank > other.rank))) != 0;
    }
  };

  std::size_t take_slot() {
    if (free_.empty()) {
      slots_.emplace_back();
      HG_ASSERT(slots_.size() < (1U << kSlotBits));
      return slots_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void add(const Entry& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }
  void drop_entry() {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }

  std::vector<Entry> heap_;  // small, because it is moved about
  std::uint64_t next_order_ = 0;
  std::vector<SimEvent> slots_;
  std::vector<std::function<void()>> scripts_;  // by slot
  std::vector<std::uint32_t> free_;
};

}  // namespace hushgate::io
