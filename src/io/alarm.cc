#include "io/alarm.h"

#include "base/assert.h"

namespace hushgate::io {

void Alarm::cancel() {
  if (queue_ != nullptr) queue_->remove(*this);
}

AlarmQueue::~AlarmQueue() {
  for (Alarm* alarm : heap_) alarm->queue_ = nullptr;
}

void AlarmQueue::place(Alarm& alarm, std::size_t index) {
  heap_[index] = &alarm;
  alarm.index_ = index;
}

void AlarmQueue::sift_up(std::size_t index) {
  Alarm& moving = *heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (heap_[parent]->due_ <= moving.due_) break;
    place(*heap_[parent], index);
    index = parent;
  }
  place(moving, index);
}

void AlarmQueue::sift_down(std::size_t index) {
  Alarm& moving = *heap_[index];
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due_ < heap_[child]->due_) ++child;
    if (moving.due_ <= heap_[child]->due_) break;
    place(*heap_[child], index);
    index = child;
  }
  place(moving, index);
}

void AlarmQueue::set(Alarm& alarm, Time due) {
  if (alarm.queue_ != nullptr) remove(alarm);
  alarm.queue_ = this;
  alarm.due_ = due;
  heap_.push_back(&alarm);
  sift_up(heap_.size() - 1);
}

void AlarmQueue::remove(Alarm& alarm) {
  HG_ASSERT(alarm.queue_ == this && heap_[alarm.index_] == &alarm);
  const std::size_t index = alarm.index_;
  Alarm& last = *heap_.back();
  heap_.pop_back();
  alarm.queue_ = nullptr;
  if (&last == &alarm) return;
  place(last, index);
  sift_up(index);
  sift_down(last.index_);
}

void AlarmQueue::ring(Time now, ReadyList& ready) {
  while (!heap_.empty() && heap_.front()->due_ <= now) {
    Alarm& alarm = *heap_.front();
    remove(alarm);
    if (!alarm.target_.linked()) ready.push_back(alarm.target_);
  }
}

}  // namespace hushgate::io
