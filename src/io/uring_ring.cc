#include "io/uring_ring.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/assert.h"

namespace hushgate::io {

UringRing::~UringRing() {
  if (!made_) return;
  io_uring_queue_exit(&ring_);
  ::munmap(buffer_ring_, options_.buffers * sizeof(io_uring_buf));
}

int UringRing::make() {
  HG_ASSERT(!made_);
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
  params.cq_entries = options_.entries * 4;
  if (const int error = io_uring_queue_init_params(options_.entries, &ring_, &params); error < 0) {
    return -error;
  }
  if (const int error = make_buffers(); error != 0) {
    io_uring_queue_exit(&ring_);
    return error;
  }
  made_ = true;
  return 0;
}

int UringRing::make_buffers() {
  const std::size_t size = options_.buffers * sizeof(io_uring_buf);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = options_.buffers;
  registration.bgid = kBufferGroup;
  if (const int error = io_uring_register_buf_ring(&ring_, &registration, 0); error < 0) {
    ::munmap(memory, size);
    return -error;
  }
  io_uring_buf_ring_init(buffer_ring_);
  memory_ = std::make_unique<std::byte[]>(options_.buffers * options_.buffer_bytes);
  for (unsigned id = 0; id < options_.buffers; ++id) recycle(id);
  return 0;
}

void UringRing::recycle(std::uint32_t id) noexcept {
  io_uring_buf_ring_add(buffer_ring_, memory_.get() + id * options_.buffer_bytes,
                        static_cast<unsigned>(options_.buffer_bytes),
                        static_cast<unsigned short>(id), io_uring_buf_ring_mask(options_.buffers),
                        0);
  io_uring_buf_ring_advance(buffer_ring_, 1);
}

io_uring_sqe& UringRing::prepare(const Token& token) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    HG_ASSERT(io_uring_submit(&ring_) >= 0);
    sqe = io_uring_get_sqe(&ring_);
    HG_ASSERT(sqe != nullptr);
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

void UringRing::submit_and_wait(Time until) {
  if (until == kNever) {
    const int result = io_uring_submit_and_wait(&ring_, 1);
    HG_ASSERT(result >= 0 || result == -EINTR || result == -EBUSY || result == -EAGAIN);
    return;
  }
  const Duration left = until == Time::min() ? Duration::zero() : until - Clock::now();
  if (left <= Duration::zero()) {
    io_uring_submit_and_get_events(&ring_);
    return;
  }
  const auto whole = std::chrono::floor<std::chrono::seconds>(left);
  __kernel_timespec timeout{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
  io_uring_cqe* first = nullptr;
  io_uring_submit_and_wait_timeout(&ring_, &first, 1, &timeout, nullptr);
}

bool UringRing::has_completion(const Token& token) {
  bool found = false;
  unsigned head = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(&ring_, head, cqe) found = found || cqe->user_data == token.pack();
  return found;
}

}  // namespace hushgate::io
