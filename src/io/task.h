// Coroutine tasks. A Task starts when it is awaited and hands over by symmetric transfer; a root
// task is started by start() and tells its owner when it has returned. Frames come from a
// per-thread store, so that a warm worker allocates none. Nobody destroys a suspended coroutine:
// what it waits for is made to end, and it unwinds.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

#include "base/assert.h"
#include "io/loop.h"
#include "io/runnable.h"

namespace hushgate::io {

// Coroutine frames by size class, one store per thread. Freed frames are kept for the next of their
// class.
void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::PromiseBase {
    T value{};
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    void return_value(T result) noexcept { value = std::move(result); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().continuation = caller;
    return handle_;
  }
  T await_resume() noexcept { return std::move(handle_.promise().value); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : detail::PromiseBase {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    void return_void() noexcept {}
  };

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    HG_ASSERT(!handle_);
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }
  ~Task() {
    HG_ASSERT(!handle_ || handle_.done());
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().continuation = caller;
    return handle_;
  }
  void await_resume() noexcept {}

  // Root tasks: runs until the first suspension. done() after the body has returned.
  void start() { handle_.resume(); }
  bool done() const { return handle_ && handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// What a root coroutine waits on: everything that concerns it (its streams' events, its deadlines
// and alarms) makes one Wakeup ready, and the coroutine looks at the state of its things when it
// resumes. `after` runs when the coroutine has gone back to sleep or has returned; there its owner
// may delete it.
class Wakeup : public Runnable {
 public:
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void await_resume() const noexcept {}

  void run() final {
    if (waiter_) std::exchange(waiter_, nullptr).resume();
    after_run();
  }

 protected:
  ~Wakeup() = default;
  virtual void after_run() = 0;

 private:
  std::coroutine_handle<> waiter_;
};

}  // namespace hushgate::io
