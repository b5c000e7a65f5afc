// A ring, without what is received into. For uring*.cc only.
#pragma once

#include <liburing.h>

#include <cstdint>

#include "base/clock.h"
#include "io/token.h"
#include "io/uring_kernel.h"

namespace hushgate::io {

class UringRing {
 public:
  UringRing() = default;
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;
  ~UringRing();

  // The ring belongs to nobody yet, and runs nothing. errno, or 0.
  int make(unsigned entries, const UringFeatures& features);
  bool made() const { return made_; }
  // SINGLE_ISSUER and DEFER_TASKRUN: from now on it belongs to the calling thread. errno, or 0.
  int enable();
  bool enabled() const { return enabled_; }
  // The owning thread's last call, with nothing submitted that has not completed.
  void leave();

  // Room for one operation; what was prepared before is submitted when there is none. The token is
  // set.
  io_uring_sqe& prepare(const Token& token);
  // Asks for the end of an operation. Its own completion is told only as a failure, under `kind`.
  void cancel(const Token& target, std::uint8_t kind);

  // Submits what was prepared, and waits until there is a completion or `until` has come (kNever;
  // Time::min(): not at all). One system call.
  void enter(Time until);
  // False: something is prepared, or has completed, that the kernel had no room for. Completions
  // are to be looked at, then enter() again.
  bool settled() const;
  // The kernel has news that are no completions yet.
  bool has_news() const { return (flags() & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0; }
  // Makes completions of them; submits nothing.
  void fetch();

  template <typename OnCompletion>
  void for_each_completion(OnCompletion&& on_completion) {
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++count;
      on_completion(*cqe);
    }
    if (count > 0) io_uring_cq_advance(&ring_, count);
  }

  io_uring& raw() { return ring_; }

 private:
  unsigned flags() const { return IO_URING_READ_ONCE(*ring_.sq.kflags); }
  unsigned unsubmitted() const;
  void publish();
  int call(unsigned submit, unsigned wait, unsigned flags, const void* argument, std::size_t size);

  io_uring ring_{};
  UringFeatures features_;
  bool made_ = false;
  bool enabled_ = false;
  bool registered_ = false;
};

}  // namespace hushgate::io
