// The floor on epoll: for each client connection one to the upstream, and bytes both ways. It knows
// no HTTP, so that what it costs is what the kernel charges for moving the bytes.
//
//   epoll_tunnel --upstream PORT
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::uint32_t kEdges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

struct End {
  int fd = -1;
  End* other = nullptr;
  std::string waiting{};  // bytes for this end that its kernel did not take
  bool readable = false;  // perhaps: not read to its end while the other end is full
  bool ended = false;     // its peer sends no more: what comes is to be read to its end
};

class Tunnels {
 public:
  explicit Tunnels(std::uint16_t upstream) : upstream_(upstream) {}

  [[noreturn]] void run() {
    serve_events(
        poller_, [this](int listener) { accept_all(listener); },
        [this](void* data, std::uint32_t events) { step(*static_cast<End*>(data), events); },
        [this] {
          for (End* const gone : gone_) delete gone;
          gone_.clear();
        });
  }

 private:
  void accept_all(int listener) {
    for (int fd = accept_one(listener); fd >= 0; fd = accept_one(listener)) {
      auto* const client = new End{.fd = fd};
      auto* const upstream = new End{.fd = connect_to(upstream_), .other = client};
      client->other = upstream;
      poller_.add(client->fd, kEdges, client);
      poller_.add(upstream->fd, kEdges, upstream);
    }
  }

  void step(End& end, std::uint32_t events) {
    if (end.fd < 0) return;
    if ((events & EPOLLOUT) != 0 && !end.waiting.empty() && flush(end) && end.other->readable)
      forward(*end.other);
    if (end.fd >= 0 && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
      end.readable = true;
      end.ended |= (events & EPOLLRDHUP) != 0;
      if (end.other->waiting.empty()) forward(end);
    }
  }

  // True: nothing waits any more.
  bool flush(End& end) {
    const ssize_t sent = send(end.fd, end.waiting.data(), end.waiting.size(), 0);
    if (sent > 0) end.waiting.erase(0, static_cast<std::size_t>(sent));
    return end.waiting.empty();
  }

  void forward(End& from) {
    End& to = *from.other;
    for (;;) {
      const ssize_t got = recv(from.fd, bytes_.data(), bytes_.size(), 0);
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) return end_both(from);
      const auto size = static_cast<std::size_t>(got);
      const ssize_t sent = send(to.fd, bytes_.data(), size, 0);
      if (sent < 0 && errno != EAGAIN) return end_both(from);
      const std::size_t done = sent > 0 ? static_cast<std::size_t>(sent) : 0;
      if (done < size) {
        to.waiting.assign(bytes_.data() + done, size - done);
        return;
      }
      if (size < bytes_.size() && !from.ended) break;
    }
    from.readable = false;
  }

  void end_both(End& end) {
    for (End* const one : {end.other, &end}) {
      close(one->fd);
      one->fd = -1;
      gone_.push_back(one);
    }
  }

  std::uint16_t upstream_;
  Poller poller_;
  std::array<char, 65'536> bytes_{};
  std::vector<End*> gone_;
};

}  // namespace
}  // namespace hushgate::bench

int main(int argc, char** argv) {
  const hushgate::bench::Arguments arguments(argc, argv);
  static hushgate::bench::Tunnels tunnels(static_cast<std::uint16_t>(arguments.number("upstream")));
  tunnels.run();
}
