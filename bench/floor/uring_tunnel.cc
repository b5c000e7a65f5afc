// The floor on io_uring: as epoll_tunnel, with multishot accept and receive, provided buffers, and
// sends that are submitted together.
//
//   uring_tunnel --upstream PORT
#include <liburing.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr unsigned kRingEntries = 4'096;
constexpr unsigned kCompletions = 32'768;
constexpr unsigned kBuffers = 2'048;  // a power of two
constexpr unsigned kBufferBytes = 8'192;

struct End;

// What a completion belongs to: the lowest bit of its user_data says which of an end's two it is.
enum class Kind : std::uint64_t { receive = 0, send = 1 };

struct Piece {
  unsigned buffer;
  unsigned begin;
  unsigned end;
};

struct End {
  int fd = -1;
  End* other = nullptr;
  std::deque<Piece> waiting{};  // for this end; the first is being sent if `sending`
  bool sending = false;
  bool receiving = false;
  bool starved = false;  // stopped receiving for want of a buffer
  bool ended = false;    // its peer sends no more
  bool ending = false;
};

class Tunnels {
 public:
  explicit Tunnels(std::uint16_t upstream) : upstream_(upstream), memory_(kBuffers * kBufferBytes) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = kCompletions;
    errno = -io_uring_queue_init_params(kRingEntries, &ring_, &params);
    if (errno != 0) die("io_uring");
    void* pages = nullptr;
    if (posix_memalign(&pages, 4'096, kBuffers * sizeof(io_uring_buf)) != 0) die("memory");
    buffers_ = static_cast<io_uring_buf_ring*>(pages);
    io_uring_buf_reg registration{};
    std::memcpy(&registration.ring_addr, &pages, sizeof pages);
    registration.ring_entries = kBuffers;
    errno = -io_uring_register_buf_ring(&ring_, &registration, 0);
    if (errno != 0) die("provided buffers");
    io_uring_buf_ring_init(buffers_);
    for (unsigned i = 0; i < kBuffers; ++i) give_back(i);
  }

  [[noreturn]] void run() {
    listener_ = listen_and_say();
    arm_accept();
    for (;;) {
      const int submitted = io_uring_submit_and_wait(&ring_, 1);
      if (submitted < 0 && submitted != -EINTR) die("io_uring_submit_and_wait");
      unsigned head = 0;
      unsigned count = 0;
      io_uring_cqe* completion = nullptr;
      io_uring_for_each_cqe(&ring_, head, completion) {
        ++count;
        complete(*completion);
      }
      io_uring_cq_advance(&ring_, count);
      for (End* const end : gone_) delete end;
      gone_.clear();
    }
  }

 private:
  io_uring_sqe* entry(End* end, Kind kind) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    std::uint64_t data = 0;
    std::memcpy(&data, &end, sizeof end);
    // liburing's prep functions leave user_data alone.
    sqe->user_data = data | static_cast<std::uint64_t>(kind);
    return sqe;
  }

  char* bytes_of(unsigned buffer) { return memory_.data() + std::size_t{buffer} * kBufferBytes; }

  void give_back(unsigned buffer) {
    io_uring_buf_ring_add(buffers_, bytes_of(buffer), kBufferBytes,
                          static_cast<unsigned short>(buffer), io_uring_buf_ring_mask(kBuffers), 0);
    io_uring_buf_ring_advance(buffers_, 1);
    if (starved_.empty()) return;
    End* const end = starved_.back();
    starved_.pop_back();
    end->starved = false;
    end->ending ? reap(*end) : arm_receive(*end);
  }

  void arm_accept() {
    io_uring_sqe* const sqe = entry(nullptr, Kind::receive);
    const auto data = sqe->user_data;
    io_uring_prep_multishot_accept(sqe, listener_, nullptr, nullptr, 0);
    sqe->user_data = data;
  }

