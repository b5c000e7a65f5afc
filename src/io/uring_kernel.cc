#include "io/uring_kernel.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "io/sockets.h"
#include "io/uring.h"
#include "io/uring_buffers.h"
#include "io/uring_ring.h"

namespace hushgate::io {
namespace {

constexpr unsigned kProbeEntries = 8;
constexpr unsigned kProbeBuffers = 8;
constexpr std::size_t kProbeBufferBytes = 64;

int try_features(const UringFeatures& features) {
  UringBuffers buffers;
  UringRing ring;
  if (const int error = ring.make(kProbeEntries, features); error != 0) return error;
  return buffers.make(ring, kProbeBuffers, kProbeBufferBytes, features);
}

// A kernel that does not know the limit refuses a receive with one.
bool has_receive_limit(const UringFeatures& features) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const Descriptor one(ends[0]);
  const Descriptor other(ends[1]);
  UringBuffers buffers;
  UringRing ring;
  if (ring.make(kProbeEntries, features) != 0 || ring.enable() != 0 ||
      buffers.make(ring, kProbeBuffers, kProbeBufferBytes, features) != 0 ||
      ::send(other.get(), "x", 1, MSG_NOSIGNAL) != 1) {
    return false;
  }
  io_uring_sqe& sqe = ring.prepare({});
  io_uring_prep_recv_multishot(&sqe, one.get(), nullptr, 0, 0);
  sqe.flags |= IOSQE_BUFFER_SELECT;
  sqe.buf_group = UringBuffers::kGroup;
  sqe.file_index = 1;
  ring.enter(Time::min());
  bool ended = false;
  ring.for_each_completion([&](const io_uring_cqe& cqe) {
    ended = cqe.res == 1 && (cqe.flags & IORING_CQE_F_MORE) == 0;
  });
  ring.leave();
  return ended;
}

std::string disabled_setting() {
  std::ifstream file("/proc/sys/kernel/io_uring_disabled");
  std::string value;
  file >> value;
  return value;
}

}  // namespace

Result<UringFeatures> probe_uring(const UringFeatures& wanted) {
  UringFeatures features = wanted;
  int error = try_features(features);
  if (error == EINVAL && features.incremental_buffers) {
    features.incremental_buffers = false;
    error = try_features(features);
  }
  if (error == EINVAL && features.no_sq_array) {
    features.no_sq_array = false;
    error = try_features(features);
  }
  if (error != 0) return fail(ErrorKind::internal_fault, error);
  features.receive_limit = features.receive_limit && has_receive_limit(features);
  return features;
}

std::string explain_uring_error(int os_error) {
  switch (os_error) {
    case ENOSYS:
      return "this kernel has none, or a seccomp filter hides it; Linux 6.1 or later is needed, "
             "and io_uring_setup, io_uring_enter and io_uring_register must be allowed";
    case EPERM:
      if (const std::string value = disabled_setting(); value == "1" || value == "2") {
        return "the sysctl kernel.io_uring_disabled is " + value + "; it must be 0" +
               (value == "1" ? ", or this user in the group kernel.io_uring_group" : "");
      }
      return "a security policy forbids it, as containers' seccomp profiles do; io_uring_setup, "
             "io_uring_enter and io_uring_register must be allowed";
    case EINVAL: return "this kernel's is too old (no DEFER_TASKRUN); Linux 6.1 or later is needed";
    case ENOMEM:
      return "memory for its ring is refused; a higher limit of memory (on old kernels: of locked "
             "memory, ulimit -l) is needed";
    default: return std::string("it failed with \"") + std::strerror(os_error) + "\"";
  }
}

std::string uring_unavailable() {
  const Result<UringFeatures> features = probe_uring({});
  return features ? std::string() : explain_uring_error(features.error().os_error);
}

}  // namespace hushgate::io
