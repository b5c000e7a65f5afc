#include "io/loop.h"

#include <algorithm>
#include <utility>

namespace hushgate::io {

Loop::Loop(std::unique_ptr<Backend> backend)
    : backend_(std::move(backend)), now_(backend_->now()) {}

void Loop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(work));
  }
  any_posted_.store(true, std::memory_order_release);
  backend_->wake();
}

void Loop::take_posted() {
  if (!any_posted_.exchange(false, std::memory_order_acquire)) return;
  std::vector<std::function<void()>> works;
  {
    const std::lock_guard lock(posted_mutex_);
    works.swap(posted_);
  }
  for (const auto& work : works) work();
}

void Loop::turn(Time until) {
  const bool work_waits = !ready_.empty() || !next_.empty();
  const Time wait_end = work_waits ? Time::min() : std::min(until, alarms_.earliest());
  ready_.splice_back(next_);
  backend_->collect(wait_end, ready_);
  now_ = backend_->now();
  alarms_.ring(now_, ready_);
  take_posted();
  while (Runnable* runnable = ready_.pop_front()) {
    running_ = runnable;
    runnable->run();
    running_ = nullptr;
  }
  backend_->reap();
}

void Loop::run() {
  stopping_ = false;
  while (!stopping_) turn(kNever);
}

}  // namespace hushgate::io