  void arm_receive(End& end) {
    io_uring_sqe* const sqe = entry(&end, Kind::receive);
    const auto data = sqe->user_data;
    io_uring_prep_recv_multishot(sqe, end.fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    sqe->user_data = data;
    end.receiving = true;
  }

  void arm_send(End& end) {
    const Piece& piece = end.waiting.front();
    io_uring_sqe* const sqe = entry(&end, Kind::send);
    const auto data = sqe->user_data;
    io_uring_prep_send(sqe, end.fd, bytes_of(piece.buffer) + piece.begin, piece.end - piece.begin,
                       MSG_WAITALL);
    sqe->user_data = data;
    end.sending = true;
  }

  void complete(const io_uring_cqe& completion) {
    const std::uint64_t address = completion.user_data & ~std::uint64_t{1};
    const bool more = (completion.flags & IORING_CQE_F_MORE) != 0;
    End* end = nullptr;
    std::memcpy(&end, &address, sizeof end);
    if (end == nullptr) {
      if (completion.res >= 0) accepted(completion.res);
      if (!more) arm_accept();
    } else if ((completion.user_data & 1) == static_cast<std::uint64_t>(Kind::send)) {
      sent(*end, completion.res);
    } else {
      received(*end, completion, more);
    }
  }

  void accepted(int fd) {
    no_delay(fd);
    auto* const client = new End{.fd = fd};
    auto* const upstream = new End{.fd = connect_to(upstream_), .other = client};
    client->other = upstream;
    arm_receive(*client);
    arm_receive(*upstream);
  }

  void received(End& end, const io_uring_cqe& completion, bool more) {
    if (!more) end.receiving = false;
    if (completion.res > 0) {
      const unsigned buffer = completion.flags >> IORING_CQE_BUFFER_SHIFT;
      if (end.ending) {
        give_back(buffer);
      } else {
        End& to = *end.other;
        to.waiting.push_back({buffer, 0, static_cast<unsigned>(completion.res)});
        if (!to.sending) arm_send(to);
      }
      if (!more && !end.ending) arm_receive(end);
    } else if (completion.res == -ENOBUFS && !end.ending) {
      end.starved = true;
      starved_.push_back(&end);
    } else {
      end.ended = true;
      if (completion.res < 0 || end.other->waiting.empty()) end_both(end);
    }
    if (end.ending) reap(end);
  }

  void sent(End& end, int result) {
    end.sending = false;
    Piece& piece = end.waiting.front();
    if (result > 0) piece.begin += static_cast<unsigned>(result);
    if (result <= 0) end_both(end);
    if (piece.begin == piece.end || end.ending) {
      give_back(piece.buffer);
      end.waiting.pop_front();
    }
    if (!end.ending && !end.waiting.empty()) arm_send(end);
    if (end.waiting.empty() && end.other->ended) end_both(end);
    if (end.ending) reap(end);
  }

  void end_both(End& end) {
    for (End* const one : {&end, end.other}) {
      if (one->ending) continue;
      one->ending = true;
      shutdown(one->fd, SHUT_RDWR);
    }
  }

  // Closes both once nothing of either is under way.
  void reap(End& end) {
    for (End* const one : {&end, end.other}) {
      if (one->fd < 0 || one->receiving || one->sending || one->starved) return;
    }
    for (End* const one : {&end, end.other}) {
      for (const Piece& piece : one->waiting) give_back(piece.buffer);
      close(one->fd);
      one->fd = -1;
      gone_.push_back(one);
    }
  }

  std::uint16_t upstream_;
  std::vector<char> memory_;
  io_uring ring_{};
  io_uring_buf_ring* buffers_ = nullptr;
  int listener_ = -1;
  std::vector<End*> starved_;
  std::vector<End*> gone_;
};

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  const hushgate::bench::Arguments arguments(argc, argv);
  hushgate::bench::Tunnels(static_cast<std::uint16_t>(arguments.number("upstream"))).run();
}
