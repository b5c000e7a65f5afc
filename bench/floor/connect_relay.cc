// The floor for requests that want a new upstream connection each: what one read of a client brings
// is a request; it goes to a connection made for it, and what that brings is the answer, up to its
// end.
//
//   connect_relay --upstream PORT
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "bench/load/tools.h"

namespace hushgate::bench {
namespace {

constexpr std::uint32_t kEdges = EPOLLIN | EPOLLRDHUP | EPOLLET;

struct End {
  int fd = -1;
  bool upstream = false;
  End* other = nullptr;  // of a client: the connection that answers it, or null
};

class Relay {
 public:
  explicit Relay(std::uint16_t upstream) : upstream_(upstream) {}

  [[noreturn]] void run() {
    serve_events(
        poller_, [this](int listener) { accept_all(listener); },
        [this](void* data, std::uint32_t) { step(*static_cast<End*>(data)); },
        [this] {
          for (End* const gone : gone_) delete gone;
          gone_.clear();
        });
  }

 private:
  void accept_all(int listener) {
    for (int fd = accept_one(listener); fd >= 0; fd = accept_one(listener)) add(End{.fd = fd});
  }

  End* add(const End& end) {
    auto* const kept = new End(end);
    poller_.add(kept->fd, kEdges, kept);
    return kept;
  }

  void step(End& end) {
    while (end.fd >= 0) {
      const ssize_t got = recv(end.fd, bytes_.data(), bytes_.size(), 0);
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return ended(end);
      if (!end.upstream) ask_anew(end);
      if (end.other == nullptr) continue;
      if (send(end.other->fd, bytes_.data(), static_cast<std::size_t>(got), 0) != got)
        die("a small message was not taken whole");
      // An upstream's end comes as the same edge as its last bytes.
      if (!end.upstream) return;
    }
  }

  // The connection before has answered, or the client would not ask; its end is still to come.
  void ask_anew(End& client) {
    if (client.other != nullptr) client.other->other = nullptr;
    client.other = add(End{.fd = connect_to(upstream_), .upstream = true, .other = &client});
  }

  void ended(End& end) {
    if (end.other != nullptr) end.other->other = nullptr;
    if (!end.upstream && end.other != nullptr) drop(*end.other);
    drop(end);
  }

  void drop(End& end) {
    close(end.fd);
    end.fd = -1;
    gone_.push_back(&end);
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
  static hushgate::bench::Relay relay(static_cast<std::uint16_t>(arguments.number("upstream")));
  relay.run();
}
