#include "io/uring_ring.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {
namespace {

constexpr unsigned kCompletionsPerEntry = 4;  // a multishot has many

}  // namespace

UringRing::~UringRing() {
  if (made_) io_uring_queue_exit(&ring_);
}

int UringRing::make(unsigned entries, const UringFeatures& features) {
  HG_ASSERT(!made_);
  features_ = features;
  io_uring_params params{};
  params.flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  if (features.no_sq_array) params.flags |= kSetupNoSqArray;
  params.cq_entries = entries * kCompletionsPerEntry;
  // Not io_uring_queue_init_params(): in 2.3 it fills the array that kSetupNoSqArray leaves out.
  const auto fd = static_cast<int>(::syscall(__NR_io_uring_setup, entries, &params));
  if (fd < 0) return errno;
  if (const int error = io_uring_queue_mmap(fd, &params, &ring_); error < 0) {
    ::close(fd);
    return -error;
  }
  if (!features.no_sq_array) {
    for (unsigned i = 0; i < ring_.sq.ring_entries; ++i) ring_.sq.array[i] = i;
  }
  made_ = true;
  if ((params.features & kFeatureNoIowait) == 0) features_.no_iowait = false;
  return 0;
}

int UringRing::enable() {
  HG_ASSERT(made_ && !enabled_);
  // liburing 2.3 declares io_uring_enable_rings(), but has it not.
  if (::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) <
      0) {
    return errno;
  }
  enabled_ = true;
  registered_ = features_.registered_ring && io_uring_register_ring_fd(&ring_) == 1;
  return 0;
}

void UringRing::leave() {
  if (registered_) io_uring_unregister_ring_fd(&ring_);
  registered_ = false;
  enabled_ = false;
}

// liburing's own submission has no room for newer flags of enter, so it is done here.
void UringRing::publish() { io_uring_smp_store_release(ring_.sq.ktail, ring_.sq.sqe_tail); }

unsigned UringRing::unsubmitted() const {
  return ring_.sq.sqe_tail - io_uring_smp_load_acquire(ring_.sq.khead);
}

bool UringRing::settled() const {
  return unsubmitted() == 0 && (flags() & IORING_SQ_CQ_OVERFLOW) == 0;
}

int UringRing::call(unsigned submit, unsigned wait, unsigned flags, const void* argument,
                    std::size_t size) {
  HG_ASSERT(enabled_);
  if (registered_) flags |= IORING_ENTER_REGISTERED_RING;
  if (features_.no_iowait) flags |= kEnterNoIowait;
  const auto fd = static_cast<unsigned>(registered_ ? ring_.enter_ring_fd : ring_.ring_fd);
  // The argument is a signal set or, with EXT_ARG, something else: declared as the former.
  return io_uring_enter2(fd, submit, wait, flags,
                         static_cast<sigset_t*>(const_cast<void*>(argument)), size);
}

io_uring_sqe& UringRing::prepare(const Token& token) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  while (sqe == nullptr) {
    publish();
    const int result = call(unsubmitted(), 0, 0, nullptr, 0);
    HG_ASSERT(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY);
    sqe = io_uring_get_sqe(&ring_);
  }
  // The prepare functions of liburing leave user_data alone.
  io_uring_sqe_set_data64(sqe, token.pack());
  return *sqe;
}

void UringRing::cancel(const Token& target, std::uint8_t kind) {
  io_uring_sqe& sqe = prepare({.kind = kind});
  io_uring_prep_cancel64(&sqe, target.pack(), 0);
  sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
}

void UringRing::enter(Time until) {
  publish();
  const unsigned submit = unsubmitted();
  const Duration left = until == kNever        ? Duration::max()
                        : until == Time::min() ? Duration::zero()
                                               : until - Clock::now();
  int result = 0;
  if (until == kNever) {
    result = call(submit, 1, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
  } else if (left <= Duration::zero()) {
    result = call(submit, 0, IORING_ENTER_GETEVENTS, nullptr, _NSIG / 8);
  } else {
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    __kernel_timespec timeout{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
    io_uring_getevents_arg argument{};
    argument.sigmask_sz = _NSIG / 8;
    argument.ts = reinterpret_cast<std::uintptr_t>(&timeout);
    result =
        call(submit, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
  }
  HG_ASSERT(result >= 0 || result == -EINTR || result == -EBUSY || result == -EAGAIN ||
            result == -ETIME);
}

void UringRing::fetch() { static_cast<void>(call(0, 0, IORING_ENTER_GETEVENTS, nullptr, 0)); }

}  // namespace hushgate::io
